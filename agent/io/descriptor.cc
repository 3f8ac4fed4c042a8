// SPDX-License-Identifier: Apache-2.0
#include "agent/io/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace anttracks::io
