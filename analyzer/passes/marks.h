// SPDX-License-Identifier: Apache-2.0
// A mark is a moment, such as the end of a collection. Every object is behind some of the marks and ahead of
// the others; that is one set of bits. Ids of collections do not ascend (a remark has that of its marking):
// which of two is the earlier one is told by their order in the trace. Marks that are collections are exact.
// Marks in time are compared with the time at which an object's segment was begun, so that up to one buffer of
// each thread may be on the wrong side.
//
// Thread safety: none. Units: ns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace anttracks::analyzer {

struct Mark {
  enum class Kind {
    kGc,    // the collection with this id has ended
    kGcs,   // so many collections of the trace have ended
    kTime,  // so many ns have passed since the start of the trace
  };
  Kind kind = Kind::kGc;
  uint64_t number = 0;
};

// Bit i: behind mark i.
using Passed = uint64_t;
inline constexpr size_t kMostMarks = 64;

// The marks, and which of them are passed while a trace is read.
class Marks {
 public:
  // At most kMostMarks.
  explicit Marks(std::vector<Mark> marks) : marks_(std::move(marks)), after_gcs_{AfterGcs(0)} {}

  void GcEnd(uint64_t id) { after_gcs_.push_back(after_gcs_.back() | OfGc(id) | AfterGcs(after_gcs_.size())); }
  // What is allocated now, in a segment that was begun at that time.
  Passed At(uint64_t time) const { return after_gcs_.back() | Times(time); }
  // What was allocated after so many collections; a negative number: before the first one that is read.
  Passed OfBirth(int64_t gcs) const {
    if (gcs < 0) return 0;
    return after_gcs_[std::min(static_cast<size_t>(gcs), after_gcs_.size() - 1)];
  }
  bool empty() const { return marks_.empty(); }
  bool any_time() const {
    return std::any_of(marks_.begin(), marks_.end(),
                       [](const Mark& mark) { return mark.kind == Mark::Kind::kTime; });
  }
  // What was sampled at that time, when so many collections had begun: these have the ids 0, 1, 2, ...
  Passed OfSample(uint64_t begun, uint64_t time) const {
    return Times(time) | AfterGcs(begun) |
           Those([&](const Mark& mark) { return mark.kind == Mark::Kind::kGc && begun > mark.number; });
  }

 private:
  template <class Is>
  Passed Those(Is&& is) const {
    Passed passed = 0;
    for (size_t i = 0; i < marks_.size(); i++) {
      if (is(marks_[i])) passed |= Passed{1} << i;
    }
    return passed;
  }
  Passed AfterGcs(uint64_t gcs) const {
    return Those([&](const Mark& mark) { return mark.kind == Mark::Kind::kGcs && gcs >= mark.number; });
  }
  Passed OfGc(uint64_t id) const {
    return Those([&](const Mark& mark) { return mark.kind == Mark::Kind::kGc && id == mark.number; });
  }
  Passed Times(uint64_t time) const {
    return Those([&](const Mark& mark) { return mark.kind == Mark::Kind::kTime && time >= mark.number; });
  }

  std::vector<Mark> marks_;
  std::vector<Passed> after_gcs_;  // by the number of collections that have ended
};

// What was allocated behind one mark and ahead of another one, as far as a heap knows: by collections.
class BirthWindow {
 public:
  BirthWindow() : BirthWindow(std::nullopt, std::nullopt) {}
  BirthWindow(const std::optional<Mark>& from, const std::optional<Mark>& to) : from_(Of(from)), to_(Of(to)) {}

  void GcEnd(uint64_t id) {
    from_.GcEnd(id);
    to_.GcEnd(id);
  }
  bool all() const { return from_.empty() && to_.empty(); }
  // As Marks::OfBirth.
  bool Has(int64_t birth) const {
    return (from_.empty() || from_.OfBirth(birth) != 0) && (to_.empty() || to_.OfBirth(birth) == 0);
  }

 private:
  static Marks Of(const std::optional<Mark>& mark) {
    return Marks(mark ? std::vector<Mark>{*mark} : std::vector<Mark>());
  }

  Marks from_, to_;
};

}  // namespace anttracks::analyzer
