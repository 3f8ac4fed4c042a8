// SPDX-License-Identifier: Apache-2.0
#include "trace/census.h"

namespace anttracks::trace {

void AppendCensus(ByteBuffer* out, const CensusEvent& census) {
  ByteBuffer payload;
  payload.Uv(census.gc);
  payload.Uv(static_cast<uint64_t>(census.kind));
  payload.Uv(census.old_space ? 1 : 0);
  payload.Uv(census.time);
  payload.Uv(census.duration);
  payload.Uv(census.collections);
  payload.Uv(census.allocated_words);
  for (const uint64_t used : census.used_words) payload.Uv(used);
  payload.Uv(census.objects);
  payload.Uv(census.words);
  AppendSegment(out, SegmentKind::kCensus, 0, payload.span());
}

Status ReadCensus(std::span<const uint8_t> payload, CensusEvent* census) {
  WireReader in(payload);
  census->gc = in.Uv();
  const uint64_t kind = in.Uv();
  const uint64_t old_space = in.Uv();
  census->time = in.Uv();
  census->duration = in.Uv();
  census->collections = in.Uv();
  census->allocated_words = in.Uv();
  for (uint64_t& used : census->used_words) used = in.Uv();
  census->objects = in.Uv();
  census->words = in.Uv();
  if (!in.ok()) return Status::Error("CENSUS is cut short");
  if (kind >= kGcKinds || kind == static_cast<uint64_t>(GcKind::kUnknown) || old_space > 1)
    return Status::Error("CENSUS after a collection of unknown kind");
  census->kind = static_cast<GcKind>(kind);
  census->old_space = old_space == 1;
  return {};
}

}  // namespace anttracks::trace
