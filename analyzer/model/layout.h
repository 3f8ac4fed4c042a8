// SPDX-License-Identifier: Apache-2.0
// The memory layout of the objects of a class: header, inherited and own fields, and the gaps between them.
//
// Thread safety: none. Ownership: parts point into the definitions. Units: bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/definitions.h"

namespace anttracks::analyzer {

// What is the same for all objects of a JVM.
struct ObjectFormat {
  uint64_t header_bytes = 12;  // without an array's length
  uint64_t reference_bytes = 4;
};

// Derived from the trace's array classes; without any, the JVM's default (compressed class pointers and
// references).
ObjectFormat FormatOf(const Definitions& definitions);

struct LayoutPart {
  enum class Kind {
    kHeader,
    kField,
    kLength,    // of an array
    kElements,  // of an array; bytes are those of one
    kGap,       // padding, or fields that only the VM knows
  };
  Kind kind = Kind::kGap;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  const FieldInfo* field = nullptr;  // of kField
  uint64_t declared_in = 0;          // class id, of kField
};

struct ClassLayout {
  std::vector<LayoutPart> parts;  // by offset
  uint64_t gap_bytes = 0;
  // The id of a class, this one or a superclass, whose fields are not in the trace, so that gaps may be fields;
  // 0: none.
  uint64_t incomplete = 0;
};

ClassLayout LayoutOf(const Definitions& definitions, const ObjectFormat& format, uint64_t class_id);

}  // namespace anttracks::analyzer
