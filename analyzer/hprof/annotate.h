// SPDX-License-Identifier: Apache-2.0
// Writes a heap dump again, with the allocation stack of each object: the same records, stacks of the sites
// before the heap, and their serial numbers in the objects. What the dump had as serial numbers of stacks is
// replaced only where a site is known; those of the JVM's own dumps say nothing about allocation.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/hprof/hprof_reader.h"
#include "analyzer/model/definitions.h"

namespace anttracks::hprof {

struct Annotated {
  uint64_t objects = 0;  // that got a stack
  uint64_t stacks = 0;   // of different sites
};

// sites: those that site_of may return. site_of(id): the site of the object with this id, if it is known.
// Error: see HprofWriter::Create, or the file could not be written. Then there is no new file.
trace::Result<Annotated> Annotate(const HprofReader& dump, const analyzer::Definitions& definitions,
                                  const std::vector<uint32_t>& sites,
                                  const std::function<std::optional<uint32_t>(uint64_t id)>& site_of,
                                  const std::string& path, bool force);

}  // namespace anttracks::hprof
