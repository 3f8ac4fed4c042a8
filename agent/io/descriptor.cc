// SPDX-License-Identifier: Apache-2.0
#include "agent/io/descriptor.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "trace/output_file.h"

namespace anttracks::io {

int Open(const std::string& path, int flags) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, trace::kFileMode);
  } while (fd < 0 && errno == EINTR);
  fd = AboveStandardStreams(fd);
  // Writing may wait.
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

int AboveStandardStreams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return above;
}

namespace {

bool IsOf(int folder, const char* number, std::string_view prefix) {
  char target[PATH_MAX];
  const ssize_t n = readlinkat(folder, number, target, sizeof target);
  const std::string_view name(target, n < 0 ? 0 : static_cast<size_t>(n));
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isdigit(static_cast<unsigned char>(name[prefix.size()]));
}

}  // namespace

void CloseNumbered(std::string_view prefix) noexcept {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  // getdents64(2): two numbers of 8 bytes, u16 length of the entry, u8 type, the name. <dirent.h> takes memory.
  constexpr size_t kLength = 16, kName = 19;
  char entries[4096];
  while (true) {
    const long n = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      const char* const entry = entries + at;
      uint16_t bytes;
      std::memcpy(&bytes, entry + kLength, sizeof bytes);
      at += bytes;
      const int fd = static_cast<int>(std::strtol(entry + kName, nullptr, 10));
      if (fd > STDERR_FILENO && fd != folder && IsOf(folder, entry + kName, prefix)) close(fd);
    }
  }
  close(folder);
}

}  // namespace anttracks::io
