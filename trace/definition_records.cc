// SPDX-License-Identifier: Apache-2.0
#include "trace/definition_records.h"

#include <cstring>

namespace anttracks::trace {
namespace {

template <class Definition>
void PutFields(ByteBuffer* out, const Definition& definition) {
  std::apply([&](const auto&... fields) { (Put(out, fields), ...); }, Definition::Fields(definition));
}

// All at once: without memory for the whole record nothing of it is there.
void AppendRecord(ByteBuffer* out, DefinitionTag tag, const ByteBuffer& record) {
  uint8_t* p = out->Extend(1 + UvBytes(record.size()) + record.size());
  *p++ = static_cast<uint8_t>(tag);
  p = PutUv(p, record.size());
  std::memcpy(p, record.data(), record.size());
}

template <class Definition>
void Append(ByteBuffer* out, const Definition& definition) {
  ByteBuffer record;
  PutFields(&record, definition);
  AppendRecord(out, Definition::kTag, record);
}

}  // namespace

void AppendDefinition(ByteBuffer* out, const ClassDefinition& definition) { Append(out, definition); }
void AppendDefinition(ByteBuffer* out, const MethodDefinition& definition) { Append(out, definition); }
void AppendDefinition(ByteBuffer* out, const SiteDefinition& definition) { Append(out, definition); }
void AppendDefinition(ByteBuffer* out, const ThreadDefinition& definition) { Append(out, definition); }
void AppendDefinition(ByteBuffer* out, const SiteClassDefinition& definition) { Append(out, definition); }
void AppendDefinition(ByteBuffer* out, const StackDefinition& definition) { Append(out, definition); }

void AppendDefinition(ByteBuffer* out, const FieldsDefinition& definition) {
  ByteBuffer record;
  PutFields(&record, FieldsHead{definition.class_id, definition.fields.size()});
  for (const FieldDefinition& field : definition.fields) PutFields(&record, field);
  AppendRecord(out, FieldsHead::kTag, record);
}

}  // namespace anttracks::trace
