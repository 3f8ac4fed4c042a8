// SPDX-License-Identifier: Apache-2.0
#include "trace/symbol_encoder.h"

namespace anttracks::trace {
namespace {

void Append(ByteBuffer* out, SymbolTag tag, const ByteBuffer& fields) {
  out->U8(static_cast<uint8_t>(tag));
  out->Uv(fields.size());
  out->Append(fields.span());
}

}  // namespace

void AppendSymbol(ByteBuffer* out, const ClassSymbol& symbol) {
  ByteBuffer fields;
  fields.Uv(symbol.id);
  fields.Str(symbol.name);
  fields.Uv(symbol.flags);
  fields.Uv(symbol.bytes);
  fields.Uv(symbol.array_header_bytes);
  fields.Uv(symbol.log2_element_bytes);
  fields.Uv(symbol.super);
  fields.Uv(symbol.loader);
  fields.Str(symbol.loader_name);
  Append(out, SymbolTag::kClass, fields);
}

void AppendSymbol(ByteBuffer* out, const MethodSymbol& symbol) {
  ByteBuffer fields;
  fields.Uv(symbol.id);
  fields.Str(symbol.class_name);
  fields.Str(symbol.name);
  fields.Str(symbol.signature);
  fields.Str(symbol.source_file);
  Append(out, SymbolTag::kMethod, fields);
}

void AppendSymbol(ByteBuffer* out, const SiteSymbol& symbol) {
  ByteBuffer fields;
  fields.Uv(symbol.id);
  fields.Uv(symbol.method);
  fields.Sv(symbol.bci);
  fields.Sv(symbol.line);
  fields.Uv(symbol.caller);
  fields.Uv(symbol.tier);
  fields.Uv(symbol.flags);
  Append(out, SymbolTag::kSite, fields);
}

void AppendSymbol(ByteBuffer* out, const ThreadSymbol& symbol) {
  ByteBuffer fields;
  fields.Uv(symbol.id);
  fields.Str(symbol.name);
  fields.Uv(symbol.java_id);
  fields.Uv(symbol.os_id);
  Append(out, SymbolTag::kThread, fields);
}

void AppendSymbol(ByteBuffer* out, const KindSymbol& symbol) {
  ByteBuffer fields;
  fields.Uv(symbol.id);
  fields.Uv(symbol.site);
  fields.Uv(symbol.class_id);
  Append(out, SymbolTag::kKind, fields);
}

}  // namespace anttracks::trace
