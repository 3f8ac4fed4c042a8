// SPDX-License-Identifier: Apache-2.0
#include "trace/segment_writer.h"

namespace anttracks::trace {
namespace {

void PutSpaces(ByteBuffer* out, std::span<const Space> spaces) {
  out->Uv(spaces.size());
  for (const Space& space : spaces) {
    out->Uv(static_cast<uint64_t>(space.kind));
    out->Uv(static_cast<uint64_t>(space.collected));
    out->Uv(space.bottom);
    out->Uv(space.top - space.bottom);
    out->Uv(space.end - space.bottom);
  }
}

}  // namespace

void AppendCollection(ByteBuffer* out, SegmentKind kind, const Collection& gc) {
  ByteBuffer payload;
  payload.Uv(gc.id);
  payload.Uv(static_cast<uint64_t>(gc.kind));
  payload.Str(gc.cause);
  payload.Uv(gc.time);
  PutSpaces(&payload, gc.spaces);
  AppendSegment(out, kind, 0, payload.span());
}

void AppendSyncBegin(ByteBuffer* out, SyncReason reason, uint64_t time, std::span<const Space> spaces) {
  ByteBuffer payload;
  payload.Uv(static_cast<uint64_t>(reason));
  payload.Uv(time);
  PutSpaces(&payload, spaces);
  AppendSegment(out, SegmentKind::kSyncBegin, 0, payload.span());
}

void AppendSyncEnd(ByteBuffer* out, uint64_t objects, uint64_t bytes) {
  ByteBuffer payload;
  payload.Uv(objects);
  payload.Uv(bytes);
  AppendSegment(out, SegmentKind::kSyncEnd, 0, payload.span());
}

void AppendSyncAbandoned(ByteBuffer* out, std::string_view reason) {
  ByteBuffer payload;
  payload.Str(reason);
  AppendSegment(out, SegmentKind::kSyncAbandoned, 0, payload.span());
}

void AppendClassUnload(ByteBuffer* out, uint64_t class_id) {
  ByteBuffer payload;
  payload.Uv(class_id);
  AppendSegment(out, SegmentKind::kClassUnload, 0, payload.span());
}

void AppendThreadEnd(ByteBuffer* out, uint64_t thread) {
  AppendSegment(out, SegmentKind::kThreadEnd, thread, {});
}

void AppendLoss(ByteBuffer* out, uint64_t time, uint64_t segments, uint64_t bytes, std::string_view reason) {
  ByteBuffer payload;
  payload.Uv(time);
  payload.Uv(segments);
  payload.Uv(bytes);
  payload.Str(reason);
  AppendSegment(out, SegmentKind::kLoss, 0, payload.span());
}

void AppendEnd(ByteBuffer* out, uint64_t time, std::string_view reason, std::string_view counters) {
  ByteBuffer payload;
  payload.Uv(time);
  payload.Str(reason);
  payload.Str(counters);
  AppendSegment(out, SegmentKind::kEnd, 0, payload.span());
}

}  // namespace anttracks::trace
