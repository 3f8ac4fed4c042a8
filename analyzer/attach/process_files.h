// SPDX-License-Identifier: Apache-2.0
// Reads files of a process that may be hostile, in particular if root looks at it. The process can change names
// in its file tree at any time; there may be devices, FIFOs, links to anywhere, and endless files. So names are
// looked up one by one from a descriptor, links are followed by this code and within the tree only, only
// regular files are read, and never more than a given number of bytes.
//
// Thread safety: full. Errors: an empty Descriptor, errno says why. Units: bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace anttracks::analyzer {

// Owns what it holds; -1: nothing.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class Links { kRefused, kWithinRoot };

// Finds the path in the tree under root. The descriptor only names the file (O_PATH): nothing is opened yet.
// ".." and absolute links do not lead out of the tree.
Descriptor Find(int root, std::string_view path, Links links);

// Opens the found file for reading, if it is a regular file. Does not wait for a lease.
Descriptor OpenFile(const Descriptor& found);

// A path that names the descriptor's file for other system calls, whatever happens to its own path.
std::string NameOf(const Descriptor& found);

// Whether both folders are of the same mount, so that nothing was mounted between them.
bool SameMount(const Descriptor& one, const Descriptor& other);

// Reads from the descriptor's position to the end, at most that many bytes; "" if it cannot be read.
std::string ReadAtMost(const Descriptor& file, size_t most);

// Calls take for each line, without its end. Lines longer than most_line are left out, and so is everything
// after `most` bytes. False: nothing could be read.
bool EachLine(const Descriptor& file, size_t most_line, size_t most,
              const std::function<void(std::string_view)>& take);

}  // namespace anttracks::analyzer
