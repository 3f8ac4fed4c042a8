// SPDX-License-Identifier: Apache-2.0
// The life of one object, which is named by its address after a collection: a sink for Decoder, for the second
// of two passes. The first one (HeapAt) finds the object's shape and provenance. This one follows all objects
// of that shape that were allocated by the same thread between the same two collections, until the collection
// at which one of them has the address; from then on that one alone.
//
// Memory: that of Rebuild, and the path of each object that is followed: most die at the next collection.
//
// Thread safety: none. Ownership: as Rebuild. Units: word numbers (address / 8), ns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

// Something that happened to an object.
struct LifeEvent {
  enum class Kind {
    kAllocated,  // at to, in a segment that was begun at that time
    kListed,     // a sync point has it at to: it is older than the trace, or than what is known of it
    kFound,      // a collection found it in a skipped stretch, and put it to to
    kMoved,
    kStayed,  // a collection left it in place that moves what it can
    kDied,    // at from
    kLost,    // events are missing: what became of it is not known
  };
  Kind kind = Kind::kMoved;
  std::optional<uint64_t> gc = {};  // id of the collection
  GcKind gc_kind = GcKind::kYoung;
  uint64_t time_ns = 0;
  uint64_t from = 0, to = 0;
  std::optional<SpaceKind> from_space = {}, to_space = {};  // none: not known
};

class Biography : public Rebuild {
 public:
  struct Subject {
    uint64_t word = 0;  // after that many collections
    uint32_t epoch = 0;
    bool at_end = false;  // at the end of the trace instead
    uint32_t shape = 0;
    Provenance provenance = {0, -1};  // that of what only a sync point lists has thread 0 and birth -1
  };
  Biography(Definitions& definitions, Problems& problems, const Subject& subject)
      : Rebuild(definitions, problems, {}), subject_(subject) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    time_ = time;
    follows_ = thread == subject_.provenance.thread && epoch() == subject_.provenance.birth;
    Rebuild::AllocBegin(thread, time, share);
  }
  void Objects(const Neighbours& objects) override {
    Rebuild::Objects(objects);
    if (!follows_) return;
    uint64_t word = objects.word;
    for (size_t i = 0; i < objects.shapes.size(); i++) {
      if (objects.shapes[i] == subject_.shape)
        Begin(word, {.kind = LifeEvent::Kind::kAllocated, .time_ns = time_});
      word += objects.words[i];
    }
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override;
  uint32_t Move(uint64_t from, uint64_t to) override {
    const uint32_t words = Rebuild::Move(from, to);
    if (taken() != nullptr && taken()->shape == subject_.shape) Moved(from, to);
    return words;
  }
  uint32_t Slide(uint64_t from, uint64_t to) override {
    const uint32_t words = Rebuild::Slide(from, to);
    if (taken() != nullptr && taken()->shape == subject_.shape) Moved(from, to);
    return words;
  }
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void SyncBegin(const SyncEvent& event) override {
    time_ = event.time;
    Rebuild::SyncBegin(event);
  }
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override;

  // Once, when all was decoded. The events of the subject, in their order; empty: it was not found again.
  std::vector<LifeEvent> Finish();

 protected:
  void Settle() override;
  void BeforeDrop(std::span<const DeadRange> ranges) override;
  void BeforeClear() override;

 private:
  using Path = std::vector<LifeEvent>;
  using ByWord = std::map<uint64_t, Path>;

  void Begin(uint64_t word, LifeEvent event);
  void Moved(uint64_t from, uint64_t to);
  void EndIn(const DeadRange& range);
  // Leaves the subject alone, if it is there.
  void Choose();
  std::optional<SpaceKind> SpaceOf(uint64_t word) const;

  const Subject subject_;
  ByWord followed_;  // by where they lie
  ByWord moved_;     // by the current collection, by where they lie now
  Path ended_;       // of the subject, once it is chosen and has died
  bool follows_ = false;
  bool chosen_ = false;
  uint64_t time_ = 0;
};

}  // namespace anttracks::analyzer
