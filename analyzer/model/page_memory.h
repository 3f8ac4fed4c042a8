// SPDX-License-Identifier: Apache-2.0
// Memory of pages. A young collection frees the pages of a whole eden, and the next objects need as many again,
// so freed blocks are kept here by size. (malloc and free of so many small blocks took a third of a rebuild's
// time.)
//
// Blocks are cut from slabs. The slabs go back to the system when no block is in use any more, in Trim: when
// the heap is needed no more there is room for what is made of it. Until then at most the memory that pages
// once had at the same time is kept. With AddressSanitizer every block is allocated separately, so that it
// detects uses after Give.
//
// Thread safety: each thread has its own slabs; another thread may give a block back, which is used again only
// after a Trim. Units: bytes.
#pragma once

#include <cstddef>

namespace anttracks::analyzer {

class PageMemory {
 public:
  static constexpr size_t kMostBytes = 2080;

  // At most kMostBytes, aligned to 16. Throws std::bad_alloc.
  static void* Take(size_t bytes);
  // memory may be nullptr; bytes must be those of Take.
  static void Give(void* memory, size_t bytes) noexcept;
  // Returns the thread's slabs to the system, if none of their blocks is in use.
  static void Trim() noexcept;
  // Of the thread's slabs.
  static size_t SlabBytes() noexcept;
};

}  // namespace anttracks::analyzer
