// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/hprof_writer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace anttracks::hprof {
namespace {

using trace::Status;

constexpr size_t kSegmentBytes = 1 << 20, kBufferBytes = 1 << 20;

bool IsDump(std::span<const uint8_t> start) {
  constexpr std::string_view kAnyVersion = "JAVA PROFILE";
  return start.empty() || (start.size() >= kAnyVersion.size() &&
                           std::equal(kAnyVersion.begin(), kAnyVersion.end(), start.begin()));
}

// The longest array whose record fits in a segment; the JVM cuts longer ones, too.
constexpr uint32_t Fitting(uint32_t length, uint64_t head, uint32_t element) {
  const uint64_t most = (std::numeric_limits<uint32_t>::max() - 1 - head) / element;
  return static_cast<uint32_t>(std::min<uint64_t>(length, most));
}

}  // namespace

const trace::FileSort kDumpFile{"a heap dump", &IsDump};

trace::Result<std::unique_ptr<HprofWriter>> HprofWriter::Create(const std::string& path, bool force) {
  const auto replace = force ? trace::Replace::kYes : trace::Replace::kNo;
  if (Status status = trace::MayWrite(path, kDumpFile, replace); !status.ok()) return status;
  std::unique_ptr<HprofWriter> writer(new HprofWriter(path, replace));
  if (const int error = writer->file_.Create(); error != 0) return trace::CannotWrite(path, error);
  return writer;
}

void HprofWriter::Begin(uint64_t milliseconds) {
  buffer_.Text(kMagic);
  buffer_.U1(0);
  buffer_.U4(kIdBytes);
  buffer_.U8(milliseconds);
  Stack({});
}

void HprofWriter::StartAfter(uint64_t string, uint64_t frame, uint32_t stack) {
  last_string_ = string;
  last_frame_ = frame;
  last_stack_ = stack;
}

uint64_t HprofWriter::String(std::string_view text) {
  const auto [at, is_new] = strings_.try_emplace(std::string(text), last_string_ + 1);
  if (is_new) {
    last_string_++;
    BeginRecord(Tag::kString, kIdBytes + text.size());
    buffer_.U8(at->second);
    buffer_.Text(text);
    Flush();
  }
  return at->second;
}

uint32_t HprofWriter::LoadClass(uint64_t id, std::string_view name_in_dump) {
  const uint64_t name = String(name_in_dump);
  BeginRecord(Tag::kLoadClass, 4 + kIdBytes + 4 + kIdBytes);
  buffer_.U4(++last_class_);
  buffer_.U8(id);
  buffer_.U4(kNoStack);
  buffer_.U8(name);
  return last_class_;
}

uint64_t HprofWriter::Frame(std::string_view method, std::string_view signature, std::string_view source,
                            uint32_t class_serial, int32_t line) {
  const uint64_t method_id = String(method), signature_id = String(signature), source_id = String(source);
  BeginRecord(Tag::kStackFrame, 4 * kIdBytes + 8);
  buffer_.U8(++last_frame_);
  buffer_.U8(method_id);
  buffer_.U8(signature_id);
  buffer_.U8(source_id);
  buffer_.U4(class_serial);
  buffer_.U4(static_cast<uint32_t>(line));
  return last_frame_;
}

uint32_t HprofWriter::Stack(std::span<const uint64_t> frames) {
  BeginRecord(Tag::kStackTrace, 12 + frames.size() * kIdBytes);
  buffer_.U4(++last_stack_);
  buffer_.U4(0);  // of no thread
  buffer_.U4(static_cast<uint32_t>(frames.size()));
  for (const uint64_t frame : frames) buffer_.U8(frame);
  Flush();
  return last_stack_;
}

void HprofWriter::Root(uint64_t object) {
  BeginHeapRecord(1 + RootBytes(Sub::kRootUnknown));
  HeapBytes(1).U1(static_cast<uint8_t>(Sub::kRootUnknown));
  Id(object);
}

void HprofWriter::Class(uint64_t id, uint64_t super, uint32_t stack, uint32_t instance_bytes,
                        std::span<const FieldOfDump> fields) {
  std::vector<uint64_t> names;  // first: a new string would close the segment
  for (const FieldOfDump& field : fields) names.push_back(String(field.name));
  BeginHeapRecord(1 + kClassHeadBytes + 6 + 9 * fields.size());
  Bytes& out = HeapBytes(0);
  out.U1(static_cast<uint8_t>(Sub::kClassDump));
  out.U8(id);
  out.U4(stack);
  out.U8(super);
  out.Zeros(5 * kIdBytes);
  out.U4(instance_bytes);
  out.U2(0);
  out.U2(0);
  out.U2(static_cast<uint16_t>(fields.size()));
  for (size_t i = 0; i < fields.size(); i++) {
    out.U8(names[i]);
    out.U1(static_cast<uint8_t>(fields[i].type));
  }
}

void HprofWriter::ZeroInstance(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t bytes) {
  BeginHeapRecord(1 + kInstanceHeadBytes + uint64_t{bytes});
  Bytes& out = HeapBytes(0);
  out.U1(static_cast<uint8_t>(Sub::kInstanceDump));
  out.U8(object);
  out.U4(stack);
  out.U8(class_id);
  out.U4(bytes);
  RawZeros(bytes);
}

void HprofWriter::Instance(uint64_t object, uint32_t stack, uint64_t class_id, uint64_t reference) {
  BeginHeapRecord(1 + kInstanceHeadBytes + kIdBytes);
  Bytes& out = HeapBytes(0);
  out.U1(static_cast<uint8_t>(Sub::kInstanceDump));
  out.U8(object);
  out.U4(stack);
  out.U8(class_id);
  out.U4(kIdBytes);
  out.U8(reference);
}

void HprofWriter::ObjectArray(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t length) {
  BeginHeapRecord(1 + kObjectArrayHeadBytes + uint64_t{length} * kIdBytes);
  Bytes& out = HeapBytes(0);
  out.U1(static_cast<uint8_t>(Sub::kObjectArrayDump));
  out.U8(object);
  out.U4(stack);
  out.U4(length);
  out.U8(class_id);
}

void HprofWriter::ZeroObjectArray(uint64_t object, uint32_t stack, uint64_t class_id, uint32_t length) {
  length = Fitting(length, kObjectArrayHeadBytes, kIdBytes);
  ObjectArray(object, stack, class_id, length);
  RawZeros(uint64_t{length} * kIdBytes);
}

void HprofWriter::ZeroArray(uint64_t object, uint32_t stack, Type type, uint32_t length) {
  const uint32_t element = TypeBytes(type);
  length = Fitting(length, kPrimitiveArrayHeadBytes, element);
  BeginHeapRecord(1 + kPrimitiveArrayHeadBytes + uint64_t{length} * element);
  Bytes& out = HeapBytes(0);
  out.U1(static_cast<uint8_t>(Sub::kPrimitiveArrayDump));
  out.U8(object);
  out.U4(stack);
  out.U4(length);
  out.U1(static_cast<uint8_t>(type));
  RawZeros(uint64_t{length} * element);
}

void HprofWriter::HeapRecord(std::span<const uint8_t> record, uint32_t stack) {
  BeginHeapRecord(record.size());
  Bytes& out = HeapBytes(record.size());
  const size_t at = out.size();
  out.Append(record);
  if (stack != 0) PutU4(out.data() + at + 1 + kStackSerialOffset, stack);
}

void HprofWriter::Record(std::span<const uint8_t> record) {
  CloseSegment();
  buffer_.Append(record);
  Flush();
}

trace::Status HprofWriter::Finish() {
  BeginRecord(Tag::kHeapDumpEnd, 0);
  if (error_ == 0) error_ = file_.Write(buffer_.span());
  if (error_ == 0) error_ = file_.Finish(replace_);
  buffer_.Clear();
  return error_ == 0 ? Status() : trace::CannotWrite(path_, error_);
}

void HprofWriter::BeginRecord(Tag tag, size_t length) {
  CloseSegment();
  buffer_.U1(static_cast<uint8_t>(tag));
  buffer_.U4(0);
  buffer_.U4(static_cast<uint32_t>(length));
}

void HprofWriter::BeginHeapRecord(uint64_t bytes) {
  if (large_ || segment_.size() + bytes > kSegmentBytes) CloseSegment();
  if (bytes <= kSegmentBytes) return;
  BeginRecord(Tag::kHeapDumpSegment, bytes);
  large_ = true;
}

Bytes& HprofWriter::HeapBytes(size_t bytes) {
  if (!large_) return segment_;
  if (buffer_.size() + bytes > kBufferBytes) Flush();
  return buffer_;
}

void HprofWriter::CloseSegment() {
  large_ = false;
  if (segment_.size() == 0) return;
  buffer_.U1(static_cast<uint8_t>(Tag::kHeapDumpSegment));
  buffer_.U4(0);
  buffer_.U4(static_cast<uint32_t>(segment_.size()));
  buffer_.Append(segment_.span());
  segment_.Clear();
  Flush();
}

void HprofWriter::RawZeros(uint64_t count) {
  for (constexpr uint64_t kStep = 64 << 10; count != 0;) {
    const uint64_t step = std::min(count, kStep);
    HeapBytes(step).Zeros(step);
    count -= step;
  }
}

void HprofWriter::Flush() {
  if (buffer_.size() < kBufferBytes / 2) return;
  if (error_ == 0) error_ = file_.Write(buffer_.span());
  buffer_.Clear();
}

}  // namespace anttracks::hprof
