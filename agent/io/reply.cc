// SPDX-License-Identifier: Apache-2.0
#include "agent/io/reply.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "agent/io/descriptor.h"

namespace anttracks::io {
namespace {

namespace fs = std::filesystem;
using trace::Status;

Status Error(const std::string& path, int error) {
  return Status::Error("cannot write the answer to " + path + ": " + std::generic_category().message(error));
}

bool Taken(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error)) || fs::exists(fs::symlink_status(path + ".0", error));
}

}  // namespace

Status WriteReply(const std::string& path, std::string_view text) {
  const int fd = Open(path, O_WRONLY | O_NOFOLLOW);
  if (fd < 0) return Error(path, errno);
  struct stat made {};
  int error = fstat(fd, &made) != 0 ? errno : 0;
  if (error == 0 && (!S_ISREG(made.st_mode) || made.st_size != 0 || made.st_uid != geteuid())) error = EPERM;
  while (error == 0 && !text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
    if (n <= 0 && errno != EINTR) error = n < 0 ? errno : EIO;
  }
  close(fd);
  return error == 0 ? Status() : Error(path, error);
}

std::string FreeName(const std::string& path) {
  const fs::path whole(path);
  std::error_code error;
  if (fs::is_other(fs::status(whole, error))) return path;
  std::string name = path;
  for (unsigned number = 2; Taken(name); number++) {
    name = (whole.parent_path() / whole.stem()).string() + "-" + std::to_string(number) +
           whole.extension().string();
  }
  return name;
}

}  // namespace anttracks::io
