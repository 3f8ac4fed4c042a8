// SPDX-License-Identifier: Apache-2.0
// Files of a process that may be hostile to who looks at it, root above all. It owns names in its tree and
// changes them at any moment; there may be devices, FIFOs, links to anywhere, files without end. So names are
// looked up one by one from a descriptor, links are followed by hand and within the tree only, nothing but
// regular files is read, and never more than is asked for.
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

// What has that path in the tree under root, only to be named (O_PATH): nothing is opened yet. What ".." and
// absolute links lead to is in the tree, too.
Descriptor Find(int root, std::string_view path, Links links);

// The same for reading, if it is a regular file. A lease does not make us wait.
Descriptor OpenFile(const Descriptor& found);

// How another call names the descriptor's file, which it is whatever happens to its path.
std::string NameOf(const Descriptor& found);

// Two folders of one mount: none was mounted over the other's child in between.
bool SameMount(const Descriptor& one, const Descriptor& other);

// From where the descriptor stands to the end, but no more than that; "" if it cannot be read.
std::string ReadAtMost(const Descriptor& file, size_t most);

// The lines without their ends. Those longer than most_line are left out; after most bytes there are no more.
// False if nothing could be read.
bool EachLine(const Descriptor& file, size_t most_line, size_t most,
              const std::function<void(std::string_view)>& take);

}  // namespace anttracks::analyzer
