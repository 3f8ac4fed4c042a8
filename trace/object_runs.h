// SPDX-License-Identifier: Apache-2.0
// Runs of objects in ALLOC and SYNC_OBJECTS: objects that lie next to each other, as two plain columns.
//
//     run = head, ids (u16 each), lengths (u32 each)
//
// A skipped run has no columns: its objects were not read. In ALLOC the runs follow an AllocHead.
//
// The lower 15 bits of an id are the number of the site-class pair; the top bit, kHasLength, says that the
// object has an entry in the column of lengths. A pair number that does not fit in 15 bits is written as 0, and
// as an entry in the column of lengths, before the object's length.
//
// Thread safety: none. Ownership: RunReader borrows the bytes. Units: words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

// The head of an ALLOC segment: the time when it was begun (ns since the start of the trace), and the share of
// TLAB stretches that were read, in parts of kWholeShare.
struct AllocHead {
  uint64_t time = 0;
  uint32_t share = kWholeShare;
};
inline constexpr size_t kMaxAllocHeadBytes = 2 * kMaxUvBytes;

inline uint8_t* PutAllocHead(uint8_t* p, const AllocHead& head) {
  p = PutUv(p, head.time);
  return PutUv(p, head.share % kWholeShare);
}

// False: the payload ends within the head, or the share is impossible.
inline bool ReadAllocHead(WireReader& in, AllocHead* head) {
  head->time = in.Uv();
  const uint64_t share = in.Uv();
  head->share = share == 0 ? kWholeShare : static_cast<uint32_t>(share);
  return in.ok() && share < kWholeShare;
}

// Moves `in` to the segment's first run, without checking what precedes it.
inline void SkipToRuns(uint8_t kind, WireReader& in) {
  AllocHead head;
  if (kind == static_cast<uint8_t>(SegmentKind::kAlloc)) ReadAllocHead(in, &head);
}

inline constexpr uint16_t kHasLength = 0x8000;
inline constexpr uint16_t kSiteClassMask = 0x7FFF;

constexpr bool IsWide(uint16_t id) { return (id & kSiteClassMask) == 0; }
// The number of entries that an object with this id has in the column of lengths.
constexpr size_t LengthsOf(uint16_t id) { return static_cast<size_t>(id >> 15) + (IsWide(id) ? 1 : 0); }
constexpr uint16_t IdOf(uint32_t site_class, bool has_length) {
  return static_cast<uint16_t>((site_class <= kSiteClassMask ? site_class : 0) | (has_length ? kHasLength : 0));
}

// How the objects of a run became known.
enum class How : uint8_t {
  kTlab = 0,     // a stretch of a TLAB that was chosen to be read
  kOutside = 1,  // allocated outside TLABs; always read
  kLate = 2,     // a stretch that was not chosen, but read before a collection that had to know its objects
  kSkipped = 3,  // a stretch that was not chosen: only its size is known
};

// The longest head: distance, count with how, lengths.
inline constexpr size_t kMaxRunHeadBytes = 3 * kMaxUvBytes;

struct RunHead {
  int64_t distance = 0;  // from the end of the run before to the run's start; for the first one, from 0
  How how = How::kTlab;
  uint64_t objects = 0;
  uint64_t lengths = 0;  // entries of that column; of a skipped run: its words

  uint64_t column_bytes() const {
    return how == How::kSkipped ? 0 : objects * sizeof(uint16_t) + lengths * sizeof(uint32_t);
  }
};

inline uint8_t* PutRunHead(uint8_t* p, const RunHead& head) {
  p = PutSv(p, head.distance);
  p = PutUv(p, head.objects << 2 | static_cast<uint64_t>(head.how));
  return PutUv(p, head.lengths);
}

// Writes a whole run, at most kMaxRunHeadBytes and its columns; returns the end. head.objects and head.lengths
// are set from the spans.
inline uint8_t* PutRun(uint8_t* p, RunHead head, std::span<const uint16_t> ids,
                       std::span<const uint32_t> lengths) {
  head.objects = ids.size();
  head.lengths = lengths.size();
  p = PutRunHead(p, head);
  if (!ids.empty()) std::memcpy(p, ids.data(), ids.size_bytes());
  p += ids.size_bytes();
  if (!lengths.empty()) std::memcpy(p, lengths.data(), lengths.size_bytes());
  return p + lengths.size_bytes();
}

// False: the bytes end within the head, or a skipped run has objects. Does not check that the columns fit in
// the rest of the bytes.
inline bool ReadRunHead(WireReader& in, RunHead* head) {
  head->distance = in.Sv();
  const uint64_t objects = in.Uv();
  head->how = static_cast<How>(objects & 3);
  head->objects = objects >> 2;
  head->lengths = in.Uv();
  return in.ok() && (head->how != How::kSkipped || head->objects == 0);
}

// Reads the head and gives the start of the columns. False: the bytes end within the run, or a skipped run has
// objects.
inline bool ReadRun(WireReader& in, RunHead* head, const uint8_t** columns) {
  if (!ReadRunHead(in, head)) return false;
  // So that column_bytes() cannot overflow.
  if (head->how != How::kSkipped && (head->objects > in.remaining() || head->lengths > in.remaining()))
    return false;
  *columns = in.Take(head->column_bytes()).data();
  return in.ok();
}

// The objects of a run, from its columns.
class RunReader {
 public:
  // columns: ids, then lengths; head.column_bytes() in total.
  RunReader(const RunHead& head, const uint8_t* columns)
      : id_(columns),
        ids_end_(columns + head.objects * sizeof(uint16_t)),
        length_(ids_end_),
        lengths_end_(ids_end_ + head.lengths * sizeof(uint32_t)) {}

  struct Object {
    uint32_t site_class = 0;
    uint32_t length = 0;
    bool has_length = false;
  };

  bool AtEnd() const { return id_ == ids_end_; }
  // After the last object: whether all lengths were used, too.
  bool whole() const { return AtEnd() && length_ == lengths_end_; }

  // Must not be called at the end. False: there are fewer lengths than the ids require.
  bool Next(Object* object) {
    const uint16_t id = GetU16(id_);
    id_ += sizeof id;
    object->site_class = id & kSiteClassMask;
    object->has_length = (id & kHasLength) != 0;
    object->length = 0;
    if (object->site_class != 0 && !object->has_length) return true;
    if (object->site_class == 0 && !Length(&object->site_class)) return false;
    return !object->has_length || Length(&object->length);
  }

 private:
  bool Length(uint32_t* value) {
    if (length_ == lengths_end_) return false;
    *value = GetU32(length_);
    length_ += sizeof *value;
    return true;
  }

  const uint8_t* id_;
  const uint8_t* const ids_end_;
  const uint8_t* length_;
  const uint8_t* const lengths_end_;
};

}  // namespace anttracks::trace
