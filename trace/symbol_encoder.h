// SPDX-License-Identifier: Apache-2.0
// Appends records of a SYMBOLS segment to a buffer. Thread safety: as the buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct ClassSymbol {
  uint64_t id = 0;
  std::string_view name;
  uint64_t flags = 0;
  uint64_t bytes = 0;
  uint64_t array_header_bytes = 0, log2_element_bytes = 0;
  uint64_t super = 0;
  uint64_t loader = 0;
  std::string_view loader_name;
};

struct MethodSymbol {
  uint64_t id = 0;
  std::string_view class_name, name, signature, source_file;
};

struct SiteSymbol {
  uint64_t id = 0;
  uint64_t method = 0;
  int64_t bci = -1, line = -1;
  uint64_t caller = 0;
  uint64_t tier = 0;
  uint64_t flags = 0;
};

struct ThreadSymbol {
  uint64_t id = 0;
  std::string_view name;
  uint64_t java_id = 0, os_id = 0;
};

struct KindSymbol {
  uint64_t id = 0, site = 0, class_id = 0;
};

struct FieldSymbol {
  std::string_view name, signature;
  uint64_t offset = 0;
};

// fields: the instance fields that the class declares itself, by offset.
struct FieldsSymbol {
  uint64_t class_id = 0;
  std::span<const FieldSymbol> fields;
};

void AppendSymbol(ByteBuffer* out, const ClassSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const MethodSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const SiteSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const ThreadSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const KindSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const FieldsSymbol& symbol);

}  // namespace anttracks::trace
