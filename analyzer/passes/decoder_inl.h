// SPDX-License-Identifier: Apache-2.0
// Implementation of decoder.h; include that.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

namespace anttracks::analyzer {

template <class Sink>
void Decoder<Sink>::Segment(const trace::Segment& segment, const Position& position) {
  base_ = position.payload;
  position_ = position;
  sink_->Sink::set_position(position_);
  if (ended_) {
    problems_->Add(ProblemKind::kOrder, position_, "{} after the end of the trace", segment.label());
    return;
  }
  if (!FitsMode(segment)) return;
  if (must_sync_) CheckFirstEvent(segment);
  Dispatch(segment);
}

template <class Sink>
void Decoder<Sink>::Dispatch(const trace::Segment& segment) {
  using trace::SegmentKind;
  switch (segment.info().kind) {
    case SegmentKind::kUnknown:
      unknown_segments_++;
      return;
    case SegmentKind::kAlloc:
      return Alloc(segment);
    case SegmentKind::kMoves:
      return Moves(segment);
    case SegmentKind::kSlides:
      return Slides(segment);
    case SegmentKind::kFillers:
      return Fillers(segment);
    case SegmentKind::kGcBegin:
      return Gc(segment, Boundary::kBegin);
    case SegmentKind::kGcEnd:
      return Gc(segment, Boundary::kEnd);
    case SegmentKind::kSyncBegin:
      return SyncBegin(segment);
    case SegmentKind::kSyncObjects:
      return SyncObjects(segment);
    case SegmentKind::kSyncEnd:
      return SyncEnd(segment);
    case SegmentKind::kSyncAbandoned:
      return SyncAbandoned(segment);
    case SegmentKind::kClassUnload:
      return ClassUnload(segment);
    case SegmentKind::kThreadEnd:
      return;
    case SegmentKind::kDefinitions:
      definitions_->Read(segment.payload, position_);
      return;
    case SegmentKind::kLoss:
      return Loss(segment);
    case SegmentKind::kEnd:
      return End(segment);
    case SegmentKind::kProvenance:
      return ProvenanceRuns(segment);
    case SegmentKind::kSamples:
      return Samples(segment);
    case SegmentKind::kSampleDeaths:
      return SampleDeaths(segment);
    case SegmentKind::kFound:
      return Found(segment);
    case SegmentKind::kStacks:
      return Stacks(segment);
    case SegmentKind::kCensusRows:
      return CensusRows(segment);
    case SegmentKind::kCensus:
      return Census(segment);
  }
}

// Samples, censuses and every object do not go together.
template <class Sink>
bool Decoder<Sink>::FitsMode(const trace::Segment& segment) {
  if (trace::Among(segment.info().traces, mode_)) return true;
  problems_->Add(ProblemKind::kOrder, position_, "{} in a trace of {}", segment.label(),
                 mode_ == trace::Traces::kSampled  ? "samples"
                 : mode_ == trace::Traces::kCensus ? "censuses"
                                                   : "every object");
  return false;
}

// In a data file that is not the first one of its trace, only a LOSS may precede the sync point.
template <class Sink>
void Decoder<Sink>::CheckFirstEvent(const trace::Segment& segment) {
  if (!segment.info().is_event()) return;
  must_sync_ = false;
  if (segment.info().kind == trace::SegmentKind::kSyncBegin) return;
  problems_->Add(ProblemKind::kOrder, position_, "the file begins with {} instead of SYNC_BEGIN",
                 segment.label());
  Gap();
}

template <class Sink>
uint32_t Decoder<Sink>::WordsOf(uint64_t word, uint64_t site_class, uint64_t length, uint32_t* shape) {
  if (length == 0) [[likely]] {
    const Definitions::PlainShape plain = definitions_->Plain(site_class);
    if (plain.words != 0 && word >= heap_start_ && word < heap_end_ && plain.words <= heap_end_ - word)
        [[likely]] {
      *shape = plain.shape;
      return plain.words;
    }
  }
  if (definitions_->FindShape(site_class, length, shape) != ShapeError::kNone) return 0;
  const uint32_t words = definitions_->shapes().words(*shape);
  return word < heap_start_ || word >= heap_end_ || words > heap_end_ - word ? 0 : words;
}

template <class Sink>
void Decoder<Sink>::Impossible(uint64_t word, uint64_t site_class, uint64_t length) {
  uint32_t shape = 0;
  switch (definitions_->FindShape(site_class, length, &shape)) {
    case ShapeError::kNone:
      return problems_->Add(ProblemKind::kOutsideHeap, position_,
                            "object at {:#x} with {} words is outside the heap", InBytes(word),
                            definitions_->shapes().words(shape));
    case ShapeError::kUndefinedSiteClass:
      problems_->Add(ProblemKind::kUndefined, position_, "object of site-class pair {}, which is not defined",
                     site_class);
      return;
    case ShapeError::kUnloadedClass:
      problems_->Add(ProblemKind::kUnloaded, position_,
                     "new object of site-class pair {}, whose class was unloaded", site_class);
      return;
    case ShapeError::kBadLength:
    case ShapeError::kBadSize:
      problems_->Add(ProblemKind::kSize, position_,
                     "object of site-class pair {} ({}) cannot have the length {}", site_class,
                     definitions_->class_info(definitions_->site_class(site_class).class_id).name, length);
  }
}

template <class Sink>
uint32_t Decoder<Sink>::One(uint64_t word, uint64_t site_class, uint64_t length, uint32_t* shape) {
  const uint32_t words = WordsOf(word, site_class, length, shape);
  if (words == 0) Impossible(word, site_class, length);
  return words;
}

// begin(head, word) says whether the run's objects follow; emit(neighbours).
template <class Sink>
template <class Begin, class Emit>
void Decoder<Sink>::Runs(trace::WireReader& in, Begin begin, Emit emit) {
  const uint64_t base = base_;
  uint64_t word = 0;
  while (!in.AtEnd()) {
    position_.payload = base + in.position();
    sink_->Sink::set_position(position_);
    trace::RunHead head;
    const uint8_t* columns = nullptr;
    if (!trace::ReadRun(in, &head, &columns)) {
      Malformed("head of a run of objects is cut short, or the run reaches beyond its segment");
      return;
    }
    word += static_cast<uint64_t>(head.distance);
    if (!begin(head, word)) return;
    if (head.how == trace::How::kSkipped) {
      word += head.lengths;
      continue;
    }
    if (!Run(head, columns, &word, emit)) return;
  }
}

// False: the places of the following objects are not known.
template <class Sink>
template <class Emit>
bool Decoder<Sink>::Run(const trace::RunHead& head, const uint8_t* columns, uint64_t* word, Emit emit) {
  trace::RunReader run(head, columns);
  trace::RunReader::Object object;
  std::array<uint32_t, Neighbours::kMost> shapes, words;
  uint64_t at = *word;
  const auto malformed = [this] {
    return Malformed("ids and lengths of a run of objects do not fit together");
  };
  while (!run.AtEnd()) {
    const uint64_t first = at;
    size_t count = 0;
    bool fits = true, possible = true;
    for (; count < words.size() && !run.AtEnd(); count++) {
      fits = run.Next(&object);
      if (!fits) break;
      words[count] = WordsOf(at, object.site_class, object.length, &shapes[count]);
      possible = words[count] != 0;
      if (!possible) break;
      at += words[count];
    }
    if (count != 0) emit(Neighbours{first, at, {shapes.data(), count}, {words.data(), count}, head.how});
    if (!fits) return malformed();
    if (!possible) {
      Impossible(at, object.site_class, object.length);
      return false;
    }
  }
  *word = at;
  return run.whole() || malformed();
}

template <class Sink>
void Decoder<Sink>::Alloc(const trace::Segment& segment) {
  if constexpr (!kNeedsObjects<Sink>) return;
  trace::WireReader in(segment.payload);
  trace::AllocHead alloc;
  if (!trace::ReadAllocHead(in, &alloc)) {
    Malformed("head of an ALLOC segment is cut short, or has an impossible share");
    return;
  }
  Time(alloc.time);
  if (in_gc_) OutOfPlace("ALLOC within a collection");
  sink_->Sink::AllocBegin(segment.stream, alloc.time, alloc.share);
  const auto begin = [&](const trace::RunHead& head, uint64_t word) {
    sink_->Sink::RunBegin(head.how);
    if (head.how != trace::How::kSkipped) return true;
    if (word < heap_start_ || word >= heap_end_ || head.lengths > heap_end_ - word || head.lengths == 0) {
      problems_->Add(ProblemKind::kOutsideHeap, position_,
                     "skipped stretch at {:#x} with {} words is outside the heap, or has none", InBytes(word),
                     head.lengths);
      return false;
    }
    sink_->Sink::Skipped(word, head.lengths);
    return true;
  };
  Runs(in, begin, [this](const Neighbours& objects) { sink_->Sink::Objects(objects); });
}

template <class Sink>
void Decoder<Sink>::SyncObjects(const trace::Segment& segment) {
  if (!InSync(segment, "outside a sync point")) return;
  if constexpr (!kNeedsObjects<Sink>) return;
  trace::WireReader in(segment.payload);
  const auto begin = [this](const trace::RunHead& head, uint64_t) {
    return head.how != trace::How::kSkipped || Malformed("skipped stretch in a sync point");
  };
  Runs(in, begin, [&](const Neighbours& objects) {
    uint64_t word = objects.word;
    for (size_t i = 0; i < objects.shapes.size(); i++) {
      sink_->Sink::SyncObject(segment.stream, word, objects.shapes[i]);
      word += objects.words[i];
    }
  });
}

// Records to the end; take(reader) says whether it is known where the next one begins.
template <class Sink>
template <class Reader, class Take>
void Decoder<Sink>::Records(trace::WireReader in, Reader reader, std::string_view what, Take take) {
  while (!in.AtEnd()) {
    At(in);
    if (!reader.Read(in)) break;
    if (!take(reader)) return;
  }
  if (!in.ok()) Malformed("{} is cut short or overlong", what);
}

template <class Sink>
void Decoder<Sink>::Moves(const trace::Segment& segment) {
  if (!InGc(segment)) return;
  if constexpr (!kNeedsHeap<Sink>) return;
  trace::WireReader in(segment.payload);
  Records(in, trace::MoveReader(), "move", [this](trace::MoveReader& move) {
    const uint32_t words = sink_->Sink::Move(move.from, move.to);
    move.EndsAfter(words);
    return words != 0;
  });
}

template <class Sink>
void Decoder<Sink>::Found(const trace::Segment& segment) {
  if (!InGc(segment)) return;
  if constexpr (!kNeedsObjects<Sink>) return;
  trace::WireReader in(segment.payload);
  Records(in, trace::FoundReader(), "found object", [this](trace::FoundReader& found) {
    uint32_t shape = 0;
    const uint32_t words = One(found.to, found.site_class, found.length, &shape);
    found.EndsAfter(words);
    return words != 0 && sink_->Sink::Found(found.from, found.to, shape);
  });
}

template <class Sink>
void Decoder<Sink>::Slides(const trace::Segment& segment) {
  if (!InGc(segment)) return;
  if constexpr (!kNeedsHeap<Sink>) return;
  trace::WireReader in(segment.payload);
  Records(in, trace::SlideReader(), "slide", [this](trace::SlideReader& slide) {
    if (slide.count > trace::kMaxRunObjects) return Malformed("slide of more objects than a run may have");
    for (uint64_t i = 0; i < slide.count; i++) {
      const uint32_t words = sink_->Sink::Slide(slide.from, slide.to);
      if (words == 0) return false;
      slide.EndsAfter(words);
    }
    return true;
  });
}

template <class Sink>
void Decoder<Sink>::Fillers(const trace::Segment& segment) {
  if (!InGc(segment)) return;
  if constexpr (!kNeedsObjects<Sink>) return;
  trace::WireReader in(segment.payload);
  Records(in, trace::FillerReader(), "filler", [this](trace::FillerReader& filler) {
    uint32_t shape = 0;
    const uint32_t words = One(filler.at, filler.site_class, filler.length, &shape);
    if (words == 0) return false;
    sink_->Sink::Filler(filler.at, shape);
    filler.EndsAfter(words);
    return true;
  });
}

// No object lies in two spaces, nor outside the heap.
template <class Sink>
bool Decoder<Sink>::SpacesFit(std::vector<Space> spaces) {
  std::erase_if(spaces, [](const Space& space) { return space.end == space.bottom; });
  std::sort(spaces.begin(), spaces.end(), [](const Space& a, const Space& b) { return a.bottom < b.bottom; });
  uint64_t end = heap_start_;
  for (const Space& space : spaces) {
    if (space.bottom < end || space.end > heap_end_) {
      problems_->Add(
          ProblemKind::kOutsideSpace, position_, "space at {:#x} {}", InBytes(space.bottom),
          space.bottom < end && end != heap_start_ ? "overlaps another one" : "reaches beyond the heap");
      return false;
    }
    end = space.end;
  }
  return true;
}

template <class Sink>
void Decoder<Sink>::Gc(const trace::Segment& segment, Boundary boundary) {
  const bool begin = boundary == Boundary::kBegin;
  GcEvent event;
  if (!IsRead(trace::ReadCollection(segment.payload, &event))) return;
  event.cause = CutText(event.cause);
  if ((event.kind == GcKind::kUnknown) != (mode_ == trace::Traces::kSampled)) {
    Malformed("collection event is cut short or of unknown kind");
    return;
  }
  if (!SpacesFit(event.spaces)) return;
  Time(event.time);
  if (begin == in_gc_) {
    OutOfPlace("{} of collection {} {}", begin ? "GC_BEGIN" : "GC_END", event.id,
               begin ? "within another collection" : "without a GC_BEGIN");
    if (!begin) return;
  }
  if (begin && in_sync_ && event.kind == GcKind::kFull) {
    problems_->Add(ProblemKind::kOrder, position_, "collection {} within a sync point", event.id);
  }
  in_gc_ = begin;
  if (begin) {
    sink_->Sink::GcBegin(event);
  } else {
    sink_->Sink::GcEnd(event);
  }
}

template <class Sink>
void Decoder<Sink>::SyncBegin(const trace::Segment& segment) {
  SyncEvent event;
  if (!IsRead(trace::ReadSyncBegin(segment.payload, &event)) || !SpacesFit(event.spaces)) return;
  Time(event.time);
  if ((in_gc_ || in_sync_) && !after_gap_) {
    problems_->Add(ProblemKind::kOrder, position_, "SYNC_BEGIN within a {}",
                   in_gc_ ? "collection" : "sync point");
  }
  in_gc_ = false;
  after_gap_ = false;
  in_sync_ = true;
  sink_->Sink::SyncBegin(event);
}

template <class Sink>
void Decoder<Sink>::SyncEnd(const trace::Segment& segment) {
  trace::SyncTotals totals;
  if (!IsRead(trace::ReadSyncEnd(segment.payload, &totals))) return;
  if (!InSync(segment, "without a SYNC_BEGIN")) return;
  in_sync_ = false;
  sink_->Sink::SyncEnd(totals.objects, totals.bytes);
}

template <class Sink>
void Decoder<Sink>::SyncAbandoned(const trace::Segment& segment) {
  std::string reason;
  if (!IsRead(trace::ReadSyncAbandoned(segment.payload, &reason))) return;
  if (!InSync(segment, "without a SYNC_BEGIN")) return;
  in_sync_ = false;
  sink_->Sink::SyncAbandoned(reason);
}

template <class Sink>
void Decoder<Sink>::ProvenanceRuns(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  Records(in, trace::ProvenanceReader(), "provenance", [this](const trace::ProvenanceReader& provenance) {
    if (provenance.run.age > trace::kMaxAge) return Malformed("provenance of an impossible age");
    if (!sink_->Sink::SavedProvenance(provenance.run)) Malformed("provenance is not in the order of addresses");
    return true;
  });
}

template <class Sink>
void Decoder<Sink>::ClassUnload(const trace::Segment& segment) {
  uint64_t id = 0;
  if (!IsRead(trace::ReadClassUnload(segment.payload, &id))) return;
  if (!definitions_->Unload(id)) {
    problems_->Add(ProblemKind::kUndefined, position_, "class {} is unloaded but is not loaded", id);
    return;
  }
  sink_->Sink::ClassUnload(id);
}

// Whether the row can be true, whatever the others say.
template <class Sink>
bool Decoder<Sink>::CheckRow(const trace::CensusRow& row) {
  if (!census_rows_.empty() && row.site_class <= census_rows_.back().site_class)
    return Malformed("rows of a census are not in the order of their site-class pairs");
  if (row.objects == 0 || row.words < row.objects || row.words > heap_end_ - heap_start_)
    return Malformed("a census has {} objects with {} words of one pair", row.objects, row.words);
  if (definitions_->site_class(row.site_class).defined) return true;
  problems_->Add(ProblemKind::kUndefined, position_, "census of site-class pair {}, which is not defined",
                 row.site_class);
  return false;
}

template <class Sink>
void Decoder<Sink>::CensusRows(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  Records(in, trace::CensusRowReader(), "row of a census", [this](const trace::CensusRowReader& reader) {
    const bool good = CheckRow(reader.row);
    if (good) census_rows_.push_back(reader.row);
    return good;
  });
}

// A census whose rows do not add up is left out.
template <class Sink>
void Decoder<Sink>::Census(const trace::Segment& segment) {
  CensusEvent event;
  event.rows.swap(census_rows_);
  const bool after_gap = std::exchange(after_gap_, false);
  if (!IsRead(trace::ReadCensus(segment.payload, &event))) return;
  Time(event.time);
  uint64_t objects = 0, words = 0;
  for (const trace::CensusRow& row : event.rows) {
    objects += row.objects;
    words += row.words;
  }
  if (objects == event.objects && words == event.words) return sink_->Sink::Census(event);
  if (after_gap) return;
  problems_->Add(ProblemKind::kTotals, position_,
                 "census after GC {} has {} objects with {} words, its rows {} with {}", event.gc,
                 event.objects, event.words, objects, words);
}

template <class Sink>
void Decoder<Sink>::Stacks(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  trace::StackReader head;
  if (head.ReadHead(in) && (head.event.interval == 0 || head.event.interval > UINT32_MAX)) {
    Malformed("stacks of an impossible interval");
    return;
  }
  if (in_gc_) OutOfPlace("STACKS within a collection");
  Time(head.event.time);
  Records(in, head, "stack", [this](const trace::StackReader& reader) {
    if (reader.event.points == 0 || reader.event.points > UINT32_MAX)
      return Malformed("stack of an object with an impossible number of sample points");
    if (!definitions_->thread(reader.event.thread).defined) {
      problems_->Add(ProblemKind::kUndefined, position_, "stack of thread {}, which is not defined",
                     reader.event.thread);
    }
    if (definitions_->stack(reader.event.stack).defined) {
      sink_->Sink::Stack(reader.event);
    } else {
      problems_->Add(ProblemKind::kUndefined, position_, "stack {}, which is not defined", reader.event.stack);
    }
    return true;
  });
}

template <class Sink>
void Decoder<Sink>::Samples(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  trace::SampleReader head;
  if (head.ReadHead(in) && head.sample.interval > UINT32_MAX) {
    Malformed("samples of an impossible interval");
    return;
  }
  Records(in, head, "sample", [this](const trace::SampleReader& reader) {
    Time(reader.sample.time);
    sink_->Sink::Sample(reader.sample);
    return true;
  });
}

template <class Sink>
void Decoder<Sink>::SampleDeaths(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  trace::SampleDeathReader head;
  head.ReadHead(in);
  Records(in, head, "death of a sample", [this](const trace::SampleDeathReader& death) {
    sink_->Sink::SampleDied(death.number, death.collections);
    return true;
  });
}

template <class Sink>
void Decoder<Sink>::Loss(const trace::Segment& segment) {
  LossEvent event;
  if (!IsRead(trace::ReadLoss(segment.payload, &event))) return;
  event.reason = CutText(event.reason);
  Time(event.time);
  after_gap_ = true;
  if (mode_ != trace::Traces::kCensus) {
    problems_->Add(ProblemKind::kLoss, position_, "{} segments with {} bytes lost: {}", event.segments,
                   event.bytes, event.reason);
  }
  sink_->Sink::Loss(event);
}

template <class Sink>
void Decoder<Sink>::End(const trace::Segment& segment) {
  EndEvent event;
  if (!IsRead(trace::ReadEnd(segment.payload, &event))) return;
  // The program may end while the old space is still being listed, or while it is sampled in a pause.
  if (!after_gap_ && mode_ != trace::Traces::kSampled && in_gc_)
    problems_->Add(ProblemKind::kOrder, position_, "END within a collection");
  Time(event.time);
  ended_ = true;
  sink_->Sink::End(event);
}

}  // namespace anttracks::analyzer
