// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/process_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

namespace anttracks::analyzer {
namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr size_t kBlock = 64 << 10;

// Takes the first name off the path; "": there is none.
std::string TakeName(std::string* path) {
  const size_t begin = std::min(path->find_first_not_of('/'), path->size());
  const size_t end = std::min(path->find('/', begin), path->size());
  const std::string name = path->substr(begin, end - begin);
  path->erase(0, end);
  return name;
}

// What a link says; "": it cannot be read.
std::string LinkText(const Descriptor& link) {
  char text[PATH_MAX];
  const ssize_t size = readlinkat(link.get(), "", text, sizeof text);
  return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
}

// -1 at an error, 0 at the end.
ssize_t ReadSome(const Descriptor& file, char* to, size_t most) {
  ssize_t n = 0;
  do n = read(file.get(), to, most);
  while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ < 0) return;
  const int error = errno;  // why something else failed
  close(fd_);
  errno = error;
}

Descriptor Find(int root, std::string_view path, Links links) {
  std::vector<Descriptor> way;  // the folders passed, so that ".." goes back whatever is renamed meanwhile
  way.emplace_back(fcntl(root, F_DUPFD_CLOEXEC, 0));
  if (!way.back().ok()) return {};
  std::string rest(path);
  int followed = 0;
  for (std::string name; !(name = TakeName(&rest)).empty();) {
    if (name == ".") continue;
    if (name == "..") {
      if (way.size() > 1) way.pop_back();
      continue;
    }
    Descriptor next(openat(way.back().get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat made {};
    if (!next.ok() || fstat(next.get(), &made) != 0) return {};
    if (!S_ISLNK(made.st_mode)) {
      way.push_back(std::move(next));
      continue;
    }
    errno = ELOOP;
    if (links == Links::kRefused || ++followed > kMostLinks) return {};
    const std::string text = LinkText(next);
    errno = ENAMETOOLONG;
    if (text.empty() || text.size() + rest.size() >= PATH_MAX) return {};
    if (text.front() == '/') way.erase(way.begin() + 1, way.end());
    rest.insert(0, text + "/");
  }
  return std::move(way.back());
}

Descriptor OpenFile(const Descriptor& found) {
  struct stat made {};
  if (!found.ok() || fstat(found.get(), &made) != 0) return {};
  errno = EINVAL;
  if (!S_ISREG(made.st_mode)) return {};
  return Descriptor(open(NameOf(found).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::string NameOf(const Descriptor& found) { return "/proc/self/fd/" + std::to_string(found.get()); }

bool SameMount(const Descriptor& one, const Descriptor& other) {
  const auto mount = [](const Descriptor& folder) {
    const std::string path = "/proc/self/fdinfo/" + std::to_string(folder.get());
    std::string id;
    EachLine(Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), 100, 4096, [&id](std::string_view line) {
      if (line.substr(0, 7) == "mnt_id:") id = line;
    });
    return id;
  };
  const std::string id = mount(one);
  return !id.empty() && id == mount(other);
}

std::string ReadAtMost(const Descriptor& file, size_t most) {
  std::string text;
  ssize_t n = file.ok() ? 1 : 0;
  while (n > 0 && text.size() < most) {
    const size_t size = text.size();
    text.resize(size + std::min(most - size, kBlock));
    n = ReadSome(file, text.data() + size, text.size() - size);
    text.resize(size + (n > 0 ? static_cast<size_t>(n) : 0));
  }
  return text;
}

bool EachLine(const Descriptor& file, size_t most_line, size_t most,
              const std::function<void(std::string_view)>& take) {
  if (!file.ok()) return false;
  std::vector<char> block(kBlock);
  std::string line;
  const auto add = [&](std::string_view part) { line.append(part.substr(0, most_line + 1 - line.size())); };
  const auto end_line = [&] {
    if (line.size() <= most_line) take(line);
    line.clear();
  };
  size_t done = 0;
  for (ssize_t n = 0; done < most && (n = ReadSome(file, block.data(), std::min(kBlock, most - done))) > 0;) {
    std::string_view part(block.data(), static_cast<size_t>(n));
    done += part.size();
    for (size_t end = 0; (end = part.find('\n')) != std::string_view::npos; part.remove_prefix(end + 1)) {
      add(part.substr(0, end));
      end_line();
    }
    add(part);
  }
  if (!line.empty() && done < most) end_line();
  return done > 0;
}

}  // namespace anttracks::analyzer
