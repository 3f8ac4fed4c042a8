// SPDX-License-Identifier: Apache-2.0
// Memory of pages. A young collection frees the pages of a whole eden, and the next objects need as many again:
// what is given back waits here for that, by size. (malloc and free of so many small blocks took a third of a
// rebuild's time.)
//
// Nothing goes back to the system: there is at most as much here as pages have had at one time. Beside
// AddressSanitizer every block is the system's own, so that it sees one that is used after it was given back.
//
// Thread safety: each thread has its own; a block may be given back by another thread. Units: bytes.
#pragma once

#include <cstddef>

namespace anttracks::analyzer {

class PageMemory {
 public:
  static constexpr size_t kMostBytes = 1280;

  // At most kMostBytes, aligned to 16. Throws std::bad_alloc.
  static void* Take(size_t bytes);
  // memory may be nullptr; bytes as they were asked for.
  static void Give(void* memory, size_t bytes) noexcept;
};

}  // namespace anttracks::analyzer
