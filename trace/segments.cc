// SPDX-License-Identifier: Apache-2.0
#include "trace/segments.h"

namespace anttracks::trace {

void AppendSegment(ByteBuffer* out, SegmentKind kind, uint64_t stream, std::span<const uint8_t> payload) {
  uint8_t header[kMaxSegmentHeaderBytes];
  const uint8_t* end = PutSegmentHeader(header, kind, stream, payload.size());
  out->Append({header, static_cast<size_t>(end - header)});
  out->Append(payload);
}

bool SegmentReader::Next(Segment* segment) {
  if (malformed_ || offset_ == payload_.size()) return false;
  WireReader in(payload_.subspan(offset_));
  SegmentHead head;
  malformed_ = !ReadSegmentHead(in, &head) || head.length > in.remaining();
  if (malformed_) return false;
  *segment = {head.kind, head.stream, offset_ + in.position(), in.Take(head.length)};
  offset_ += in.position();
  return true;
}

}  // namespace anttracks::trace
