// SPDX-License-Identifier: Apache-2.0
// Segments CENSUS_ROWS and CENSUS: how much of each site-class pair lay in the heap after a collection.
//
//     census = CENSUS_ROWS, any number of them; then CENSUS, which says of which moment they are
//
// Rows without a CENSUS after them are of a census that was not completed.
//
// Thread safety: none. Units: times are ns since the start of the trace, sizes are words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/segments.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct CensusRow {
  uint64_t site_class = 0, objects = 0, words = 0;
  bool operator==(const CensusRow&) const = default;
};

struct CensusEvent {
  uint64_t gc = 0;  // id of the collection after which it was
  GcKind kind = GcKind::kYoung;
  // A collection had looked into the old space: what lies there is known to be live, or nearly.
  bool old_space = false;
  uint64_t time = 0;         // when the collection ended
  uint64_t duration = 0;     // from then on until all was counted
  uint64_t collections = 0;  // that had ended while tracing, this one included
  // By the whole program, between the first collection that began while tracing and this one.
  uint64_t allocated_words = 0;
  std::array<uint64_t, kSpaceKinds> used_words{};  // by SpaceKind, after the collection
  uint64_t objects = 0, words = 0;                 // of all rows
  std::vector<CensusRow> rows;                     // by site_class; in the segments before
};

class CensusRowEncoder {
 public:
  // Rows must have growing numbers of pairs, and one object at least.
  void Row(const CensusRow& row) {
    payload_.Uv(row.site_class - (payload_.empty() ? 0 : last_));
    payload_.Uv(row.objects);
    payload_.Uv(row.words);
    last_ = row.site_class;
  }
  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    if (payload_.empty()) return;
    AppendSegment(out, SegmentKind::kCensusRows, 0, payload_.span());
    payload_.Clear();
  }

 private:
  ByteBuffer payload_;
  uint64_t last_ = 0;
};

class CensusRowReader {
 public:
  CensusRow row;

  // False: the bytes end too early, or a number is too long.
  bool Read(WireReader& in) {
    row.site_class += in.Uv();
    row.objects = in.Uv();
    row.words = in.Uv();
    return in.ok();
  }
};

// Without the rows.
void AppendCensus(ByteBuffer* out, const CensusEvent& census);
// Error: the payload ends too early, or a number has no meaning.
Status ReadCensus(std::span<const uint8_t> payload, CensusEvent* census);

}  // namespace anttracks::trace
