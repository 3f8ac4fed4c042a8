// SPDX-License-Identifier: Apache-2.0
// A heap dump that the JVM made while it was traced, and the trace: at which moment the dump was made, and
// which object of the trace each of its objects is.
//
// A dump belongs to the time between two collections. One of live objects begins with a collection, so it shows
// what that left; one of all objects also shows what was allocated since. The heap just before the next
// collection has these objects at these addresses, and more.
//
// The moment is found in two steps. DumpMoments looks at the whole trace, and counts before each collection how
// many of some thousand objects of the dump, evenly spread, are in the heap with class and length. As objects
// stay where they are for many collections, several moments may agree equally; the time in the dump's header
// decides among them. DumpHeap then rebuilds that heap, and DumpMatch compares every object.
//
// Thread safety: none. Ownership: borrows the dump.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/hprof/dump.h"
#include "analyzer/model/id_map.h"
#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/stack_samples.h"

namespace anttracks::analyzer {

// Whether an object of the dump is one of the trace.
enum class Fit : uint8_t { kAgrees, kMissing, kOtherClass, kOtherSize };

// Compares classes by name, and what the trace knows of the objects' sizes: the lengths of arrays, and the
// values that an instance has, if the trace has the fields. Each pair of classes is compared once.
class DumpClasses {
 public:
  DumpClasses(const hprof::Dump& dump, const Definitions& definitions)
      : dump_(&dump), definitions_(&definitions) {}
  Fit Compare(uint32_t object, uint32_t shape);

 private:
  Fit CompareClasses(uint32_t class_index, uint64_t class_id) const;

  const hprof::Dump* dump_;
  const Definitions* definitions_;
  IdMap<Fit> known_;  // by both classes
};

class DumpMoments : public Rebuild {
 public:
  struct Moment {
    uint64_t gcs = 0;                   // how many collections had ended
    uint64_t begin_ns = 0, end_ns = 0;  // from the end of the last one to the begin of the next one
    uint32_t agreeing = 0;              // of samples()
    bool unknown = false;               // not all was read that had been allocated since that collection
  };

  DumpMoments(Definitions& definitions, Problems& problems, const hprof::Dump& dump);

  void GcBegin(const GcEvent& event) override {
    Note(event.time);
    Rebuild::GcBegin(event);
  }
  // The end of the trace.
  void Finish(uint64_t end_ns) { Note(end_ns); }

  // Of those that agree best the one that is nearest to the time; nothing if there is no moment.
  // time_ns: since the start of the trace, if it is known.
  std::optional<Moment> Best(std::optional<int64_t> time_ns) const;
  uint32_t samples() const { return static_cast<uint32_t>(samples_.size()); }

 private:
  void Note(uint64_t end_ns);

  std::vector<uint32_t> samples_;  // objects
  const hprof::Dump* dump_;
  DumpClasses classes_;
  std::vector<Moment> moments_;
};

// The heap before the collection that follows so many collections, or at the end.
class DumpHeap : public Rebuild {
 public:
  DumpHeap(Definitions& definitions, Problems& problems, uint64_t gcs)
      : Rebuild(definitions, problems, {}), gcs_(gcs) {}

  void GcBegin(const GcEvent& event) override {
    if (gcs().size() == gcs_) {
      reached_ = true;
    } else {
      Rebuild::GcBegin(event);
    }
  }
  void Stack(const StackEvent& event) override { stacks_.Add(0, 0, event); }
  bool done() const override { return reached_ || Rebuild::done(); }
  const StackSamples& stacks() const { return stacks_; }

 private:
  const uint64_t gcs_;
  bool reached_ = false;
  StackSamples stacks_;
};

class DumpMatch {
 public:
  static constexpr uint32_t kNoShape = ObjectShapes::kNone;

  DumpMatch(const hprof::Dump& dump, const Rebuild& heap);

  // The shape and the provenance of the object of the trace; kNoShape if the object is not one.
  uint32_t shape(uint32_t object) const { return shapes_[object]; }
  uint32_t provenance(uint32_t object) const { return provenances_[object]; }
  Fit fit(uint32_t object) const { return fits_[object]; }
  uint64_t count(Fit fit) const { return counts_[static_cast<size_t>(fit)]; }
  uint64_t objects() const { return shapes_.size(); }
  // The first object that is in the trace with another class or size: what it is in the dump and in the trace.
  const std::string& first_difference() const { return first_difference_; }

 private:
  std::vector<uint32_t> shapes_, provenances_;
  std::vector<Fit> fits_;
  std::array<uint64_t, 4> counts_{};
  std::string first_difference_;
};

}  // namespace anttracks::analyzer
