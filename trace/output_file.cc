// SPDX-License-Identifier: Apache-2.0
#include "trace/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "trace/format.h"

namespace anttracks::trace {
namespace {

constexpr std::string_view kUnfinished = ".tmp-";
constexpr size_t kDigits = 16;
constexpr int kMostNames = 100;

struct KnownFormat {
  std::string_view magic;
  std::string_view what;
};

constexpr KnownFormat kKnownFormats[] = {
    {std::string_view(kFileMagic, sizeof kFileMagic), "an AntTracks trace"},
    {"JAVA PROFILE", "a Java heap dump (hprof)"},
    {std::string_view("FLR\0", 4), "a Java Flight Recorder file"},
    {"\x1F\x8B", "a gzip archive"},
    {"\x28\xB5\x2F\xFD", "a zstd archive"},
    {"PK\x03\x04", "a zip or jar archive"},
    {"\x7F"
     "ELF",
     "an ELF binary"},
    {"\xCA\xFE\xBA\xBE", "a Java class file"},
};

std::string_view Text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

std::string Unreadable(int error) {
  return "a file that cannot be read (" + std::generic_category().message(error) + ")";
}

std::string UnfinishedName(const std::string& path) {
  uint64_t number = 0;
  // Without the system's random numbers: O_EXCL still finds what somebody has put there.
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = static_cast<uint64_t>(getpid()) << 32 ^ reinterpret_cast<uintptr_t>(&number);
  }
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return path + std::string(kUnfinished) + digits;
}

// Above the standard streams, which the process may have closed: what it prints must not go to the file.
int MakeUnfinished(const std::string& path, std::string* name) {
  int fd = -1;
  for (int i = 0; fd < 0 && i < kMostNames; i++) {
    *name = UnfinishedName(path);
    fd = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
    if (fd < 0 && errno != EEXIST && errno != EINTR) return -1;
  }
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  if (above < 0) unlink(name->c_str());
  errno = error;
  return above;
}

// As rename, but EEXIST if there is something at the new path. Where the file system cannot tell that at once,
// by a second name; where it has none either, not at once. Returns 0 or an errno value.
int RenameToNew(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(from, to) == 0) {
    unlink(from);
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  struct stat there {};
  if (lstat(to, &there) == 0) return EEXIST;
  return std::rename(from, to) == 0 ? 0 : errno;
}

}  // namespace

std::string_view KindOfContents(std::span<const uint8_t> start) {
  if (start.empty()) return "empty";
  for (const KnownFormat& format : kKnownFormats) {
    if (Text(start).substr(0, format.magic.size()) == format.magic) return format.what;
  }
  return "something else";
}

bool IsTraceFile(std::span<const uint8_t> start) {
  return start.empty() || std::memcmp(start.data(), kFileMagic, std::min(start.size(), sizeof kFileMagic)) == 0;
}

std::string NotRegular(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 ? KindOf(file.st_mode) : "";
}

std::string WhyNotReplaced(const std::string& path, bool (*ours)(std::span<const uint8_t> start)) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return errno == ENOENT ? "" : Unreadable(errno);
  if (!S_ISREG(file.st_mode)) return KindOf(file.st_mode);
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? "" : Unreadable(errno);
  std::array<uint8_t, kFileHeaderBytes> start{};
  const ssize_t n =
      fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? pread(fd, start.data(), start.size(), 0) : -1;
  const int error = errno;
  close(fd);
  if (n < 0) return Unreadable(error);
  const std::span<const uint8_t> read(start.data(), static_cast<size_t>(n));
  return ours(read) ? "" : std::string(KindOfContents(read));
}

Status MayWrite(const std::string& path, const FileSort& sort, Replace replace) {
  if (const std::string what = WhyNotReplaced(path, sort.is_one); !what.empty()) {
    const std::string wanted = *sort.what == '\0' ? "" : std::string(", not ") + sort.what;
    return Status::Error(path + " is " + what + wanted + ": give another name, or remove it");
  }
  struct stat there {};
  if (replace == Replace::kNo && lstat(path.c_str(), &there) == 0) return CannotWrite(path, EEXIST);
  return {};
}

Status CannotWrite(const std::string& path, int error) {
  if (error == EEXIST) return Status::Error(path + " exists already; -f replaces it");
  return Status::Error("cannot write " + path + ": " + std::generic_category().message(error));
}

UnfinishedFile::~UnfinishedFile() {
  if (fd_ >= 0) close(fd_);
  if (!name_.empty()) unlink(name_.c_str());
}

int UnfinishedFile::Create() {
  fd_ = MakeUnfinished(path_, &name_);
  if (fd_ < 0) {
    error_ = errno;
    name_.clear();
  }
  return error_;
}

int UnfinishedFile::Write(std::span<const uint8_t> bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n > 0) bytes = bytes.subspan(static_cast<size_t>(n));
    if (n <= 0 && errno != EINTR) error_ = n < 0 ? errno : EIO;
  }
  return error_;
}

int UnfinishedFile::Finish(Replace replace) {
  // EINTR: Linux has closed it.
  if (fd_ >= 0 && close(fd_) != 0 && errno != EINTR && error_ == 0) error_ = errno;
  fd_ = -1;
  if (error_ == 0 && replace == Replace::kNo) {
    error_ = RenameToNew(name_.c_str(), path_.c_str());
  } else if (error_ == 0 && std::rename(name_.c_str(), path_.c_str()) != 0) {
    error_ = errno;
  }
  if (error_ == 0) name_.clear();
  return error_;
}

int WriteWhole(const std::string& path, std::span<const uint8_t> bytes, Replace replace) {
  UnfinishedFile file(path);
  if (const int error = file.Create(); error != 0) return error;
  if (const int error = file.Write(bytes); error != 0) return error;
  return file.Finish(replace);
}

Status WriteFile(const std::string& path, std::span<const uint8_t> bytes, const FileSort& sort,
                 Replace replace) {
  if (Status status = MayWrite(path, sort, replace); !status.ok()) return status;
  const int error = WriteWhole(path, bytes, replace);
  return error == 0 ? Status() : CannotWrite(path, error);
}

bool IsUnfinishedSuffix(std::string_view text) {
  return text.size() == kUnfinished.size() + kDigits && text.substr(0, kUnfinished.size()) == kUnfinished &&
         text.find_first_not_of("0123456789abcdef", kUnfinished.size()) == std::string_view::npos;
}

void RemoveUnfinished(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path whole(path);
  const std::string prefix = whole.filename().string();
  std::error_code error;
  fs::directory_iterator at(whole.has_parent_path() ? whole.parent_path() : fs::path("."), error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0 || !IsUnfinishedSuffix(name.substr(prefix.size())))
      continue;
    std::error_code ignored;
    if (fs::is_regular_file(at->symlink_status(ignored))) fs::remove(at->path(), ignored);
  }
}

}  // namespace anttracks::trace
