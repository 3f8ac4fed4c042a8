// SPDX-License-Identifier: Apache-2.0
// Writes a heap dump: strings, classes, frames and stacks as they are needed, and the heap's records.
//
// The file is written beside its path and renamed by Finish, so that a reader sees all of it or nothing.
// Errors of writing are kept, and told by Finish; after the first one nothing is written.
//
// The records of the heap are gathered in segments. Strings, classes, frames and stacks close the segment, but
// should all be written before the heap: VisualVM reads from its first segment to its last as if nothing else
// were between.
//
// Thread safety: none. Ownership: owns the file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/hprof/format.h"
#include "trace/output_file.h"
#include "trace/status.h"

namespace anttracks::hprof {

// Bytes in big-endian order.
class Bytes {
 public:
  void U1(uint8_t v) { bytes_.push_back(v); }
  void U2(uint16_t v) {
    U1(static_cast<uint8_t>(v >> 8));
    U1(static_cast<uint8_t>(v));
  }
  void U4(uint32_t v) {
    U2(static_cast<uint16_t>(v >> 16));
    U2(static_cast<uint16_t>(v));
  }
  void U8(uint64_t v) {
    U4(static_cast<uint32_t>(v >> 32));
    U4(static_cast<uint32_t>(v));
  }
  void Text(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }
  void Append(std::span<const uint8_t> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void Zeros(size_t count) { bytes_.resize(bytes_.size() + count); }
  void Clear() { bytes_.clear(); }
  size_t size() const { return bytes_.size(); }
  uint8_t* data() { return bytes_.data(); }
  std::span<const uint8_t> span() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// What a dump may replace: a dump, or an empty file.
extern const trace::FileSort kDumpFile;

// A field of a class.
struct FieldOfDump {
  std::string_view name;
  Type type = Type::kObject;
};

class HprofWriter {
 public:
  // The stack of which nothing is known, which the JVM's own dumps have, too.
  static constexpr uint32_t kNoStack = 1;

  // Error: the path is something that must not be replaced, or exists and force is false, or cannot be written.
  static trace::Result<std::unique_ptr<HprofWriter>> Create(const std::string& path, bool force);

  // The header and kNoStack. milliseconds: since 1970.
  void Begin(uint64_t milliseconds);

  // Ids and serial numbers that are given out begin after these: for a dump that has some already.
  void StartAfter(uint64_t string, uint64_t frame, uint32_t stack);

  // The id of a text. Each is written once.
  uint64_t String(std::string_view text);
  // Defines a class; the same id only once. Returns its serial number.
  uint32_t LoadClass(uint64_t id, std::string_view name_in_dump);
  // Returns the id. line: -1 not known, -3 native method. class_serial: 0 not known.
  uint64_t Frame(std::string_view method, std::string_view signature, std::string_view source,
                 uint32_t class_serial, int32_t line);
  // frames: innermost first. Returns the serial number.
  uint32_t Stack(std::span<const uint64_t> frames);

  // Records of the heap.
  void Root(uint64_t object);  // of an unknown kind
  void Class(uint64_t id, uint64_t super, uint32_t stack, uint32_t instance_bytes,
             std::span<const FieldOfDump> fields);
  void ZeroInstance(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t bytes);
  // An instance whose values are one reference.
  void Instance(uint64_t object, uint32_t stack, uint64_t class_id, uint64_t reference);
  // Elements follow by Id.
  void ObjectArray(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t length);
  void Id(uint64_t id) { HeapBytes(8).U8(id); }
  void ZeroArray(uint64_t object, uint32_t stack, Type type, uint32_t length);
  void ZeroObjectArray(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t length);
  // A record that is there already, with its tag. stack: 0 to leave the serial number that it has.
  void HeapRecord(std::span<const uint8_t> record, uint32_t stack);
  // A record outside the heap, with its head.
  void Record(std::span<const uint8_t> record);
  // What precedes the records: for a dump that has a header.
  void Header(std::span<const uint8_t> header) { buffer_.Append(header); }

  // Ends the dump. Error: it could not be written, or something came to the path meanwhile.
  trace::Status Finish();

 private:
  HprofWriter(const std::string& path, trace::Replace replace) : path_(path), replace_(replace), file_(path) {}
  void BeginRecord(Tag tag, size_t length);
  // Begins a record of so many bytes, tag included.
  void BeginHeapRecord(uint64_t bytes);
  Bytes& HeapBytes(size_t bytes);
  void CloseSegment();
  void RawZeros(uint64_t count);
  void Flush();

  const std::string path_;
  const trace::Replace replace_;
  trace::UnfinishedFile file_;
  int error_ = 0;
  Bytes buffer_;
  // The open segment: its records, until they are many; a record that is too large for that is alone in its
  // segment, and written at once.
  Bytes segment_;
  bool large_ = false;
  uint64_t last_string_ = 0, last_frame_ = 0;
  uint32_t last_stack_ = 0, last_class_ = 0;
  std::unordered_map<std::string, uint64_t> strings_;
};

}  // namespace anttracks::hprof
