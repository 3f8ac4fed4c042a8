// SPDX-License-Identifier: Apache-2.0
#include "agent/io/stats_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

#include "agent/io/descriptor.h"
#include "agent/io/rotation/files.h"
#include "trace/output_file.h"

namespace anttracks::io {
namespace {

using trace::Status;

Status Error(const std::string& path, const std::string& why) {
  return Status::Error("cannot write the counters to " + path + ": " + why);
}

Status Error(const std::string& path, int error, const std::string& advice = "") {
  return Error(path, std::generic_category().message(error) + advice);
}

// As recording.cc writes them.
bool IsCounters(std::span<const uint8_t> start) {
  std::string text(start.begin(), start.end());
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text.empty() || text.starts_with("{\"trace\":");
}

// Without links, as far as it exists.
std::string Normal(const std::string& path) {
  std::error_code error;
  const auto normal = std::filesystem::weakly_canonical(path, error);
  return error ? path : normal.string();
}

}  // namespace

Status StatsFile::CheckName(const std::string& path, const std::string& trace, bool rotates) {
  const std::string file = Normal(trace), name = Normal(path);
  if (name == file) return Status::Error("options file and stats name the same file");
  if (rotates && RotationFiles::MayHave(file, name)) {
    return Status::Error("option stats names " + name +
                         ", which may become a file of the trace; choose another");
  }
  return {};
}

trace::Result<std::unique_ptr<StatsFile>> StatsFile::Create(const std::string& path, core::IfExists if_exists) {
  const bool overwrite = if_exists == core::IfExists::kReplace;
  constexpr char kAdvice[] = "; choose another file with stats=";
  if (overwrite) {
    const std::string what = trace::WhyNotReplaced(path, &IsCounters);
    if (!what.empty())
      return Error(path,
                   "it is " + what + ", and overwrite=yes replaces only counters" + kAdvice + ", or remove it");
  }
  std::unique_ptr<StatsFile> made(new StatsFile(path));
  trace::RemoveUnfinished(path);
  const int fd = Open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) {
    if (errno == EEXIST && overwrite) return made;
    return Error(path, errno, std::string(kAdvice) + (errno == EEXIST ? ", or give overwrite=yes" : ""));
  }
  struct stat file {};
  if (fstat(fd, &file) == 0) {
    made->device_ = file.st_dev;
    made->inode_ = file.st_ino;
  }
  close(fd);
  return made;
}

Status StatsFile::Write(std::string_view text) {
  const int error = trace::WriteWhole(path_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return error == 0 ? Status() : Error(path_, error);
}

void StatsFile::Remove() {
  struct stat named {};
  if (inode_ == 0 || stat(path_.c_str(), &named) != 0 || named.st_ino != inode_ || named.st_dev != device_)
    return;
  // The number may have been used again.
  if (named.st_size == 0) unlink(path_.c_str());
}

}  // namespace anttracks::io
