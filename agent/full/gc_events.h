// SPDX-License-Identifier: Apache-2.0
// What GC workers report during a collection: moves, slides (self-forwarded objects among them), fillers, and
// objects that were found in skipped ranges. Each worker has a stream of each.
//
// Thread safety: Moves, Slides and Fillers by GC workers, each with its own number; counts by any thread; the
// rest by the VM thread when no worker runs. Ownership: owns the streams; borrows the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/counter.h"
#include "agent/base/counters.h"
#include "agent/full/budget.h"
#include "agent/full/provenance.h"
#include "agent/full/skipped.h"
#include "agent/heap/object_reader.h"
#include "agent/stream/outlet.h"
#include "agent/stream/segment_stream.h"
#include "trace/gc_records.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct GcCounts {
  uint64_t moves = 0, slides = 0, fillers = 0, found = 0;
  uint64_t hook_ns = 0;  // time spent in Moves; measured only with a budget
};

class GcEvents {
 public:
  GcEvents(const AntTracksVM& vm, ObjectReader& reader, const Budget& budget, const Skipped& skipped,
           Provenance* provenance, const Outlet& outlet)
      : vm_(vm),
        reader_(reader),
        budget_(budget),
        skipped_(skipped),
        provenance_(provenance),
        outlet_(outlet) {}
  ~GcEvents();
  GcEvents(const GcEvents&) = delete;

  // Must be called before the first collection.
  void Begin(uint32_t workers) { workers_ = std::vector<Worker>(workers); }
  // wait: how long the reports of this collection together may wait for the writer.
  void CollectionBegins(std::chrono::milliseconds wait);
  void Moves(uint32_t worker, std::span<const AntTracksMove> moves);
  void Slides(uint32_t worker, std::span<const AntTracksSlide> slides);
  void Fillers(uint32_t worker, std::span<const AntTracksFiller> fillers);
  // When it returns everything is queued.
  void CollectionEnds();
  // Whether the current or the last collection reported slides; in a young one these are objects that were
  // self-forwarded.
  bool any_slides() const { return counts().slides != slides_before_; }

  GcCounts counts() const;
  void Count(CounterValues* values) const;

 private:
  struct alignas(64) Worker {
    GcStream<trace::MoveEncoder, trace::SegmentKind::kMoves> moves;
    GcStream<trace::SlideEncoder, trace::SegmentKind::kSlides> slides;
    GcStream<trace::FillerEncoder, trace::SegmentKind::kFillers> fillers;
    GcStream<trace::FoundEncoder, trace::SegmentKind::kFound> found;
    std::vector<AntTracksSlide> self_forwarded;  // found in skipped ranges; until the collection ends
    Counter move_count, slide_count, filler_count, found_count, hook_ns;
  };

  bool CheckWorker(uint32_t worker);
  bool Found(uint32_t worker, const AntTracksSlide& move, trace::Destination destination);
  void FoundInPlace();

  const AntTracksVM& vm_;
  ObjectReader& reader_;
  const Budget& budget_;
  const Skipped& skipped_;
  Provenance* const provenance_;  // nullptr: it is not kept
  const Outlet outlet_;
  std::vector<Worker> workers_;
  Staging staging_;
  WaitBudget wait_;
  uint64_t slides_before_ = 0;  // the collection that is under way
};

}  // namespace anttracks::core
