// SPDX-License-Identifier: Apache-2.0
// Where to begin to read a rotated trace for the heap after one collection: each data file begins with a sync
// point, so the file with the collection is enough, unless its sync point is complete only later.
//
// What older files know beyond the heap (which thread allocated an object, and when) is not known then.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/chunk_source.h"

namespace anttracks::analyzer {

struct StartFile {
  std::vector<bool> files;   // of the reader's files, which to read: definitions and one data file
  uint64_t collections = 0;  // that end there until the wanted one has
};

// Reads the beginnings of the data files, and the one that it finds up to the collection. Nothing: only all
// files tell.
std::optional<StartFile> FindStartFile(trace::ChunkSource& reader, uint64_t gc);

}  // namespace anttracks::analyzer
