// SPDX-License-Identifier: Apache-2.0
// Makes traces by hand, byte for byte after docs/trace-format.md, without the encoders under trace/.
//
// Thread safety: none. Units: word addresses unless a name says otherwise.
#pragma once

#include <snappy.h>

#include <cstdint>
#include <string>
#include <vector>

#include "trace/crc32c.h"
#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::testing {

using trace::ByteBuffer;
using trace::SegmentKind;

// The payload of an ALLOC (with a Head) or SYNC_OBJECTS segment. Tlab, Outside and Late begin a run.
class Objects {
 public:
  Objects& Head(uint64_t time, uint64_t share = 0) { return Uv(time).Uv(share); }
  Objects& Tlab(int64_t distance) { return Begin(distance, 0); }
  Objects& Outside(int64_t distance) { return Begin(distance, 1); }
  Objects& Late(int64_t distance) { return Begin(distance, 2); }
  Objects& Skipped(int64_t distance, uint64_t words) {
    End();
    payload_.Sv(distance);
    return Uv(3).Uv(words);
  }
  Objects& Fixed(uint64_t kind) { return Id(kind); }
  Objects& WithLength(uint64_t kind, uint64_t length) {
    Id(kind, 0x8000);
    lengths_.U32(static_cast<uint32_t>(length));
    return *this;
  }
  // Whatever the columns hold so far becomes the payload; a number that does not belong there follows.
  Objects& Uv(uint64_t v) {
    End();
    payload_.Uv(v);
    return *this;
  }
  const ByteBuffer& bytes() const {
    const_cast<Objects*>(this)->End();
    return payload_;
  }

 private:
  Objects& Begin(int64_t distance, uint64_t how) {
    End();
    distance_ = distance;
    how_ = how;
    open_ = true;
    return *this;
  }
  Objects& Id(uint64_t kind, unsigned flag = 0) {
    ids_.U16(static_cast<uint16_t>((kind <= 0x7FFF ? kind : 0) | flag));
    if (kind == 0 || kind > 0x7FFF) lengths_.U32(static_cast<uint32_t>(kind));
    return *this;
  }
  void End() {
    if (!open_) return;
    payload_.Sv(distance_);
    payload_.Uv(ids_.size() / 2 << 2 | how_);
    payload_.Uv(lengths_.size() / 4);
    payload_.Append(ids_.span());
    payload_.Append(lengths_.span());
    ids_.Clear();
    lengths_.Clear();
    open_ = false;
  }
  ByteBuffer payload_, ids_, lengths_;
  int64_t distance_ = 0;
  uint64_t how_ = 0;
  bool open_ = false;
};

struct TestSpace {
  uint64_t kind, collected, bottom, top, end;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(uint32_t file_index = 0, uint64_t trace_id = 0x1122334455667788, uint32_t flags = 0) {
    for (char c : trace::kFileMagic) file_.U8(static_cast<uint8_t>(c));
    file_.U16(2);
    file_.U16(0);
    file_.U32(64);
    file_.U64(1'700'000'000'000'000'000);
    file_.U64(trace_id);
    file_.U64(4711);
    file_.U32(file_index);
    file_.U32(flags);
    for (int i = 0; i < 3; i++) file_.U32(0);
    file_.U32(trace::Crc32c(file_.span()));
  }

  TraceBuilder& Chunk(uint16_t type, std::string_view payload, uint16_t flags = 0) {
    std::string stored(payload);
    if (flags & 1) snappy::Compress(payload.data(), payload.size(), &stored);
    return RawChunk(type, flags, stored, static_cast<uint32_t>(payload.size()));
  }
  TraceBuilder& RawChunk(uint16_t type, uint16_t flags, const std::string& stored, uint32_t raw_length) {
    ByteBuffer header;
    for (char c : trace::kChunkMagic) header.U8(static_cast<uint8_t>(c));
    header.U16(type);
    header.U16(flags);
    header.U32(static_cast<uint32_t>(stored.size()));
    header.U32(raw_length);
    header.U64(sequence_++);
    header.U32(trace::Crc32c(Bytes(stored)));
    header.U32(trace::Crc32c(header.span()));
    file_.Append(header.span());
    file_.Append(Bytes(stored));
    return *this;
  }
  // scheme: where the VM keeps sites, such as "ash".
  TraceBuilder& Meta(uint64_t heap_start_bytes, uint64_t heap_end_bytes, const std::string& scheme = "") {
    const std::string sites = scheme.empty() ? "" : ",\"sites\":\"" + scheme + "\"";
    return Chunk(1,
                 "{\"agent_version\":\"0.1.0\",\"vm_version\":\"17.0.19\",\"java_command\":\"Main 1\","
                 "\"vm_flags\":\"-XX:+UseParallelGC\",\"options\":\"file=a\",\"object_alignment\":8,"
                 "\"heap_start\":" +
                     std::to_string(heap_start_bytes) + ",\"heap_end\":" + std::to_string(heap_end_bytes) +
                     sites + "}");
  }

  TraceBuilder& Segment(SegmentKind kind, uint64_t stream, const ByteBuffer& payload) {
    data_.U8(static_cast<uint8_t>(kind));
    data_.Uv(stream);
    data_.Uv(payload.size());
    data_.Append(payload.span());
    return *this;
  }
  TraceBuilder& Segment(SegmentKind kind, uint64_t stream, const Objects& objects) {
    return Segment(kind, stream, objects.bytes());
  }
  // Numbers as uv, in order.
  TraceBuilder& Numbers(SegmentKind kind, uint64_t stream, std::initializer_list<uint64_t> numbers) {
    ByteBuffer payload;
    for (uint64_t number : numbers) payload.Uv(number);
    return Segment(kind, stream, payload);
  }
  TraceBuilder& Gc(SegmentKind kind, uint64_t id, uint64_t gc_kind, std::string_view cause, uint64_t time,
                   const std::vector<TestSpace>& spaces) {
    ByteBuffer payload;
    payload.Uv(id);
    payload.Uv(gc_kind);
    payload.Str(cause);
    payload.Uv(time);
    PutSpaces(&payload, spaces);
    return Segment(kind, 0, payload);
  }
  TraceBuilder& SyncBegin(uint64_t reason, uint64_t time, const std::vector<TestSpace>& spaces) {
    ByteBuffer payload;
    payload.Uv(reason);
    payload.Uv(time);
    PutSpaces(&payload, spaces);
    return Segment(SegmentKind::kSyncBegin, 0, payload);
  }
  TraceBuilder& Loss(uint64_t time, uint64_t segments, uint64_t bytes, std::string_view reason) {
    ByteBuffer payload;
    payload.Uv(time);
    payload.Uv(segments);
    payload.Uv(bytes);
    payload.Str(reason);
    return Segment(SegmentKind::kLoss, 0, payload);
  }
  TraceBuilder& End(uint64_t time, std::string_view reason, std::string_view counters) {
    ByteBuffer payload;
    payload.Uv(time);
    payload.Str(reason);
    payload.Str(counters);
    return Segment(SegmentKind::kEnd, 0, payload);
  }

  // Ends the DATA chunk of the segments so far.
  TraceBuilder& Flush(bool compress = false) {
    const std::string raw(reinterpret_cast<const char*>(data_.data()), data_.size());
    data_.Clear();
    return Chunk(2, raw, compress ? 1 : 0);
  }
  TraceBuilder& SkipSequence() {
    sequence_++;
    return *this;
  }
  void set_sequence(uint64_t sequence) { sequence_ = sequence; }
  uint64_t sequence() const { return sequence_; }
  std::string file() const { return {reinterpret_cast<const char*>(file_.data()), file_.size()}; }

  static std::span<const uint8_t> Bytes(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }

 private:
  static void PutSpaces(ByteBuffer* payload, const std::vector<TestSpace>& spaces) {
    payload->Uv(spaces.size());
    for (const TestSpace& space : spaces) {
      payload->Uv(space.kind);
      payload->Uv(space.collected);
      payload->Uv(space.bottom);
      payload->Uv(space.top - space.bottom);
      payload->Uv(space.end - space.bottom);
    }
  }

  ByteBuffer file_;
  ByteBuffer data_;
  uint64_t sequence_ = 0;
};

struct TestField {
  std::string_view name, signature;
  uint64_t offset;
};

// The payload of a DEFINITIONS segment.
class DefinitionsBuilder {
 public:
  DefinitionsBuilder& Class(uint64_t id, std::string_view name, uint64_t flags, uint64_t bytes,
                            uint64_t header = 0, uint64_t log2 = 0, uint64_t super = 0) {
    ByteBuffer record;
    record.Uv(id);
    record.Str(name);
    for (uint64_t v : {flags, bytes, header, log2, super, uint64_t{0}}) record.Uv(v);
    record.Str("bootstrap");
    return Record(1, record);
  }
  DefinitionsBuilder& Method(uint64_t id, std::string_view type, std::string_view name,
                             std::string_view source) {
    ByteBuffer record;
    record.Uv(id);
    for (std::string_view text : {type, name, std::string_view("()V"), source}) record.Str(text);
    return Record(2, record);
  }
  DefinitionsBuilder& Site(uint64_t id, uint64_t method, int64_t bci, int64_t line, uint64_t caller,
                           uint64_t tier) {
    ByteBuffer record;
    record.Uv(id);
    record.Uv(method);
    record.Sv(bci);
    record.Sv(line);
    record.Uv(caller);
    record.Uv(tier);
    record.Uv(0);
    return Record(3, record);
  }
  DefinitionsBuilder& Thread(uint64_t id, std::string_view name, uint64_t java_id) {
    ByteBuffer record;
    record.Uv(id);
    record.Str(name);
    record.Uv(java_id);
    record.Uv(0);
    return Record(4, record);
  }
  DefinitionsBuilder& SiteClass(uint64_t id, uint64_t site, uint64_t type) {
    ByteBuffer record;
    for (uint64_t v : {id, site, type}) record.Uv(v);
    return Record(5, record);
  }
  DefinitionsBuilder& Stack(uint64_t id, uint64_t caller, uint64_t site) {
    ByteBuffer record;
    for (uint64_t v : {id, caller, site}) record.Uv(v);
    return Record(7, record);
  }
  DefinitionsBuilder& Fields(uint64_t class_id, const std::vector<TestField>& fields) {
    ByteBuffer record;
    record.Uv(class_id);
    record.Uv(fields.size());
    for (const TestField& field : fields) {
      record.Str(field.name);
      record.Str(field.signature);
      record.Uv(field.offset);
    }
    return Record(6, record);
  }
  DefinitionsBuilder& Record(uint8_t tag, const ByteBuffer& record) {
    bytes_.U8(tag);
    bytes_.Uv(record.size());
    bytes_.Append(record.span());
    return *this;
  }
  const ByteBuffer& bytes() const { return bytes_; }

 private:
  ByteBuffer bytes_;
};

}  // namespace anttracks::testing
