// SPDX-License-Identifier: Apache-2.0
// Implementation of decoder.h; include that.
#pragma once

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {

template <class Sink>
void Decoder<Sink>::Segment(const trace::Segment& segment, const Position& position) {
  using trace::SegmentKind;
  base_ = position.payload;
  position_ = position;
  sink_->set_position(position_);
  if (ended_) {
    problems_->Add(ProblemKind::kOrder, position_, "segment of kind {} behind the end of the trace",
                   static_cast<int>(segment.kind));
    return;
  }
  if (!FitsMode(segment)) return;
  if (must_sync_) CheckFirstEvent(segment);
  switch (segment.info().kind) {
    case SegmentKind::kUnknown: unknown_segments_++; return;
    case SegmentKind::kAlloc: return Alloc(segment);
    case SegmentKind::kMoves: return Moves(segment);
    case SegmentKind::kSlides: return Slides(segment);
    case SegmentKind::kFillers: return Fillers(segment);
    case SegmentKind::kGcBegin: return Gc(segment, true);
    case SegmentKind::kGcEnd: return Gc(segment, false);
    case SegmentKind::kSyncBegin: return SyncBegin(segment);
    case SegmentKind::kSyncObjects: return SyncObjects(segment);
    case SegmentKind::kSyncEnd: return SyncEnd(segment);
    case SegmentKind::kSyncAbandoned: return SyncAbandoned(segment);
    case SegmentKind::kClassUnload: return ClassUnload(segment);
    case SegmentKind::kThreadEnd: return;
    case SegmentKind::kSymbols: symbols_->Read(segment.payload, position_); return;
    case SegmentKind::kLoss: return Loss(segment);
    case SegmentKind::kEnd: return End(segment);
    case SegmentKind::kOrigins: return Origins(segment);
    case SegmentKind::kSamples: return Samples(segment);
    case SegmentKind::kSampleDeaths: return SampleDeaths(segment);
    case SegmentKind::kFound: return Found(segment);
  }
}

// Samples and every object do not go together.
template <class Sink>
bool Decoder<Sink>::FitsMode(const trace::Segment& segment) {
  if (segment.info().traces != (sampled_ ? trace::Traces::kFull : trace::Traces::kSampled)) return true;
  problems_->Add(ProblemKind::kOrder, position_, "segment of kind {} in a trace {} samples", static_cast<int>(segment.kind),
                 sampled_ ? "of" : "without");
  return false;
}

// Of a data file that is not the first one of its trace: only a LOSS may precede the sync point.
template <class Sink>
void Decoder<Sink>::CheckFirstEvent(const trace::Segment& segment) {
  if (!segment.info().event) return;
  must_sync_ = false;
  if (segment.info().kind == trace::SegmentKind::kSyncBegin) return;
  problems_->Add(ProblemKind::kOrder, position_, "the file begins with a segment of kind {} instead of a SYNC_BEGIN",
                 static_cast<int>(segment.kind));
  Gap();
}

// Its size in words; 0: there can be no such object there.
template <class Sink>
uint32_t Decoder<Sink>::One(uint64_t word, uint64_t kind, uint64_t length, uint32_t* shape) {
  if (length == 0) [[likely]] {
    const Symbols::PlainShape plain = symbols_->Plain(kind);
    if (plain.words != 0 && word >= heap_start_ && word < heap_end_ && plain.words <= heap_end_ - word) [[likely]] {
      *shape = plain.shape;
      return plain.words;
    }
  }
  return OneSlow(word, kind, length, shape);
}

template <class Sink>
uint32_t Decoder<Sink>::OneSlow(uint64_t word, uint64_t kind, uint64_t length, uint32_t* shape) {
  const ShapeError error = symbols_->FindShape(kind, length, shape);
  switch (error) {
    case ShapeError::kNone: break;
    case ShapeError::kUndefinedKind:
      problems_->Add(ProblemKind::kUndefined, position_, "object of kind {}, which is not defined", kind);
      return 0;
    case ShapeError::kUnloadedClass:
      problems_->Add(ProblemKind::kUnloaded, position_, "new object of kind {}, whose class was unloaded",
                     kind);
      return 0;
    case ShapeError::kBadLength:
    case ShapeError::kBadSize:
      problems_->Add(ProblemKind::kSize, position_, "object of kind {} ({}) cannot have the length {}", kind,
                     symbols_->class_info(symbols_->kind(kind).class_id).name, length);
      return 0;
  }
  const uint32_t words = symbols_->shapes().words(*shape);
  if (word < heap_start_ || word >= heap_end_ || words > heap_end_ - word) {
    problems_->Add(ProblemKind::kOutsideHeap, position_, "object at {:#x} with {} words is outside the heap", word * 8,
                   words);
    return 0;
  }
  return words;
}

// begin(head, word) says whether the run's objects follow; emit(word, shape, how).
template <class Sink>
template <class Begin, class Emit>
void Decoder<Sink>::Runs(trace::WireReader& in, Begin&& begin, Emit&& emit) {
  const uint64_t base = base_;
  uint64_t word = 0;
  while (!in.AtEnd()) {
    position_.payload = base + in.position();
    sink_->set_position(position_);
    trace::RunHead head;
    const bool read = trace::ReadRunHead(in, &head);
    const bool skipped = head.how == trace::How::kSkipped;
    if (!read || head.objects > in.remaining() || (!skipped && head.lengths > in.remaining())) {
      Malformed("head of a run of objects is cut short, or the run reaches beyond its segment");
      return;
    }
    const std::span<const uint8_t> columns = in.Take(head.column_bytes());
    if (!in.ok()) {
      Malformed("run of objects reaches beyond its segment");
      return;
    }
    word += static_cast<uint64_t>(head.distance);
    if (!begin(head, word)) return;
    if (skipped) {
      word += head.lengths;
      continue;
    }
    if (!Run(head, columns, &word, emit)) return;
  }
}

// False: it is not known where the objects behind it lie.
template <class Sink>
template <class Emit>
bool Decoder<Sink>::Run(const trace::RunHead& head, std::span<const uint8_t> columns, uint64_t* word, Emit&& emit) {
  trace::RunReader run(head, columns.data());
  trace::RunReader::Object object;
  uint32_t shape = 0;
  while (!run.AtEnd()) {
    if (!run.Next(&object)) return Malformed("ids and lengths of a run of objects do not fit together");
    const uint32_t words = One(*word, object.kind, object.length, &shape);
    if (words == 0) return false;
    emit(*word, shape, head.how);
    *word += words;
  }
  return run.whole() || Malformed("ids and lengths of a run of objects do not fit together");
}

template <class Sink>
void Decoder<Sink>::Alloc(const trace::Segment& segment) {
  if constexpr (!Sink::kNeedsObjects) return;
  trace::WireReader in(segment.payload);
  const uint64_t time = in.Uv();
  const uint64_t share = in.Uv();
  if (!in.ok() || share >= trace::kWholeShare) {
    Malformed("head of an ALLOC segment is cut short, or has an impossible share");
    return;
  }
  Time(time);
  if (in_gc_) problems_->Add(ProblemKind::kOrder, position_, "ALLOC within a collection");
  sink_->AllocBegin(segment.stream, time, share == 0 ? trace::kWholeShare : static_cast<uint32_t>(share));
  const auto begin = [&](const trace::RunHead& head, uint64_t word) {
    sink_->RunBegin(head.how);
    if (head.how != trace::How::kSkipped) return true;
    if (word < heap_start_ || word >= heap_end_ || head.lengths > heap_end_ - word || head.lengths == 0) {
      problems_->Add(ProblemKind::kOutsideHeap, position_, "skipped stretch at {:#x} with {} words is outside the heap, or has none",
                     word * 8, head.lengths);
      return false;
    }
    sink_->Skipped(word, head.lengths);
    return true;
  };
  Runs(in, begin, [&](uint64_t word, uint32_t shape, trace::How how) { sink_->Object(word, shape, how); });
}

template <class Sink>
void Decoder<Sink>::SyncObjects(const trace::Segment& segment) {
  if (!in_sync_) {
    problems_->Add(ProblemKind::kOrder, position_, "SYNC_OBJECTS outside a sync point");
    return;
  }
  if constexpr (!Sink::kNeedsObjects) return;
  if (!sink_->WantsSpace(segment.stream)) return;
  trace::WireReader in(segment.payload);
  const auto begin = [this](const trace::RunHead& head, uint64_t) {
    return head.how != trace::How::kSkipped || Malformed("skipped stretch in a sync point");
  };
  Runs(in, begin, [&](uint64_t word, uint32_t shape, trace::How) { sink_->SyncObject(segment.stream, word, shape); });
}

template <class Sink>
bool Decoder<Sink>::MoveState::Read(trace::WireReader& in) {
  const uint64_t v = in.Uv();
  lab = v & 1;
  from = from_end + static_cast<uint64_t>(trace::Unzigzag(v >> 2));
  to = to_end[lab];
  if (v & 2) to += static_cast<uint64_t>(in.Sv());
  return in.ok();
}

template <class Sink>
void Decoder<Sink>::Moves(const trace::Segment& segment) {
  if (!InGc("MOVES")) return;
  if constexpr (Sink::kNeedsHeap) {
    trace::WireReader in(segment.payload);
    MoveState move;
    while (!in.AtEnd()) {
      At(in);
      if (!move.Read(in)) {
        Malformed("move is cut short or overlong");
        return;
      }
      const uint32_t words = sink_->Move(move.from, move.to);
      if (words == 0) return;
      move.Moved(words);
    }
  }
}

template <class Sink>
void Decoder<Sink>::Found(const trace::Segment& segment) {
  if (!InGc("FOUND")) return;
  if constexpr (!Sink::kNeedsObjects) return;
  trace::WireReader in(segment.payload);
  MoveState move;
  while (!in.AtEnd()) {
    At(in);
    const bool read = move.Read(in);
    const uint64_t kind = in.Uv();
    const uint64_t length = in.Uv();
    if (!read || !in.ok()) {
      Malformed("found object is cut short or overlong");
      return;
    }
    uint32_t shape = 0;
    const uint32_t words = One(move.to, kind, length, &shape);
    if (words == 0 || !sink_->Found(move.from, move.to, shape)) return;
    move.Moved(words);
  }
}

template <class Sink>
void Decoder<Sink>::Slides(const trace::Segment& segment) {
  if (!InGc("SLIDES")) return;
  if constexpr (Sink::kNeedsHeap) {
    trace::WireReader in(segment.payload);
    uint64_t from = 0, to = 0;
    while (!in.AtEnd()) {
      At(in);
      const uint64_t count = in.Uv();
      from += static_cast<uint64_t>(in.Sv());
      to += static_cast<uint64_t>(in.Sv());
      if (!in.ok()) {
        Malformed("slide is cut short or overlong");
        return;
      }
      if (count > trace::kMaxRunObjects) {
        Malformed("slide of more objects than a run may have");
        return;
      }
      for (uint64_t i = 0; i < count; i++) {
        const uint32_t words = sink_->Slide(from, to);
        if (words == 0) return;
        from += words;
        to += words;
      }
    }
  }
}

template <class Sink>
void Decoder<Sink>::Fillers(const trace::Segment& segment) {
  if (!InGc("FILLERS")) return;
  if constexpr (!Sink::kNeedsObjects) return;
  trace::WireReader in(segment.payload);
  uint64_t word = 0;
  while (!in.AtEnd()) {
    At(in);
    word += static_cast<uint64_t>(in.Sv());
    const uint64_t kind = in.Uv();
    const uint64_t length = in.Uv();
    if (!in.ok()) {
      Malformed("filler is cut short or overlong");
      return;
    }
    uint32_t shape = 0;
    const uint32_t words = One(word, kind, length, &shape);
    if (words == 0) return;
    sink_->Filler(word, shape);
    word += words;
  }
}

// No object lies in two spaces, nor outside the heap.
template <class Sink>
bool Decoder<Sink>::SpacesFit(std::vector<Space> spaces) {
  std::erase_if(spaces, [](const Space& space) { return space.end == space.bottom; });
  std::sort(spaces.begin(), spaces.end(), [](const Space& a, const Space& b) { return a.bottom < b.bottom; });
  uint64_t end = heap_start_;
  for (const Space& space : spaces) {
    if (space.bottom < end || space.end > heap_end_) {
      problems_->Add(ProblemKind::kOutsideSpace, position_, "space at {:#x} {}", space.bottom * 8,
                     space.bottom < end && end != heap_start_ ? "overlaps another one" : "reaches beyond the heap");
      return false;
    }
    end = space.end;
  }
  return true;
}

template <class Sink>
bool Decoder<Sink>::Spaces(trace::WireReader& in, std::vector<Space>* spaces) {
  const uint64_t count = in.Uv();
  if (!in.ok() || count > in.remaining() / 5) return Malformed("list of spaces is cut short");
  for (uint64_t i = 0; i < count; i++) {
    Space space;
    const uint64_t kind = in.Uv();
    const uint64_t collected = in.Uv();
    space.bottom = in.Uv();
    space.top = space.bottom + in.Uv();
    space.end = space.bottom + in.Uv();
    if (!in.ok()) return Malformed("list of spaces is cut short");
    if (kind > static_cast<uint64_t>(SpaceKind::kArchive) || collected > static_cast<uint64_t>(Collected::kOptional) ||
        space.top < space.bottom || space.end < space.top) {
      return Malformed("space of unknown kind or with top outside its bounds");
    }
    space.kind = static_cast<SpaceKind>(kind);
    space.collected = static_cast<Collected>(collected);
    spaces->push_back(space);
  }
  return SpacesFit(*spaces);
}

template <class Sink>
void Decoder<Sink>::Gc(const trace::Segment& segment, bool begin) {
  trace::WireReader in(segment.payload);
  GcEvent event;
  event.id = in.Uv();
  const uint64_t kind = in.Uv();
  event.cause = in.Str();
  event.time = in.Uv();
  if (!in.ok() || kind >= trace::kGcKinds || (static_cast<GcKind>(kind) == GcKind::kUnknown) != sampled_) {
    Malformed("collection event is cut short or of unknown kind");
    return;
  }
  event.kind = static_cast<GcKind>(kind);
  if (!Spaces(in, &event.spaces)) return;
  Time(event.time);
  if (begin == in_gc_) {
    problems_->Add(ProblemKind::kOrder, position_, "{} of collection {} {}", begin ? "GC_BEGIN" : "GC_END",
                   event.id, begin ? "within another collection" : "without a GC_BEGIN");
    if (!begin) return;
  }
  if (begin && in_sync_ && (event.kind == GcKind::kFull || sync_reason_ != SyncReason::kRotation)) {
    problems_->Add(ProblemKind::kOrder, position_, "collection {} within a sync point", event.id);
  }
  in_gc_ = begin;
  if (begin) {
    sink_->GcBegin(event);
  } else {
    sink_->GcEnd(event);
  }
}

template <class Sink>
void Decoder<Sink>::SyncBegin(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  SyncEvent event;
  const uint64_t reason = in.Uv();
  event.time = in.Uv();
  if (!in.ok() || reason > 2) {
    Malformed("SYNC_BEGIN is cut short or has an unknown reason");
    return;
  }
  event.reason = static_cast<SyncReason>(reason);
  if (!Spaces(in, &event.spaces)) return;
  Time(event.time);
  if ((in_gc_ || in_sync_) && !after_gap_) {
    problems_->Add(ProblemKind::kOrder, position_, "SYNC_BEGIN within a {}",
                   in_gc_ ? "collection" : "sync point");
  }
  in_gc_ = false;
  after_gap_ = false;
  in_sync_ = true;
  sync_reason_ = event.reason;
  sink_->SyncBegin(event);
}

template <class Sink>
void Decoder<Sink>::SyncEnd(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  const uint64_t objects = in.Uv();
  const uint64_t bytes = in.Uv();
  if (!in.ok()) {
    Malformed("SYNC_END is cut short");
    return;
  }
  if (!in_sync_) {
    problems_->Add(ProblemKind::kOrder, position_, "SYNC_END without a SYNC_BEGIN");
    return;
  }
  in_sync_ = false;
  sink_->SyncEnd(objects, bytes);
}

template <class Sink>
void Decoder<Sink>::SyncAbandoned(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  const std::string reason(in.Str());
  if (!in.ok()) {
    Malformed("SYNC_ABANDONED is cut short");
    return;
  }
  if (!in_sync_) {
    problems_->Add(ProblemKind::kOrder, position_, "SYNC_ABANDONED without a SYNC_BEGIN");
    return;
  }
  in_sync_ = false;
  sink_->SyncAbandoned(reason);
}

template <class Sink>
void Decoder<Sink>::Origins(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  uint64_t end = 0;
  while (!in.AtEnd()) {
    At(in);
    OriginRun run;
    run.begin = end + in.Uv();
    run.end = run.begin + in.Uv();
    run.thread = in.Uv();
    run.age = in.Uv();
    if (!in.ok()) {
      Malformed("origin is cut short or overlong");
      return;
    }
    end = run.end;
    if (run.age > kMaxAge) {
      Malformed("origin of an impossible age");
      return;
    }
    if (!sink_->Kept(run)) Malformed("origins are not in the order of addresses");
  }
}

template <class Sink>
void Decoder<Sink>::ClassUnload(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  const uint64_t id = in.Uv();
  if (!in.ok()) {
    Malformed("CLASS_UNLOAD is cut short");
    return;
  }
  if (!symbols_->Unload(id)) {
    problems_->Add(ProblemKind::kUndefined, position_, "class {} is unloaded but is not loaded", id);
    return;
  }
  sink_->ClassUnload(id);
}

template <class Sink>
void Decoder<Sink>::Samples(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  SampleEvent event;
  event.interval = in.Uv();
  event.number = in.Uv();
  event.time = in.Uv();
  if (in.ok() && event.interval > UINT32_MAX) {
    Malformed("samples of an impossible interval");
    return;
  }
  while (in.ok() && !in.AtEnd()) {
    At(in);
    event.time += in.Uv();
    event.thread = in.Uv();
    event.kind = in.Uv();
    event.words = in.Uv();
    if (!in.ok()) break;
    Time(event.time);
    sink_->Sample(event);
    event.number++;
  }
  if (!in.ok()) Malformed("sample is cut short or overlong");
}

template <class Sink>
void Decoder<Sink>::SampleDeaths(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  const uint64_t collections = in.Uv();
  uint64_t number = 0;
  while (in.ok() && !in.AtEnd()) {
    At(in);
    number += static_cast<uint64_t>(in.Sv());
    if (in.ok()) sink_->SampleDied(number, collections);
  }
  if (!in.ok()) Malformed("death of a sample is cut short or overlong");
}

template <class Sink>
void Decoder<Sink>::Loss(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  LossEvent event;
  event.time = in.Uv();
  event.segments = in.Uv();
  event.bytes = in.Uv();
  event.reason = in.Str();
  if (!in.ok()) {
    Malformed("LOSS is cut short");
    return;
  }
  Time(event.time);
  after_gap_ = true;
  sink_->Loss(event);
}

template <class Sink>
void Decoder<Sink>::End(const trace::Segment& segment) {
  trace::WireReader in(segment.payload);
  EndEvent event;
  event.time = in.Uv();
  event.reason = in.Str();
  event.counters = in.Str();
  if (!in.ok()) {
    Malformed("END is cut short");
    return;
  }
  // The program may end while the old space is still being listed, or while it is sampled in a pause.
  if (!after_gap_ && !sampled_ && (in_gc_ || (in_sync_ && sync_reason_ != SyncReason::kRotation))) {
    problems_->Add(ProblemKind::kOrder, position_, "END within a {}", in_gc_ ? "collection" : "sync point");
  }
  Time(event.time);
  ended_ = true;
  sink_->End(event);
}

}  // namespace anttracks::analyzer
