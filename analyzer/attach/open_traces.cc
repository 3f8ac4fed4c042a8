// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/open_traces.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "trace/file_set.h"
#include "trace/output_file.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;

bool HasTrace(const std::string& path) {
  if (!trace::NotRegular(path).empty()) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return false;
  uint8_t start[64];
  const ssize_t n = ::read(descriptor, start, sizeof start);
  ::close(descriptor);
  return n > 0 && trace::IsTraceFile({start, static_cast<size_t>(n)});
}

bool Same(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

std::vector<std::string> OpenTraces(pid_t pid, const std::string& proc) {
  const std::string process = proc + "/" + std::to_string(pid);
  std::set<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(process + "/fd", error), end; !error && at != end; at.increment(error)) {
    const std::string descriptor = at->path().string();
    if (!HasTrace(descriptor)) continue;
    std::error_code unreadable;
    const std::string name = fs::read_symlink(descriptor, unreadable).string();
    // In a container the process sees another tree.
    const std::string path = Same(name, descriptor) ? name : process + "/root" + name;
    if (unreadable || !Same(path, descriptor)) continue;
    std::string definitions;
    uint64_t index = 0;
    const bool is_data = trace::SplitDataPath(path, &definitions, &index) && HasTrace(definitions);
    found.insert(is_data ? definitions : path);
  }
  errno = error.value();
  return {found.begin(), found.end()};
}

}  // namespace anttracks::analyzer
