// SPDX-License-Identifier: Apache-2.0
// The records of a SYMBOLS segment, written and read. The fields of each are listed once, in their order.
//
// Thread safety: as the buffer. Ownership: views that are read borrow the payload.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "trace/fields.h"
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

  static constexpr SymbolTag kTag = SymbolTag::kClass;
  static auto Fields(auto& s) {
    return std::tie(s.id, s.name, s.flags, s.bytes, s.array_header_bytes, s.log2_element_bytes, s.super,
                    s.loader, s.loader_name);
  }
};

struct MethodSymbol {
  uint64_t id = 0;
  std::string_view class_name, name, signature, source_file;

  static constexpr SymbolTag kTag = SymbolTag::kMethod;
  static auto Fields(auto& s) { return std::tie(s.id, s.class_name, s.name, s.signature, s.source_file); }
};

struct SiteSymbol {
  uint64_t id = 0;
  uint64_t method = 0;
  int64_t bci = -1, line = -1;
  uint64_t caller = 0;
  uint64_t tier = 0;
  uint64_t flags = 0;

  static constexpr SymbolTag kTag = SymbolTag::kSite;
  static auto Fields(auto& s) { return std::tie(s.id, s.method, s.bci, s.line, s.caller, s.tier, s.flags); }
};

struct ThreadSymbol {
  uint64_t id = 0;
  std::string_view name;
  uint64_t java_id = 0, os_id = 0;

  static constexpr SymbolTag kTag = SymbolTag::kThread;
  static auto Fields(auto& s) { return std::tie(s.id, s.name, s.java_id, s.os_id); }
};

struct KindSymbol {
  uint64_t id = 0, site = 0, class_id = 0;

  static constexpr SymbolTag kTag = SymbolTag::kKind;
  static auto Fields(auto& s) { return std::tie(s.id, s.site, s.class_id); }
};

struct FieldSymbol {
  std::string_view name, signature;
  uint64_t offset = 0;

  static auto Fields(auto& s) { return std::tie(s.name, s.signature, s.offset); }
};

// To be written. fields: the instance fields that the class declares itself, by offset.
struct FieldsSymbol {
  uint64_t class_id = 0;
  std::span<const FieldSymbol> fields;
};

// To be read: so many FieldSymbols follow.
struct FieldsHead {
  uint64_t class_id = 0, count = 0;

  static constexpr SymbolTag kTag = SymbolTag::kFields;
  static auto Fields(auto& s) { return std::tie(s.class_id, s.count); }
};

void AppendSymbol(ByteBuffer* out, const ClassSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const MethodSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const SiteSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const ThreadSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const KindSymbol& symbol);
void AppendSymbol(ByteBuffer* out, const FieldsSymbol& symbol);

// False: cut short or overlong. Bytes behind the last field are a newer writer's.
template <class Symbol>
bool ReadSymbol(WireReader& in, Symbol* symbol) {
  std::apply([&](auto&... fields) { (Get(in, &fields), ...); }, Symbol::Fields(*symbol));
  return in.ok();
}

// The records of a payload.
class SymbolReader {
 public:
  explicit SymbolReader(std::span<const uint8_t> payload) : in_(payload) {}

  bool AtEnd() const { return in_.AtEnd(); }
  size_t position() const { return in_.position(); }
  // Not at the end. False: the record is cut short, and the last one; then there is only its tag.
  bool Next(uint8_t* tag, std::span<const uint8_t>* record) {
    *tag = in_.U8();
    *record = in_.Take(in_.Uv());
    return in_.ok();
  }

 private:
  WireReader in_;
};

}  // namespace anttracks::trace
