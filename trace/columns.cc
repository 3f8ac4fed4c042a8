// SPDX-License-Identifier: Apache-2.0
#include "trace/columns.h"

#include <algorithm>

#include "trace/format.h"
#include "trace/object_runs.h"
#include "trace/segments.h"

namespace anttracks::trace {
namespace {

// An object whose site-class pair has no room in its id is never foreseen.
constexpr uint64_t kNeverForeseen = uint64_t{1} << 63;

void Room(ByteBuffer* buffer, size_t bytes) {
  if (buffer->size() < bytes) buffer->Resize(bytes);
}

}  // namespace

std::array<std::span<const uint8_t>, ColumnSplitter::kParts> ColumnSplitter::parts() const {
  return {rest_.span(), bits_.span().first((objects_ + 7) / 8),
          ids_.span().first(missed_ids_ * sizeof(uint16_t)), lengths_.span().first(length_bytes_)};
}

bool ColumnSplitter::Split(std::span<const uint8_t> payload) {
  predictor_.Reset();
  rest_.Clear();
  objects_ = missed_ids_ = length_bytes_ = 0;
  // Each object takes two bytes of the payload; bits are written by words.
  Room(&bits_, payload.size() / 16 + 2 * sizeof(uint64_t));
  Room(&ids_, payload.size() + sizeof(uint16_t));
  Room(&missed_, payload.size() + sizeof(uint32_t));
  // A length takes four bytes of the payload, and at most five as a uv.
  Room(&lengths_, payload.size() + payload.size() / 4 + 1);
  SegmentReader segments(payload);
  Segment segment;
  for (size_t begin = 0; segments.Next(&segment); begin = segments.offset()) {
    if (!segment.info().has_runs()) {
      rest_.Append(payload.subspan(begin, segments.offset() - begin));
      continue;
    }
    WireReader in(segment.payload);
    SkipToRuns(segment.kind, in);
    rest_.Append(payload.subspan(begin, segment.offset + in.position() - begin));
    if (!Runs(in)) return false;
  }
  return objects_ != 0 && !segments.malformed();
}

bool ColumnSplitter::Runs(WireReader& in) {
  while (!in.AtEnd()) {
    const uint8_t* const begin = in.next();
    RunHead head;
    const uint8_t* ids = nullptr;
    if (!ReadRun(in, &head, &ids)) return false;
    rest_.Append({begin, ids});
    if (head.how == How::kSkipped) continue;
    size_t lengths = 0;
    for (size_t i = 0; i < head.objects; i++) lengths += LengthsOf(GetU16(ids + i * sizeof(uint16_t)));
    if (lengths != head.lengths) return false;
    Run(ids, head.objects, ids + head.objects * sizeof(uint16_t));
  }
  return in.ok();
}

// Without a branch on what an object is or whether it was foreseen. What changes with each object is in locals:
// stores of bytes may alias every member.
void ColumnSplitter::Run(const uint8_t* ids, size_t objects, const uint8_t* lengths) {
  Predictor::State state = predictor_.state();
  size_t number = objects_;
  uint8_t* const bits = bits_.data();
  uint8_t* missed_id = ids_.data() + missed_ids_ * sizeof(uint16_t);
  uint8_t* missed_length = missed_.data();
  while (objects != 0) {
    const size_t used = number % 64, here = std::min(objects, 64 - used);
    uint64_t word = 0;
    for (const uint8_t* const end = ids + here * sizeof(uint16_t); ids != end; ids += sizeof(uint16_t)) {
      const uint16_t id = GetU16(ids);
      const unsigned has_length = id >> 15;
      uint64_t object = id | kNeverForeseen;
      uint64_t missed = 1;
      if (IsWide(id)) [[unlikely]] {
        missed_length = PutU32(missed_length, GetU32(lengths));
        lengths += sizeof(uint32_t) * (1 + has_length);
        PutU32(missed_length, GetU32(lengths - sizeof(uint32_t)));
        missed_length += has_length * sizeof(uint32_t);
      } else {
        // Without a length this reads what was before, which is ids or their run's head at the latest.
        lengths += has_length * sizeof(uint32_t);
        const uint32_t length = GetU32(lengths - sizeof length) & (0 - has_length);
        object = id | uint64_t{length} << 16;
        missed = predictor_.Foreseen(state) != object;
        PutU32(missed_length, length);
        missed_length += (has_length & missed) * sizeof length;
      }
      predictor_.Came(state, object);
      PutU16(missed_id, id);
      missed_id += missed * sizeof id;
      word = word >> 1 | missed << 63;
    }
    word = ~word >> (64 - here);
    uint8_t* const at = bits + number / 64 * sizeof word;
    PutU64(at, word << used | (used == 0 ? 0 : GetU64(at)));
    number += here;
    objects -= here;
  }
  objects_ = number;
  predictor_.state() = state;
  missed_ids_ = static_cast<size_t>(missed_id - ids_.data()) / sizeof(uint16_t);
  uint8_t* packed = lengths_.data() + length_bytes_;
  for (const uint8_t* at = missed_.data(); at < missed_length; at += sizeof(uint32_t))
    packed = PutUv(packed, GetU32(at));
  length_bytes_ = static_cast<size_t>(packed - lengths_.data());
}

namespace {

// What has been joined so far, and the parts that are left.
struct Joining {
  WireReader rest;
  std::span<const uint8_t> bits;
  WireReader ids, lengths;
  uint8_t* out;
  size_t left;  // bytes at out
  uint64_t objects = 0;

  bool Copy(std::span<const uint8_t> bytes) {
    if (bytes.size() > left) return false;
    std::copy(bytes.begin(), bytes.end(), out);
    out += bytes.size();
    left -= bytes.size();
    return true;
  }
};

// False: the parts do not fit together.
bool JoinRun(Joining& j, Predictor& predictor, const RunHead& head) {
  if (head.how == How::kSkipped) return true;
  if (head.objects > j.left || head.lengths > j.left || head.column_bytes() > j.left) return false;
  if (head.objects > j.bits.size() * 8 - j.objects) return false;
  Predictor::State state = predictor.state();
  const uint8_t* const bits = j.bits.data();
  WireReader ids = j.ids;
  uint8_t* id_out = j.out;
  uint8_t* length_out = j.out + head.objects * sizeof(uint16_t);
  uint8_t* const end = j.out + head.column_bytes();
  for (uint64_t number = j.objects, last = j.objects + head.objects; number < last; number++) {
    uint64_t object;
    uint16_t id;
    if ((bits[number / 8] >> (number % 8) & 1) != 0) {
      object = predictor.Foreseen(state);
      id = static_cast<uint16_t>(object);
      if (IsWide(id)) return false;
      if ((id & kHasLength) != 0) {
        if (length_out == end) return false;
        length_out = PutU32(length_out, static_cast<uint32_t>(object >> 16));
      }
    } else {
      id = ids.U16();
      object = id;
      const size_t lengths = LengthsOf(id);
      if (!ids.ok() || lengths * sizeof(uint32_t) > static_cast<size_t>(end - length_out)) return false;
      for (size_t k = 0; k < lengths; k++) {
        const uint64_t length = j.lengths.Uv();
        if (!j.lengths.ok() || length > UINT32_MAX) return false;
        length_out = PutU32(length_out, static_cast<uint32_t>(length));
        object = id | length << 16;
      }
      if (IsWide(id)) object = id | kNeverForeseen;
    }
    id_out = PutU16(id_out, id);
    predictor.Came(state, object);
  }
  predictor.state() = state;
  j.ids = ids;
  j.objects += head.objects;
  j.left -= head.column_bytes();
  j.out = end;
  return length_out == end;
}

bool JoinRuns(Joining& j, Predictor& predictor, size_t left_after) {
  while (j.left > left_after) {
    const uint8_t* const begin = j.rest.next();
    RunHead head;
    if (!ReadRunHead(j.rest, &head) || !j.Copy({begin, j.rest.next()}) || !JoinRun(j, predictor, head))
      return false;
  }
  return j.left == left_after;
}

}  // namespace

Status ColumnJoiner::Join(const std::array<std::span<const uint8_t>, ColumnSplitter::kParts>& parts,
                          size_t raw_bytes, uint8_t* out) {
  const Status broken = Status::Error("columns of a chunk do not fit together");
  predictor_.Reset();
  Joining j{WireReader(parts[0]), parts[1], WireReader(parts[2]), WireReader(parts[3]), out, raw_bytes};
  while (!j.rest.AtEnd()) {
    const uint8_t* const begin = j.rest.next();
    SegmentHead head;
    if (!ReadSegmentHead(j.rest, &head) || !j.Copy({begin, j.rest.next()}) || head.length > j.left)
      return broken;
    if (!InfoOf(head.kind).has_runs()) {
      if (!j.Copy(j.rest.Take(head.length)) || !j.rest.ok()) return broken;
      continue;
    }
    const size_t left_after = j.left - head.length;
    const uint8_t* const before_runs = j.rest.next();
    SkipToRuns(head.kind, j.rest);
    if (!j.rest.ok() || !j.Copy({before_runs, j.rest.next()}) || j.left < left_after) return broken;
    if (!JoinRuns(j, predictor_, left_after)) return broken;
  }
  const bool all = j.left == 0 && j.ids.AtEnd() && j.lengths.AtEnd() && (j.objects + 7) / 8 == j.bits.size();
  return all ? Status() : broken;
}

}  // namespace anttracks::trace
