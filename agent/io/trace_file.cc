// SPDX-License-Identifier: Apache-2.0
#include "agent/io/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "agent/io/descriptor.h"
#include "trace/output_file.h"

namespace anttracks::io {
namespace {

using trace::Status;

std::string_view Advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free space or choose another place with file=";
    case EFBIG:
      return "; raise the limit for file sizes (ulimit -f) or choose another place with file=";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a folder that may be written to with file=";
    case ENOENT:
    case ENOTDIR:
      return "; create the folder or choose another with file=";
    case EEXIST:
      return "; remove it, choose another name with file= (%p is the process id), or give overwrite=yes";
    case ENXIO:
      return "; a FIFO needs a reader before the trace begins";
    default:
      return "";
  }
}

Status Error(std::string_view what, const std::string& path, int error) {
  return Status::Error("cannot " + std::string(what) + " trace file " + path + ": " +
                       std::generic_category().message(error) + std::string(Advice(error)));
}

// Nothing is lost that was there before.
bool IsStream(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode));
}

}  // namespace

trace::Result<std::unique_ptr<TraceFile>> TraceFile::Create(const std::string& path, core::IfExists if_exists) {
  const bool overwrite = if_exists == core::IfExists::kReplace;
  if (overwrite) {
    const Status status = CheckReplaced(path);
    if (!status.ok()) return status;
  }
  int flags = O_WRONLY | O_CREAT | O_EXCL;
  const bool stream = overwrite && IsStream(path);
  if (stream) {
    flags = O_WRONLY;
  } else if (overwrite && unlink(path.c_str()) != 0 && errno != ENOENT) {
    // The folder does not let it, the file may.
    flags = O_WRONLY | O_TRUNC | O_NOFOLLOW;
  }
  const int fd = Open(path, flags);
  if (fd < 0) return Error("create", path, errno);
  if ((flags & O_TRUNC) != 0) (void)fchmod(fd, trace::kFileMode);
  std::unique_ptr<TraceFile> made(new TraceFile(path, fd));
  if (stream && made->regular_) return Error("create", path, EEXIST);  // it has changed in between
  return made;
}

Status TraceFile::CheckReplaced(const std::string& path) {
  if (IsStream(path)) return {};
  const std::string what = trace::WhyNotReplaced(path, &trace::IsTraceFile);
  if (what.empty()) return {};
  return Status::Error(
      "cannot create trace file " + path + ": it is " + what +
      ", and overwrite=yes replaces only traces; remove it, or choose another name with file=");
}

TraceFile::TraceFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {
  struct stat made {};
  if (fstat(fd, &made) != 0) return;
  known_ = true;
  regular_ = S_ISREG(made.st_mode);
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

TraceFile::~TraceFile() { (void)Close().ok(); }

bool TraceFile::IsOurs(const struct stat& file) const {
  return !known_ || (file.st_ino == inode_ && file.st_dev == device_);
}

// False also if the descriptor is closed: whoever uses it then hears that.
bool TraceFile::IsOthers(int fd) const {
  struct stat now {};
  return fstat(fd, &now) == 0 && !IsOurs(now);
}

// It is the other file's now: nothing is written to it any more, and it is not closed.
Status TraceFile::DescriptorLost() {
  fd_.store(-1, std::memory_order_release);
  return Status::Error("the program closed the descriptor of trace file " + path_ +
                       ", and opened another file with that number");
}

Status TraceFile::Write(std::span<const uint8_t> bytes) {
  const int fd = fd_.load(std::memory_order_acquire);
  if (fd < 0) return Error("write", path_, EBADF);
  if (IsOthers(fd)) return DescriptorLost();
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : EIO;
      // Best effort: a reader stops at the last complete chunk anyway.
      if (done != 0) {
        [[maybe_unused]] const int failed = ftruncate(fd, size_);
      }
      return Error("write", path_, error);
    }
    done += static_cast<size_t>(n);
  }
  size_ += static_cast<off_t>(bytes.size());
  return {};
}

Status TraceFile::Close() {
  const int fd = fd_.exchange(-1, std::memory_order_acq_rel);
  if (fd < 0 || IsOthers(fd)) return {};
  // EINTR: Linux has closed it.
  if (close(fd) != 0 && errno != EINTR) return Error("close", path_, errno);
  return {};
}

Status TraceFile::Check() {
  const int fd = fd_.load(std::memory_order_acquire);
  struct stat now {};
  if (fd < 0 || fstat(fd, &now) != 0) return {};
  if (!IsOurs(now)) return DescriptorLost();
  if (!regular_ || now.st_nlink != 0) return {};
  return Status::Error("trace file " + path_ + " was deleted while it was written");
}

void TraceFile::Remove() {
  struct stat named {};
  // Only what was made here: not a device, not what somebody put in its place.
  if (regular_ && stat(path_.c_str(), &named) == 0 && IsOurs(named)) {
    unlink(path_.c_str());
  }
  (void)Close().ok();
}

void TraceFile::CloseInForkedChild() {
  const int fd = fd_.exchange(-1, std::memory_order_acq_rel);
  if (fd >= 0 && !IsOthers(fd)) close(fd);
}

}  // namespace anttracks::io
