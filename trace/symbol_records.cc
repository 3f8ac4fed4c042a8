// SPDX-License-Identifier: Apache-2.0
#include "trace/symbol_records.h"

#include <cstring>

namespace anttracks::trace {
namespace {

template <class Symbol>
void PutFields(ByteBuffer* out, const Symbol& symbol) {
  std::apply([&](const auto&... fields) { (Put(out, fields), ...); }, Symbol::Fields(symbol));
}

// All at once: without memory for the whole record nothing of it is there.
void AppendRecord(ByteBuffer* out, SymbolTag tag, const ByteBuffer& record) {
  uint8_t* p = out->Extend(1 + UvBytes(record.size()) + record.size());
  *p++ = static_cast<uint8_t>(tag);
  p = PutUv(p, record.size());
  std::memcpy(p, record.data(), record.size());
}

template <class Symbol>
void Append(ByteBuffer* out, const Symbol& symbol) {
  ByteBuffer record;
  PutFields(&record, symbol);
  AppendRecord(out, Symbol::kTag, record);
}

}  // namespace

void AppendSymbol(ByteBuffer* out, const ClassSymbol& symbol) { Append(out, symbol); }
void AppendSymbol(ByteBuffer* out, const MethodSymbol& symbol) { Append(out, symbol); }
void AppendSymbol(ByteBuffer* out, const SiteSymbol& symbol) { Append(out, symbol); }
void AppendSymbol(ByteBuffer* out, const ThreadSymbol& symbol) { Append(out, symbol); }
void AppendSymbol(ByteBuffer* out, const KindSymbol& symbol) { Append(out, symbol); }

void AppendSymbol(ByteBuffer* out, const FieldsSymbol& symbol) {
  ByteBuffer record;
  PutFields(&record, FieldsHead{symbol.class_id, symbol.fields.size()});
  for (const FieldSymbol& field : symbol.fields) PutFields(&record, field);
  AppendRecord(out, FieldsHead::kTag, record);
}

}  // namespace anttracks::trace
