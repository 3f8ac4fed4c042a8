// SPDX-License-Identifier: Apache-2.0
#include "agent/io/stats_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace anttracks::io {
namespace {

using trace::Status;

Status Error(const std::string& path, std::string_view advice) {
  return Status::Error("cannot write the counters to " + path + ": " + std::generic_category().message(errno) +
                       std::string(advice));
}

}  // namespace

trace::Result<std::unique_ptr<StatsFile>> StatsFile::Create(const std::string& path, bool overwrite) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (overwrite ? 0 : O_EXCL), 0644);
  if (fd < 0) return Error(path, "; choose another file with stats=, or give overwrite=yes");
  close(fd);
  return std::unique_ptr<StatsFile>(new StatsFile(path));
}

Status StatsFile::Write(std::string_view text) {
  const std::string unfinished = path_ + ".tmp";
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
  if (fd < 0) return Error(unfinished, "");
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
    good = n > 0 || (n < 0 && errno == EINTR);
  }
  const int error = errno;
  close(fd);
  if (good && std::rename(unfinished.c_str(), path_.c_str()) == 0) return {};
  if (!good) errno = error;
  Status status = Error(path_, "");
  unlink(unfinished.c_str());
  return status;
}

void StatsFile::Remove() { unlink(path_.c_str()); }

}  // namespace anttracks::io
