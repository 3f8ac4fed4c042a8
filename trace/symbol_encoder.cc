// SPDX-License-Identifier: Apache-2.0
#include "trace/symbol_encoder.h"

#include <cstring>

namespace anttracks::trace {
namespace {

// The type of a field decides how it is stored.
void Put(ByteBuffer* out, uint64_t field) { out->Uv(field); }
void Put(ByteBuffer* out, int64_t field) { out->Sv(field); }
void Put(ByteBuffer* out, std::string_view field) { out->Str(field); }
void Put(ByteBuffer* out, std::span<const FieldSymbol> list) {
  out->Uv(list.size());
  for (const FieldSymbol& field : list) {
    out->Str(field.name);
    out->Str(field.signature);
    out->Uv(field.offset);
  }
}

// All at once: without memory for the whole record nothing of it is there.
template <class... Fields>
void Append(ByteBuffer* out, SymbolTag tag, const Fields&... fields) {
  ByteBuffer record;
  (Put(&record, fields), ...);
  uint8_t* p = out->Extend(1 + UvBytes(record.size()) + record.size());
  *p++ = static_cast<uint8_t>(tag);
  p = PutUv(p, record.size());
  std::memcpy(p, record.data(), record.size());
}

}  // namespace

void AppendSymbol(ByteBuffer* out, const ClassSymbol& s) {
  Append(out, SymbolTag::kClass, s.id, s.name, s.flags, s.bytes, s.array_header_bytes, s.log2_element_bytes,
         s.super, s.loader, s.loader_name);
}

void AppendSymbol(ByteBuffer* out, const MethodSymbol& s) {
  Append(out, SymbolTag::kMethod, s.id, s.class_name, s.name, s.signature, s.source_file);
}

void AppendSymbol(ByteBuffer* out, const SiteSymbol& s) {
  Append(out, SymbolTag::kSite, s.id, s.method, s.bci, s.line, s.caller, s.tier, s.flags);
}

void AppendSymbol(ByteBuffer* out, const ThreadSymbol& s) {
  Append(out, SymbolTag::kThread, s.id, s.name, s.java_id, s.os_id);
}

void AppendSymbol(ByteBuffer* out, const KindSymbol& s) {
  Append(out, SymbolTag::kKind, s.id, s.site, s.class_id);
}

void AppendSymbol(ByteBuffer* out, const FieldsSymbol& s) {
  Append(out, SymbolTag::kFields, s.class_id, s.fields);
}

}  // namespace anttracks::trace
