// SPDX-License-Identifier: Apache-2.0
#include "agent/io/stats_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "agent/io/descriptor.h"
#include "agent/io/rotating_trace.h"

namespace anttracks::io {
namespace {

using trace::Status;

Status Error(const std::string& path, std::string_view advice) {
  return Status::Error("cannot write the counters to " + path + ": " + std::generic_category().message(errno) +
                       std::string(advice));
}

// The counters are written to that first.
std::string Unfinished(const std::string& path) { return path + ".tmp"; }

// Without links, as far as it exists.
std::string Normal(const std::string& path) {
  std::error_code error;
  const auto normal = std::filesystem::weakly_canonical(path, error);
  return error ? path : normal.string();
}

}  // namespace

Status StatsFile::CheckName(const std::string& path, const std::string& trace, bool rotates) {
  const std::string file = Normal(trace);
  for (const std::string& name : {Normal(path), Normal(Unfinished(path))}) {
    if (name == file) return Status::Error("options file and stats name the same file");
    if (rotates && RotatingTrace::MayHave(file, name)) {
      return Status::Error("option stats names " + name + ", which may become a file of the trace; choose another");
    }
  }
  return {};
}

trace::Result<std::unique_ptr<StatsFile>> StatsFile::Create(const std::string& path, bool overwrite) {
  int fd = Open(path, O_WRONLY | O_CREAT | O_EXCL);
  const bool is_new = fd >= 0;
  if (fd < 0 && errno == EEXIST && overwrite) fd = Open(path, O_WRONLY | O_CREAT);
  struct stat file {};
  const bool is_other = fd >= 0 ? fstat(fd, &file) == 0 && !S_ISREG(file.st_mode) : errno == ENXIO;
  if (is_other) {
    if (fd >= 0) close(fd);
    return Status::Error("cannot write the counters to " + path + ": it is no regular file; choose another file with stats=");
  }
  if (fd < 0) return Error(path, "; choose another file with stats=, or give overwrite=yes");
  close(fd);
  std::unique_ptr<StatsFile> made(new StatsFile(path));
  if (is_new) {
    made->device_ = file.st_dev;
    made->inode_ = file.st_ino;
  }
  return made;
}

Status StatsFile::Write(std::string_view text) {
  const std::string unfinished = Unfinished(path_);
  const int fd = Open(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
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

void StatsFile::Remove() {
  struct stat named {};
  if (inode_ == 0 || stat(path_.c_str(), &named) != 0 || named.st_ino != inode_ || named.st_dev != device_) return;
  // The number may have been used again.
  if (named.st_size == 0) unlink(path_.c_str());
}

}  // namespace anttracks::io
