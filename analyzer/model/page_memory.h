// SPDX-License-Identifier: Apache-2.0
// Memory of pages. A young collection frees the pages of a whole eden, and the next objects need as many again,
// so freed blocks are kept here by size. (malloc and free of so many small blocks took a third of a rebuild's
// time.)
//
// No memory is returned to the system: at most the memory that pages once had at the same time is kept. With
// AddressSanitizer every block is allocated separately, so that it detects uses after Give.
//
// Thread safety: each thread has its own blocks; another thread may give a block back. Units: bytes.
#pragma once

#include <cstddef>

namespace anttracks::analyzer {

class PageMemory {
 public:
  static constexpr size_t kMostBytes = 1280;

  // At most kMostBytes, aligned to 16. Throws std::bad_alloc.
  static void* Take(size_t bytes);
  // memory may be nullptr; bytes must be those of Take.
  static void Give(void* memory, size_t bytes) noexcept;
};

}  // namespace anttracks::analyzer
