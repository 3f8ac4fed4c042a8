// SPDX-License-Identifier: Apache-2.0
// Turns the segments of a trace into calls of a sink: objects, moves, collections, sync points. trace/ decodes
// the bytes; the decoder checks which segment may follow which, and what may be where in the heap.
//
// A sink derives from SinkBase and overrides the functions that it needs. It is a template parameter, and every
// call names its class (sink_->Sink::Objects), so that no call is virtual.
//
// Whatever is wrong is reported as a problem, and decoding goes on with what can still be trusted: if the place
// of the next object is not known the rest of the segment is skipped.
//
// Thread safety: none. Units: words of 8 bytes; addresses are word numbers (address / 8).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/model/events.h"
#include "analyzer/model/problems.h"
#include "analyzer/model/units.h"
#include "trace/census.h"
#include "trace/events.h"
#include "trace/format.h"
#include "trace/gc_records.h"
#include "trace/object_runs.h"
#include "trace/provenance.h"
#include "trace/samples.h"
#include "trace/segments.h"
#include "trace/stacks.h"
#include "trace/wire.h"

namespace anttracks::analyzer {

// Some objects of a run: they fill [word, end), each beginning where the one before ends.
struct Neighbours {
  static constexpr size_t kMost = 256;

  uint64_t word = 0, end = 0;
  std::span<const uint32_t> shapes, words;  // of each; as many
  trace::How how = trace::How::kTlab;
};

struct SinkBase {
  virtual ~SinkBase() = default;

  // The reserved range of the heap, [start_word, end_word). Called first.
  virtual void Configure(uint64_t /*start_word*/, uint64_t /*end_word*/) {}
  // The next events are from this file, given by its number in the list of files.
  virtual void FileBegin(uint32_t /*file*/) {}
  // An ALLOC segment begins. share: of the TLAB stretches that were read, in parts of kWholeShare.
  virtual void AllocBegin(uint64_t /*thread*/, uint64_t /*time*/, uint32_t /*share*/) {}
  // A run of an ALLOC segment begins. Its objects follow, at most Neighbours::kMost in a call; none if it is
  // damaged.
  virtual void RunBegin(trace::How /*how*/) {}
  virtual void Objects(const Neighbours&) {}
  virtual void Skipped(uint64_t /*word*/, uint64_t /*words*/) {}
  // Both return the size of the object at from; 0: there is none, which ends the segment.
  virtual uint32_t Move(uint64_t /*from*/, uint64_t /*to*/) { return 0; }
  virtual uint32_t Slide(uint64_t /*from*/, uint64_t /*to*/) { return 0; }
  // An object in a skipped range was moved, or left in place (from == to). False ends the segment.
  virtual bool Found(uint64_t /*from*/, uint64_t /*to*/, uint32_t /*shape*/) { return true; }
  virtual void Filler(uint64_t /*word*/, uint32_t /*shape*/) {}
  virtual void GcBegin(const GcEvent&) {}
  virtual void GcEnd(const GcEvent&) {}
  virtual void SyncBegin(const SyncEvent&) {}
  virtual void SyncObject(uint64_t /*space*/, uint64_t /*word*/, uint32_t /*shape*/) {}
  virtual void SyncEnd(uint64_t /*objects*/, uint64_t /*bytes*/) {}
  virtual void SyncAbandoned(const std::string& /*reason*/) {}
  // A run of a provenance file, before all events. False: it overlaps or precedes the run before.
  virtual bool SavedProvenance(const trace::ProvenanceRun&) { return true; }
  // A provenance file does not have all that its trace knew.
  virtual void ProvenanceInPart() {}
  virtual void ClassUnload(uint64_t /*id*/) {}
  // A call stack that was sampled; it is defined.
  virtual void Stack(const StackEvent&) {}
  // Both for traces of samples only. collections: how many had begun when the death was recorded.
  virtual void Sample(const SampleEvent&) {}
  virtual void SampleDied(uint64_t /*number*/, uint64_t /*collections*/) {}
  // For censuses only: one that is complete. Its pairs are defined.
  virtual void Census(const CensusEvent&) {}
  virtual void Loss(const LossEvent&) {}
  virtual void End(const EndEvent&) {}
  // A chunk is missing or damaged: everything until the next sync point may be wrong.
  virtual void Gap() {}
  virtual void set_position(const Position&) {}
  // Called last: no more is read.
  virtual void Finished() {}
  virtual bool done() const { return false; }
  // Where the trace began to need more work than its size justifies; nullptr: it did not.
  virtual const Position* refused() const { return nullptr; }
};

// Whether the sink, or one between it and SinkBase, overrides the method.
template <auto kOfBase, auto kOfSink>
inline constexpr bool kOverrides = !std::is_same_v<decltype(kOfBase), decltype(kOfSink)>;
// Moves and slides are decoded only for these sinks, which know the objects' sizes.
template <class Sink>
inline constexpr bool kNeedsHeap =
    kOverrides<&SinkBase::Move, &Sink::Move> || kOverrides<&SinkBase::Slide, &Sink::Slide>;
// Objects and skipped ranges are decoded only for these sinks.
template <class Sink>
inline constexpr bool kNeedsObjects =
    kOverrides<&SinkBase::AllocBegin, &Sink::AllocBegin> || kOverrides<&SinkBase::RunBegin, &Sink::RunBegin> ||
    kOverrides<&SinkBase::Objects, &Sink::Objects> || kOverrides<&SinkBase::Skipped, &Sink::Skipped> ||
    kOverrides<&SinkBase::Found, &Sink::Found> || kOverrides<&SinkBase::Filler, &Sink::Filler> ||
    kOverrides<&SinkBase::SyncObject, &Sink::SyncObject>;

template <class Sink>
class Decoder {
 public:
  Decoder(Definitions& definitions, Problems& problems, Sink& sink)
      : definitions_(&definitions), problems_(&problems), sink_(&sink) {}

  // Sets the reserved range of the heap; objects outside it are problems.
  void SetHeapRange(uint64_t start_word, uint64_t end_word) {
    heap_start_ = start_word;
    heap_end_ = end_word;
  }

  // What the trace holds. Must be called before the first Segment.
  void set_mode(trace::Traces mode) { mode_ = mode; }

  void Segment(const trace::Segment& segment, const Position& position);
  // A file with events begins. must_sync: its first event must be SYNC_BEGIN.
  void BeginFile(uint32_t file, bool must_sync) {
    must_sync_ = must_sync;
    sink_->Sink::FileBegin(file);
  }
  // A chunk is missing.
  void Gap() {
    after_gap_ = true;
    census_rows_.clear();
    sink_->Sink::Gap();
  }

  uint64_t unknown_segments() const { return unknown_segments_; }
  // The latest time in any event.
  uint64_t last_time() const { return last_time_; }
  bool ended() const { return ended_; }

 private:
  void Alloc(const trace::Segment& segment);
  void SyncObjects(const trace::Segment& segment);
  template <class Begin, class Emit>
  void Runs(trace::WireReader& in, Begin begin, Emit emit);
  template <class Emit>
  bool Run(const trace::RunHead& head, const uint8_t* columns, uint64_t* word, Emit emit);
  // The size of an object in words; 0: there can be no such object there.
  uint32_t WordsOf(uint64_t word, uint64_t site_class, uint64_t length, uint32_t* shape);
  // Reports why there can be no such object.
  void Impossible(uint64_t word, uint64_t site_class, uint64_t length);
  // Both.
  uint32_t One(uint64_t word, uint64_t site_class, uint64_t length, uint32_t* shape);
  template <class Reader, class Take>
  void Records(trace::WireReader in, Reader reader, std::string_view what, Take take);
  void Moves(const trace::Segment& segment);
  void Found(const trace::Segment& segment);
  void Slides(const trace::Segment& segment);
  void Fillers(const trace::Segment& segment);
  enum class Boundary : bool { kBegin, kEnd };
  void Gc(const trace::Segment& segment, Boundary boundary);
  void SyncBegin(const trace::Segment& segment);
  void SyncEnd(const trace::Segment& segment);
  void SyncAbandoned(const trace::Segment& segment);
  void CheckFirstEvent(const trace::Segment& segment);
  void ProvenanceRuns(const trace::Segment& segment);
  void ClassUnload(const trace::Segment& segment);
  void Stacks(const trace::Segment& segment);
  void Samples(const trace::Segment& segment);
  void SampleDeaths(const trace::Segment& segment);
  void CensusRows(const trace::Segment& segment);
  bool CheckRow(const trace::CensusRow& row);
  void Census(const trace::Segment& segment);
  bool FitsMode(const trace::Segment& segment);
  void Dispatch(const trace::Segment& segment);  // to the decoder of its kind
  void Loss(const trace::Segment& segment);
  void End(const trace::Segment& segment);
  bool SpacesFit(std::vector<Space> spaces);

  void At(const trace::WireReader& in) {
    position_.payload = base_ + in.position();
    sink_->Sink::set_position(position_);
  }
  void Time(uint64_t time) {
    if (time > last_time_) last_time_ = time;
  }
  template <class... Args>
  bool Malformed(fmt::format_string<Args...> format, Args&&... args) {
    problems_->Add(ProblemKind::kMalformed, position_, format, std::forward<Args>(args)...);
    return false;
  }
  // Where the begin or the end of a collection may be missing, nothing contradicts it.
  template <class... Args>
  void OutOfPlace(fmt::format_string<Args...> format, Args&&... args) {
    problems_->Add(after_gap_ ? ProblemKind::kAfterLoss : ProblemKind::kOrder, position_, format,
                   std::forward<Args>(args)...);
  }
  bool IsRead(const trace::Status& status) { return status.ok() || Malformed("{}", status.message()); }
  bool InGc(const trace::Segment& segment) {
    if (!in_gc_) OutOfPlace("{} outside a collection", segment.info().name);
    return in_gc_;
  }
  bool InSync(const trace::Segment& segment, std::string_view what) {
    if (!in_sync_) problems_->Add(ProblemKind::kOrder, position_, "{} {}", segment.info().name, what);
    return in_sync_;
  }

  Definitions* definitions_;
  Problems* problems_;
  Sink* sink_;
  Position position_;
  uint64_t base_ = 0;
  uint64_t heap_start_ = 0, heap_end_ = 0;
  uint64_t last_time_ = 0;
  uint64_t unknown_segments_ = 0;
  bool in_gc_ = false;
  bool in_sync_ = false;
  bool after_gap_ = false;  // the end of a collection or sync point may be missing, until the next SYNC_BEGIN
  bool must_sync_ = false;
  trace::Traces mode_ = trace::Traces::kFull;
  std::vector<trace::CensusRow> census_rows_;  // of the census whose CENSUS is still to come
  bool ended_ = false;
};

}  // namespace anttracks::analyzer

#include "analyzer/passes/decoder_inl.h"
