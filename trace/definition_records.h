// SPDX-License-Identifier: Apache-2.0
// The records of a DEFINITIONS segment, written and read. Each record lists its fields once, in the order of
// the file.
//
// Thread safety: that of the buffer. Ownership: text that is read points into the payload.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "trace/fields.h"
#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct ClassDefinition {
  uint64_t id = 0;
  std::string_view name;
  uint64_t flags = 0;
  uint64_t bytes = 0;
  uint64_t array_header_bytes = 0, log2_element_bytes = 0;
  uint64_t super = 0;
  uint64_t loader = 0;
  std::string_view loader_name;

  static constexpr DefinitionTag kTag = DefinitionTag::kClass;
  static auto Fields(auto& s) {
    return std::tie(s.id, s.name, s.flags, s.bytes, s.array_header_bytes, s.log2_element_bytes, s.super,
                    s.loader, s.loader_name);
  }
};

struct MethodDefinition {
  uint64_t id = 0;
  std::string_view class_name, name, signature, source_file;

  static constexpr DefinitionTag kTag = DefinitionTag::kMethod;
  static auto Fields(auto& s) { return std::tie(s.id, s.class_name, s.name, s.signature, s.source_file); }
};

struct SiteDefinition {
  uint64_t id = 0;
  uint64_t method = 0;
  int64_t bci = -1, line = -1;
  uint64_t caller = 0;
  uint64_t tier = 0;
  uint64_t flags = 0;

  static constexpr DefinitionTag kTag = DefinitionTag::kSite;
  static auto Fields(auto& s) { return std::tie(s.id, s.method, s.bci, s.line, s.caller, s.tier, s.flags); }
};

struct ThreadDefinition {
  uint64_t id = 0;
  std::string_view name;
  uint64_t java_id = 0, os_id = 0;

  static constexpr DefinitionTag kTag = DefinitionTag::kThread;
  static auto Fields(auto& s) { return std::tie(s.id, s.name, s.java_id, s.os_id); }
};

struct SiteClassDefinition {
  uint64_t id = 0, site = 0, class_id = 0;

  static constexpr DefinitionTag kTag = DefinitionTag::kSiteClass;
  static auto Fields(auto& s) { return std::tie(s.id, s.site, s.class_id); }
};

// caller: the stack of the frames around the site's; 0: none.
struct StackDefinition {
  uint64_t id = 0, caller = 0, site = 0;

  static constexpr DefinitionTag kTag = DefinitionTag::kStack;
  static auto Fields(auto& s) { return std::tie(s.id, s.caller, s.site); }
};

struct FieldDefinition {
  std::string_view name, signature;
  uint64_t offset = 0;

  static auto Fields(auto& s) { return std::tie(s.name, s.signature, s.offset); }
};

// For writing. fields: the instance fields that the class itself declares, by offset.
struct FieldsDefinition {
  uint64_t class_id = 0;
  std::span<const FieldDefinition> fields;
};

// For reading: `count` FieldDefinitions follow.
struct FieldsHead {
  uint64_t class_id = 0, count = 0;

  static constexpr DefinitionTag kTag = DefinitionTag::kFields;
  static auto Fields(auto& s) { return std::tie(s.class_id, s.count); }
};

void AppendDefinition(ByteBuffer* out, const ClassDefinition& definition);
void AppendDefinition(ByteBuffer* out, const MethodDefinition& definition);
void AppendDefinition(ByteBuffer* out, const SiteDefinition& definition);
void AppendDefinition(ByteBuffer* out, const ThreadDefinition& definition);
void AppendDefinition(ByteBuffer* out, const SiteClassDefinition& definition);
void AppendDefinition(ByteBuffer* out, const StackDefinition& definition);
void AppendDefinition(ByteBuffer* out, const FieldsDefinition& definition);

// False: the record ends within a field, or a number in it is too long. Bytes after the last field are ignored:
// a newer agent wrote them.
template <class Definition>
bool ReadDefinition(WireReader& in, Definition* definition) {
  std::apply([&](auto&... fields) { (Get(in, &fields), ...); }, Definition::Fields(*definition));
  return in.ok();
}

// The records of a payload.
class DefinitionReader {
 public:
  explicit DefinitionReader(std::span<const uint8_t> payload) : in_(payload) {}

  bool AtEnd() const { return in_.AtEnd(); }
  size_t position() const { return in_.position(); }
  // Must not be called at the end. False: the record is longer than the payload; only its tag was read, and
  // there are no more records.
  bool Next(uint8_t* tag, std::span<const uint8_t>* record) {
    *tag = in_.U8();
    *record = in_.Take(in_.Uv());
    return in_.ok();
  }

 private:
  WireReader in_;
};

}  // namespace anttracks::trace
