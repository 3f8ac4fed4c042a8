// SPDX-License-Identifier: Apache-2.0
#include "trace/events.h"

#include "trace/fields.h"

namespace anttracks::trace {
namespace {

constexpr size_t kSpaceNumbers = 5;

void Put(ByteBuffer* out, std::span<const Space> spaces) {
  out->Uv(spaces.size());
  for (const Space& space : spaces) {
    out->Uv(static_cast<uint64_t>(space.kind));
    out->Uv(static_cast<uint64_t>(space.collected));
    out->Uv(space.bottom);
    out->Uv(space.top - space.bottom);
    out->Uv(space.end - space.bottom);
  }
}

Status ReadSpaces(WireReader& in, std::vector<Space>* spaces) {
  const uint64_t count = in.Uv();
  if (!in.ok() || count > in.remaining() / kSpaceNumbers) return Status::Error("list of spaces is cut short");
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t kind = in.Uv();
    const uint64_t collected = in.Uv();
    const uint64_t bottom = in.Uv();
    const uint64_t top = bottom + in.Uv();
    const uint64_t end = bottom + in.Uv();
    if (!in.ok()) return Status::Error("list of spaces is cut short");
    if (kind > static_cast<uint64_t>(SpaceKind::kArchive) ||
        collected > static_cast<uint64_t>(Collected::kOptional) || top < bottom || end < top) {
      return Status::Error("space of unknown kind or with top outside its bounds");
    }
    spaces->push_back({static_cast<SpaceKind>(kind), static_cast<Collected>(collected), bottom, top, end});
  }
  return {};
}

template <class... Fields>
void Append(ByteBuffer* out, SegmentKind kind, const Fields&... fields) {
  ByteBuffer payload;
  (Put(&payload, fields), ...);
  AppendSegment(out, kind, 0, payload.span());
}

template <class... Fields>
Status Read(std::span<const uint8_t> payload, SegmentKind kind, Fields*... fields) {
  WireReader in(payload);
  (Get(in, fields), ...);
  return in.ok() ? Status() : Status::Error(std::string(InfoOf(kind).name) + " is cut short");
}

}  // namespace

void AppendCollection(ByteBuffer* out, SegmentKind kind, const Collection& gc) {
  Append(out, kind, gc.id, static_cast<uint64_t>(gc.kind), gc.cause, gc.time, gc.spaces);
}
Status ReadCollection(std::span<const uint8_t> payload, GcEvent* gc) {
  WireReader in(payload);
  gc->id = in.Uv();
  const uint64_t kind = in.Uv();
  gc->cause = in.Str();
  gc->time = in.Uv();
  if (!in.ok() || kind >= kGcKinds) return Status::Error("collection event is cut short or of unknown kind");
  gc->kind = static_cast<GcKind>(kind);
  return ReadSpaces(in, &gc->spaces);
}

void AppendSyncBegin(ByteBuffer* out, SyncReason reason, uint64_t time, std::span<const Space> spaces) {
  Append(out, SegmentKind::kSyncBegin, static_cast<uint64_t>(reason), time, spaces);
}
Status ReadSyncBegin(std::span<const uint8_t> payload, SyncEvent* sync) {
  WireReader in(payload);
  const uint64_t reason = in.Uv();
  sync->time = in.Uv();
  if (!in.ok() || reason > static_cast<uint64_t>(SyncReason::kRotation)) {
    return Status::Error("SYNC_BEGIN is cut short or has an unknown reason");
  }
  sync->reason = static_cast<SyncReason>(reason);
  return ReadSpaces(in, &sync->spaces);
}

void AppendSyncEnd(ByteBuffer* out, uint64_t objects, uint64_t bytes) {
  Append(out, SegmentKind::kSyncEnd, objects, bytes);
}
Status ReadSyncEnd(std::span<const uint8_t> payload, SyncTotals* totals) {
  return Read(payload, SegmentKind::kSyncEnd, &totals->objects, &totals->bytes);
}

void AppendSyncAbandoned(ByteBuffer* out, std::string_view reason) {
  Append(out, SegmentKind::kSyncAbandoned, reason);
}
Status ReadSyncAbandoned(std::span<const uint8_t> payload, std::string* reason) {
  return Read(payload, SegmentKind::kSyncAbandoned, reason);
}

void AppendClassUnload(ByteBuffer* out, uint64_t class_id) { Append(out, SegmentKind::kClassUnload, class_id); }
Status ReadClassUnload(std::span<const uint8_t> payload, uint64_t* class_id) {
  return Read(payload, SegmentKind::kClassUnload, class_id);
}

void AppendThreadEnd(ByteBuffer* out, uint64_t thread) {
  AppendSegment(out, SegmentKind::kThreadEnd, thread, {});
}

void AppendLoss(ByteBuffer* out, uint64_t time, uint64_t segments, uint64_t bytes, std::string_view reason) {
  Append(out, SegmentKind::kLoss, time, segments, bytes, reason);
}
Status ReadLoss(std::span<const uint8_t> payload, LossEvent* loss) {
  return Read(payload, SegmentKind::kLoss, &loss->time, &loss->segments, &loss->bytes, &loss->reason);
}

void AppendEnd(ByteBuffer* out, uint64_t time, std::string_view reason, std::string_view counters) {
  Append(out, SegmentKind::kEnd, time, reason, counters);
}
Status ReadEnd(std::span<const uint8_t> payload, EndEvent* end) {
  return Read(payload, SegmentKind::kEnd, &end->time, &end->reason, &end->counters);
}

}  // namespace anttracks::trace
