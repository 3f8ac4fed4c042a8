// SPDX-License-Identifier: Apache-2.0
// Finds the data file of a rotated trace from which the heap after one collection can be rebuilt. Each data
// file begins with a sync point, so the file with the collection is enough, unless that sync point is complete
// only later.
//
// The provenance in older files is then not known.
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
  uint64_t collections = 0;  // how many end in that file up to the wanted one, which is included
};

// Reads the start of each data file, and the right one up to the collection. nullopt: all files must be read.
std::optional<StartFile> FindStartFile(trace::ChunkSource& reader, uint64_t gc);

}  // namespace anttracks::analyzer
