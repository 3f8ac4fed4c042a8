// SPDX-License-Identifier: Apache-2.0
// Words for single references and roots of a heap dump: which field or element it is, which thread and method.
// Reads through the heap's records for each call, so it is for a few objects.
//
// Thread safety: full. Ownership: borrows reader, dump and references.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/hprof/dump.h"
#include "analyzer/hprof/hprof_reader.h"
#include "analyzer/hprof/references.h"

namespace anttracks::hprof {

// By which field, element or static field the first object of each pair refers to the second: "sessions",
// "[12]", "static cache", "<class loader>", "<class>". "": it does not.
std::vector<std::string> ExplainReferences(const HprofReader& reader, const Dump& dump,
                                           const std::vector<std::pair<uint32_t, uint32_t>>& references);

// What makes the object a root: "local variable of app.Main.run(Main.java:12) in thread main", "system class".
// Of several the most telling one. "": it is no root.
std::string ExplainRoot(const HprofReader& reader, const Dump& dump, const References& references,
                        uint32_t object);

}  // namespace anttracks::hprof
