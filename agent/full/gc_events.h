// SPDX-License-Identifier: Apache-2.0
// What GC workers report of a collection: objects that move, stay, or are found in what was skipped, and
// fillers. Each worker has a stream of each.
//
// Thread safety: Moves, Slides and Fillers by GC workers, each with its own number; the rest in the VM thread
// when none runs, counts by any. Ownership: owns the streams; borrows the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/counter.h"
#include "agent/full/budget.h"
#include "agent/full/skipped.h"
#include "agent/heap/object_reader.h"
#include "agent/stream/outlet.h"
#include "agent/stream/segment_stream.h"
#include "trace/gc_records.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct GcCounts {
  uint64_t moves = 0, slides = 0, fillers = 0, found = 0;
  uint64_t hook_ns = 0;  // with a budget
};

class GcEvents {
 public:
  GcEvents(const AntTracksVM& vm, ObjectReader& reader, const Budget& budget, const Skipped& skipped,
           const Outlet& outlet)
      : vm_(vm), reader_(reader), budget_(budget), skipped_(skipped), outlet_(outlet) {}
  ~GcEvents();
  GcEvents(const GcEvents&) = delete;

  // Before the first collection.
  void Begin(uint32_t workers) { workers_ = std::vector<Worker>(workers); }
  // wait: how long all that is reported in the pause may wait for the writer; until its end.
  void CollectionBegins(std::chrono::milliseconds wait);
  void Moves(uint32_t worker, std::span<const AntTracksMove> moves);
  void Slides(uint32_t worker, std::span<const AntTracksSlide> slides);
  void Fillers(uint32_t worker, std::span<const AntTracksFiller> fillers);
  // Everything is queued at the return.
  void CollectionEnds();
  // Objects stayed where they were, in the collection that is under way or that was the last one.
  bool stayed() const { return counts().slides != slides_before_; }

  GcCounts counts() const;

 private:
  struct alignas(64) Worker {
    GcStream<trace::MoveEncoder, trace::SegmentKind::kMoves> moves;
    GcStream<trace::SlideEncoder, trace::SegmentKind::kSlides> slides;
    GcStream<trace::FillerEncoder, trace::SegmentKind::kFillers> fillers;
    GcStream<trace::FoundEncoder, trace::SegmentKind::kFound> found;
    std::vector<AntTracksSlide> stayed;  // in a young collection, where something was skipped
    Counter move_count, slide_count, filler_count, found_count, hook_ns;
  };

  bool CheckWorker(uint32_t worker);
  bool Found(uint32_t worker, const AntTracksSlide& move, bool old);
  void FoundInPlace();

  const AntTracksVM& vm_;
  ObjectReader& reader_;
  const Budget& budget_;
  const Skipped& skipped_;
  const Outlet outlet_;
  std::vector<Worker> workers_;
  Staging staging_;
  WaitBudget wait_;
  uint64_t slides_before_ = 0;  // the collection that is under way
};

}  // namespace anttracks::core
