// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/hprof_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "trace/output_file.h"

namespace anttracks::hprof {
namespace {

using trace::Status;

constexpr size_t kFieldBytes = 9;

}  // namespace

trace::Result<std::unique_ptr<HprofReader>> HprofReader::Open(const std::string& path) {
  std::unique_ptr<HprofReader> reader(new HprofReader(path));
  for (Status (HprofReader::*step)() :
       {&HprofReader::Map, &HprofReader::ReadHeader, &HprofReader::ReadRecords}) {
    Status status = (reader.get()->*step)();
    if (!status.ok()) return status;
  }
  return reader;
}

HprofReader::~HprofReader() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

std::string_view HprofReader::String(uint64_t id) const {
  const auto found = strings_.find(id);
  return found == strings_.end() ? std::string_view() : found->second;
}

Status HprofReader::Error(uint64_t offset, const std::string& what) const {
  return Status::Error(fmt::format("{}: offset {}: {}", path_, offset, what));
}

Status HprofReader::Short(uint64_t offset) const {
  return Error(offset, "a record of the heap reaches beyond its segment");
}

Status HprofReader::Map() {
  const auto fail = [&] {
    return Status::Error("cannot read " + path_ + ": " + std::generic_category().message(errno));
  };
  if (const std::string what = trace::NotRegular(path_); !what.empty())
    return Status::Error(path_ + " is " + what + ", not a heap dump");
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return fail();
  struct stat file {};
  void* memory = MAP_FAILED;
  const bool known = fstat(fd, &file) == 0;
  const auto size = static_cast<size_t>(file.st_size);
  if (known && size != 0) memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  Status status = memory == MAP_FAILED && (!known || size != 0) ? fail() : Status();
  close(fd);
  if (memory != MAP_FAILED) bytes_ = {static_cast<const uint8_t*>(memory), size};
  return status;
}

Status HprofReader::ReadHeader() {
  const auto begins = [&](std::string_view magic) {
    return bytes_.size() > magic.size() && std::equal(magic.begin(), magic.end(), bytes_.begin()) &&
           bytes_[magic.size()] == 0;
  };
  if (!begins(kMagic) && !begins(kMagicBefore)) {
    const std::string what(trace::KindOfContents(bytes_.first(std::min<size_t>(bytes_.size(), 64))));
    return Status::Error(path_ + " is " + what + ", not a heap dump (hprof 1.0.2)");
  }
  const size_t at = kMagic.size() + 1;
  header_bytes_ = at + 12;
  if (bytes_.size() < header_bytes_) return Error(at, "the file ends within its header");
  const uint32_t id_bytes = GetU4(At(at));
  if (id_bytes != kIdBytes)
    return Error(at, fmt::format("ids of {} bytes: not a dump of a 64-bit JVM", id_bytes));
  milliseconds_ = GetU8(At(at + 4));
  return {};
}

HprofReader::Record HprofReader::RecordAt(uint64_t at) const {
  return {Tag{*At(at)}, at, bytes_.subspan(at + kRecordHeadBytes, GetU4(At(at + 5)))};
}

Status HprofReader::ReadRecords() {
  for (uint64_t at = header_bytes_; at < bytes_.size();) {
    const uint64_t left = bytes_.size() - at;
    const uint64_t length = left < kRecordHeadBytes ? 0 : GetU4(At(at + 5));
    if (left < kRecordHeadBytes || left - kRecordHeadBytes < length) {
      return Error(at,
                   "the file ends in the middle of a record: the dump was not finished, or not copied whole");
    }
    const Record record = RecordAt(at);
    Status status = ReadRecord(record);
    if (!status.ok()) return status;
    at += kRecordHeadBytes + length;
  }
  if (segments_.empty()) return Error(bytes_.size(), "the file ends without a heap");
  for (LoadedClass& each : classes_) each.name = String(each.name_id);
  return {};
}

Status HprofReader::ReadRecord(const Record& record) {
  const std::span<const uint8_t> body = record.body;
  const auto too_short = [&] { return Error(record.offset, "a record is too short for its tag"); };
  switch (record.tag) {
    case Tag::kString: {
      if (body.size() < kIdBytes) return too_short();
      const uint64_t id = GetU8(body.data());
      last_string_ = std::max(last_string_, id);
      strings_[id] = {reinterpret_cast<const char*>(body.data()) + kIdBytes, body.size() - kIdBytes};
      return {};
    }
    case Tag::kLoadClass:
      if (body.size() < 24) return too_short();
      classes_.push_back({GetU8(body.data() + 4), GetU4(body.data()), GetU8(body.data() + 16), {}});
      return {};
    case Tag::kStackFrame:
      if (body.size() < 40) return too_short();
      last_frame_ = std::max(last_frame_, GetU8(body.data()));
      return {};
    case Tag::kStackTrace:
      if (body.size() < 12) return too_short();
      last_stack_ = std::max(last_stack_, GetU4(body.data()));
      return {};
    case Tag::kHeapDump:
    case Tag::kHeapDumpSegment: {
      const uint64_t begin = record.offset + kRecordHeadBytes;
      segments_.push_back({begin, begin + body.size()});
      return {};
    }
    default:
      return {};
  }
}

Status HprofReader::SkipValues(uint64_t* at, uint64_t end, size_t name_bytes, uint64_t offset) const {
  if (end - *at < 2) return Short(offset);
  const uint16_t count = GetU2(At(*at));
  *at += 2;
  for (uint16_t i = 0; i < count; i++) {
    if (end - *at < name_bytes + 1) return Short(offset);
    const uint8_t type = *At(*at + name_bytes);
    const uint32_t size = TypeBytes(Type{type});
    if (size == 0) return Error(offset, fmt::format("a class with a value of the unknown type {}", type));
    *at += name_bytes + 1;
    if (end - *at < size) return Short(offset);
    *at += size;
  }
  return {};
}

Status HprofReader::ReadClass(uint64_t* at, uint64_t end, ClassRecord* out) const {
  if (end - *at < kClassHeadBytes) return Short(out->offset);
  const uint8_t* p = At(*at);
  out->id = GetU8(p);
  out->super = GetU8(p + 12);
  out->loader = GetU8(p + 20);
  *at += kClassHeadBytes;
  Status status = SkipValues(at, end, 2, out->offset);  // constants, which have an index instead of a name
  if (!status.ok()) return status;
  const uint64_t statics = *at;
  status = SkipValues(at, end, kIdBytes, out->offset);
  if (!status.ok()) return status;
  out->statics = bytes_.subspan(statics + 2, *at - statics - 2);
  if (end - *at < 2) return Short(out->offset);
  const uint64_t size = uint64_t{GetU2(At(*at))} * kFieldBytes;
  *at += 2;
  if (end - *at < size) return Short(out->offset);
  out->fields = bytes_.subspan(*at, size);
  *at += size;
  for (size_t i = kIdBytes; i < out->fields.size(); i += kFieldBytes) {
    if (TypeBytes(Type{out->fields[i]}) == 0)
      return Error(out->offset, fmt::format("a class with a field of the unknown type {}", out->fields[i]));
  }
  return {};
}

}  // namespace anttracks::hprof
