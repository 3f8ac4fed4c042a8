// SPDX-License-Identifier: Apache-2.0
// Reads a heap dump of a 64-bit JVM: Open looks at all records and keeps where strings, classes and the heap
// are; ForEach then visits the heap's records, as often as wanted, in the order of the file.
//
// The file is mapped into memory, not copied. Every length is checked before anything behind it is read, so
// that a damaged dump gives an error that names file and offset. A file that another process makes shorter
// meanwhile ends this one (SIGBUS), as with any mapped file.
//
// Thread safety: full after Open. Ownership: owns the mapping, into which all views point.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/hprof/format.h"
#include "analyzer/model/id_map.h"
#include "trace/status.h"

namespace anttracks::hprof {

// Offsets are those of a record's tag in the file.
struct RootRecord {
  uint64_t offset = 0;
  Sub kind = Sub::kRootUnknown;
  uint64_t id = 0;
  uint32_t thread = 0;  // serial number, of roots of a thread; 0: none
  // Of a local variable the number of its frame in the thread's stack, from 0, the innermost one; of a thread
  // the serial number of its stack.
  uint32_t frame = 0;
};
struct ClassRecord {
  uint64_t offset = 0;
  uint64_t id = 0, super = 0, loader = 0;
  std::span<const uint8_t> statics;  // u8 name, u1 type, value, each; checked
  std::span<const uint8_t> fields;   // u8 name, u1 type, each; checked
};
struct InstanceRecord {
  uint64_t offset = 0;
  uint64_t id = 0, class_id = 0;
  std::span<const uint8_t> values;
};
struct ArrayRecord {
  uint64_t offset = 0;
  uint64_t id = 0;
  uint64_t class_id = 0;  // of an array of references
  Type type = Type::kObject;
  uint32_t length = 0;
  const uint8_t* elements = nullptr;  // length * TypeBytes(type)
};
struct LoadedClass {
  uint64_t id = 0;
  uint32_t serial = 0;
  uint64_t name_id = 0;
  std::string_view name;  // as in the dump; "": there is no such string
};

class HprofReader {
 public:
  static trace::Result<std::unique_ptr<HprofReader>> Open(const std::string& path);
  ~HprofReader();
  HprofReader(const HprofReader&) = delete;
  HprofReader& operator=(const HprofReader&) = delete;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  // When the dump was begun, in milliseconds since 1970.
  uint64_t milliseconds() const { return milliseconds_; }
  size_t header_bytes() const { return header_bytes_; }
  // "": there is no such string.
  std::string_view String(uint64_t id) const;
  const std::vector<LoadedClass>& classes() const { return classes_; }
  // The largest ids that are in use, and the largest serial number of a stack.
  uint64_t last_string() const { return last_string_; }
  uint64_t last_frame() const { return last_frame_; }
  uint32_t last_stack() const { return last_stack_; }

  struct Record {
    Tag tag = Tag::kHeapDumpEnd;
    uint64_t offset = 0;  // of its tag
    std::span<const uint8_t> body;
    bool heap() const { return tag == Tag::kHeapDump || tag == Tag::kHeapDumpSegment; }
  };
  // Calls visit(const Record&) for all records. They were checked by Open.
  template <class Visit>
  void ForEachRecord(Visit&& visit) const {
    for (uint64_t at = header_bytes_; at < bytes_.size();) {
      const Record record = RecordAt(at);
      visit(record);
      at += kRecordHeadBytes + record.body.size();
    }
  }

  // Calls visit(const X&) for all records of the heap, X being RootRecord, ClassRecord, InstanceRecord and
  // ArrayRecord, until one returns an error, or a record is damaged.
  template <class Visit>
  trace::Status ForEach(Visit&& visit) const {
    for (const Segment& segment : segments_) {
      for (uint64_t at = segment.begin; at < segment.end;) {
        trace::Status status = Step(&at, segment.end, visit);
        if (!status.ok()) return status;
      }
    }
    return {};
  }

  // "dump.hprof: offset 4711: what"
  trace::Status Error(uint64_t offset, const std::string& what) const;

 private:
  struct Segment {
    uint64_t begin = 0, end = 0;
  };

  explicit HprofReader(std::string path) : path_(std::move(path)) {}
  trace::Status Map();
  trace::Status ReadHeader();
  trace::Status ReadRecords();
  trace::Status ReadRecord(const Record& record);
  Record RecordAt(uint64_t at) const;
  const uint8_t* At(uint64_t offset) const { return bytes_.data() + offset; }
  trace::Status Short(uint64_t offset) const;
  // Reads the class at *at, which is behind its tag, and goes behind it.
  trace::Status ReadClass(uint64_t* at, uint64_t end, ClassRecord* out) const;
  trace::Status SkipValues(uint64_t* at, uint64_t end, size_t name_bytes, uint64_t offset) const;

  template <class Visit>
  trace::Status Step(uint64_t* at, uint64_t end, Visit& visit) const;

  const std::string path_;
  std::span<const uint8_t> bytes_;
  size_t header_bytes_ = 0;
  uint64_t milliseconds_ = 0;
  analyzer::IdMap<std::string_view> strings_;
  std::vector<LoadedClass> classes_;
  std::vector<Segment> segments_;
  uint64_t last_string_ = 0, last_frame_ = 0;
  uint32_t last_stack_ = 0;
};

template <class Visit>
trace::Status HprofReader::Step(uint64_t* at, uint64_t end, Visit& visit) const {
  const uint64_t offset = *at;
  const Sub tag{*At(offset)};
  const uint64_t begin = offset + 1, left = end - begin;
  const uint8_t* p = At(begin);
  switch (tag) {
    case Sub::kInstanceDump: {
      if (left < kInstanceHeadBytes) return Short(offset);
      const uint32_t size = GetU4(p + 20);
      if (left - kInstanceHeadBytes < size) return Short(offset);
      *at = begin + kInstanceHeadBytes + size;
      return visit(InstanceRecord{offset, GetU8(p), GetU8(p + 12), {p + kInstanceHeadBytes, size}});
    }
    case Sub::kObjectArrayDump: {
      if (left < kObjectArrayHeadBytes) return Short(offset);
      const uint32_t length = GetU4(p + 12);
      if (left - kObjectArrayHeadBytes < uint64_t{length} * kIdBytes) return Short(offset);
      *at = begin + kObjectArrayHeadBytes + uint64_t{length} * kIdBytes;
      return visit(
          ArrayRecord{offset, GetU8(p), GetU8(p + 16), Type::kObject, length, p + kObjectArrayHeadBytes});
    }
    case Sub::kPrimitiveArrayDump: {
      if (left < kPrimitiveArrayHeadBytes) return Short(offset);
      const Type type{p[16]};
      if (TypeBytes(type) == 0 || type == Type::kObject)
        return Error(offset, "an array of elements of type " + std::to_string(p[16]));
      const uint32_t length = GetU4(p + 12);
      const uint64_t size = uint64_t{length} * TypeBytes(type);
      if (left - kPrimitiveArrayHeadBytes < size) return Short(offset);
      *at = begin + kPrimitiveArrayHeadBytes + size;
      return visit(ArrayRecord{offset, GetU8(p), 0, type, length, p + kPrimitiveArrayHeadBytes});
    }
    case Sub::kClassDump: {
      ClassRecord record;
      record.offset = offset;
      *at = begin;
      trace::Status status = ReadClass(at, end, &record);
      return status.ok() ? visit(record) : status;
    }
    default:
      break;
  }
  const size_t size = RootBytes(tag);
  if (size == 0)
    return Error(offset, "a record of the heap with the unknown tag " + std::to_string(*At(offset)));
  if (left < size) return Short(offset);
  *at = begin + size;
  const bool of_thread = size >= 12 && tag != Sub::kRootJniGlobal;
  return visit(RootRecord{offset, tag, GetU8(p), of_thread ? GetU4(p + 8) : 0, size >= 16 ? GetU4(p + 12) : 0});
}

}  // namespace anttracks::hprof
