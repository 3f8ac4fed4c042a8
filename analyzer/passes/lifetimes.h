// SPDX-License-Identifier: Apache-2.0
// How long objects live and what the collector pays for them, by site-class pair: a sink for Decoder.
//
// An object's death becomes known at the collection that finds it dead. It dies young if it lies in a young
// space then, and old otherwise. It survives each collection that ends between its allocation and its death, as
// in `heap --by age`. It is held from the begin of the ALLOC segment that has it until the begin of that
// collection, or until the end of the trace. An object is promoted if it was allocated in a young space and
// comes to lie in another one.
//
// Objects that a sync point lists (present) are counted apart: their allocation is not known. So what is known
// of them begins with that sync point. Provenance files are not read.
//
// The ledger: after collections, and at the end, the heap is counted anew, and for each site-class pair
// live before + allocated = live after + died must hold, in objects and words. "allocated" is all that came
// into the heap: also what a collection found in skipped stretches, what a sync point listed, and fillers.
// "died" is all that left it, also what was lost from sight. Where events are missing it is not checked. It is
// counted after each collection as long as the heap is small; a larger one as soon as kEventsPerCounted events
// have come for each of its objects, so that the time depends on what happens and not on what lives.
//
// What was promoted between the last count and a loss is not told.
//
// Most objects die at the first collection after their allocation, in eden. They are not walked: what died of
// each shape is what was allocated since the collection before, less what was moved. This holds if none of them
// stays elsewhere. So the pages of the young spaces that hold nothing else say how many objects they have that
// were not moved; if that is not the number that is left, they are walked, too.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes, ns since the start of the trace.
// Memory: that of Rebuild, 8 bytes per object that was allocated outside TLABs since the last collection, about
// 400 bytes per site-class pair, and 80 per shape.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/passes/counts.h"
#include "analyzer/passes/marks.h"
#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/shape_tally.h"
#include "analyzer/passes/stack_samples.h"

namespace anttracks::analyzer {

// Size times the time that it was held, summed up exactly.
class HeldTime {
 public:
  void Begin(uint64_t words, uint64_t ns) { sum_ -= Wide{words} * ns; }
  // So many objects of that many words each, allocated at ns and later: later_ns is the sum of by how much.
  void Begin(uint64_t objects, uint64_t words, uint64_t ns, int64_t later_ns) {
    const SignedWide times = SignedWide{objects} * ns + later_ns;
    sum_ -= Wide{words} * static_cast<Wide>(times);
  }
  void End(uint64_t words, uint64_t ns) { sum_ += Wide{words} * ns; }
  void Add(const HeldTime& other) { sum_ += other.sum_; }
  // 0 if times of the trace run backwards.
  double byte_seconds() const;

 private:
  __extension__ using Wide = unsigned __int128;
  __extension__ using SignedWide = __int128;
  Wide sum_ = 0;
};

// How many objects of each shape were allocated, and when, until somebody takes the sums. Times are added up
// relative to a base, so that 64 bits are enough. Objects of the same time are counted first: that is one small
// number per shape.
class BornTally {
 public:
  // Whether a time can be added; if not, all must be taken first.
  bool Fits(uint64_t ns) const { return empty() || ns - base_ + kFarthest < 2 * kFarthest; }
  // For what is added from here on, until Take. It must fit.
  void SetTime(uint64_t ns) {
    AddNow();
    if (touched_.empty()) base_ = ns;
    later_ = static_cast<int64_t>(ns - base_);
  }
  // At most 2^32 - 1 objects of a shape between two Takes.
  void Add(uint32_t shape) { now_.Add(shape); }
  // Calls visit(shape, objects, base_ns, later_ns), which HeldTime::Begin takes, for each shape that was added;
  // then there is none.
  template <class Visit>
  void Take(Visit&& visit) {
    AddNow();
    for (const uint32_t shape : touched_) {
      const Sum sum = std::exchange(sums_[shape], {});
      visit(shape, sum.objects, base_, sum.later);
    }
    touched_.clear();
  }

 private:
  static constexpr uint64_t kFarthest = uint64_t{1} << 30;  // from the base, ns
  struct Sum {
    uint64_t objects = 0;
    int64_t later = 0;
  };
  bool empty() const { return touched_.empty() && now_.empty(); }
  void AddNow() {
    now_.Take([&](uint32_t shape, uint64_t objects) {
      if (shape >= sums_.size()) sums_.resize(shape + size_t{1} + shape / 2);
      Sum& sum = sums_[shape];
      if (sum.objects == 0) touched_.push_back(shape);
      sum.objects += objects;
      sum.later += later_ * static_cast<int64_t>(objects);
    });
  }

  ShapeTally now_;  // of the time that was set last
  std::vector<Sum> sums_;
  std::vector<uint32_t> touched_;
  uint64_t base_ = 0;
  int64_t later_ = 0;
};

// How many objects of one provenance there are of each shape: what was allocated less what was taken.
class Newborns {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // There are none, and what follows has this provenance.
  void Begin(uint32_t provenance);
  uint32_t provenance() const { return provenance_; }
  // objects may be negative.
  void Add(uint32_t shape, int64_t objects) {
    if (shape >= left_.size()) left_.resize(shape + size_t{1} + shape / 2);
    if (left_[shape] == 0) touched_.push_back(shape);
    left_[shape] += objects;
    all_ += objects;
  }
  void Taken(const HeapObject& object) {
    if (object.provenance == provenance_) Add(object.shape, -1);
  }
  // Whether that many are left in all, and of no shape less than none, as it can be in a damaged trace.
  bool Are(uint64_t objects) const;
  // Calls visit(shape, objects) for each shape of which some are left; then there is none.
  template <class Visit>
  void Take(Visit&& visit) {
    for (const uint32_t shape : touched_) {
      const int64_t objects = std::exchange(left_[shape], 0);
      if (objects > 0) visit(shape, static_cast<uint64_t>(objects));
    }
    Begin(kNone);
  }

 private:
  uint32_t provenance_ = kNone;
  std::vector<int64_t> left_;
  std::vector<uint32_t> touched_;  // a shape can be there twice
  int64_t all_ = 0;
};

// Of several objects of which all is known up to the end of the trace.
struct LifeSums {
  // Died after 0, 1, 2 to 3, 4 to 7, 8 to 15, and 16 or more collections that they survived.
  static constexpr size_t kAges = 6;

  HeapTotals born;  // all of them
  HeldTime held;
  HeapTotals died_young, died_old;
  HeapTotals live;  // at the end
  HeapTotals lost;  // events are missing: it is not known what became of them
  HeapTotals copied;
  HeapTotals copied_young;   // out of young spaces, by collections that were not full ones
  HeapTotals promoted;       // by Rebuild's spaces after each collection
  HeapTotals promoted_dead;  // and died old
  std::array<uint64_t, kAges> died_by_age{};
  uint64_t survived = 0;  // collections, each object's added up

  HeapTotals died() const;
  void Add(const LifeSums& other);
};

// A site-class pair for which the ledger does not balance.
struct Imbalance {
  bool at_end = false;  // of the trace; otherwise after the collection
  uint64_t gc = 0;
  std::optional<uint64_t> since =
      {};  // the collection after which it was counted before, if not the one before
  uint32_t site_class = 0;
  HeapTotals before = {}, allocated = {}, after = {}, died = {};
};

struct Ledger {
  uint64_t checked = 0;          // how often the heap was counted, at the end of the trace, too
  uint64_t unchecked = 0;        // of these, where events are missing
  uint64_t imbalances = 0;       // how many there are
  std::vector<Imbalance> first;  // at most kMost
  static constexpr size_t kMost = 20;
  bool balances() const { return imbalances == 0; }
};

class Lifetimes : public Rebuild {
 public:
  // window: of when the objects were allocated that BySiteClass tells of.
  Lifetimes(Definitions& definitions, Problems& problems, const BirthWindow& window = {})
      : Rebuild(definitions, problems, {}),
        window_(window),
        in_window_(window_.all() || window_.Has(0)),
        chosen_(definitions) {}

  void AllocBegin(uint64_t, uint64_t time, uint32_t share) override;
  void RunBegin(trace::How how) override;
  void Objects(const Neighbours& objects) override {
    for (const uint32_t shape : objects.shapes) born_.Add(shape);
    if (by_share_ && in_window_) chosen_.Objects(objects);
    if (objects.how == trace::How::kOutside) Outside(objects);
    Rebuild::Objects(objects);
  }
  void Skipped(uint64_t word, uint64_t words) override {
    if (in_window_) chosen_.Skipped(word, words);
    Rebuild::Skipped(word, words);
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override;
  uint32_t Move(uint64_t from, uint64_t to) override {
    const uint32_t words = Rebuild::Move(from, to);
    Copied(words);
    return words;
  }
  uint32_t Slide(uint64_t from, uint64_t to) override {
    const uint32_t words = Rebuild::Slide(from, to);
    if (from != to) {
      Copied(words);
    } else if (taken() != nullptr) {
      newborns_.Taken(*taken());
    }
    return words;
  }
  void Filler(uint64_t word, uint32_t shape) override;
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void Stack(const StackEvent& event) override { stacks_.Add(0, 0, event); }
  void SyncBegin(const SyncEvent& event) override;
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override;
  bool SavedProvenance(const ProvenanceRun&) override { return true; }

  // Once, when all was decoded and there was a META: what is left is live at the end of the trace. The heap is
  // empty then.
  void Finish(uint64_t end_ns);

  struct OfSiteClass {
    uint32_t site_class = 0;
    const LifeSums& traced;   // allocated in the trace, or covered by a filler
    const LifeSums& present;  // listed by a sync point
  };
  // After Finish; in the order in which the pairs were first seen. Of the window.
  std::vector<OfSiteClass> BySiteClass() const;
  const Ledger& ledger() const { return ledger_; }
  // All that were sampled, of any thread.
  const StackSamples& stacks() const { return stacks_; }
  // How many stretches' worth of allocation is not known; see CountByShape. Exact where there is none.
  CountByShape& chosen() { return chosen_; }

 protected:
  void BeforeDrop(std::span<const DeadRange> ranges) override;
  void BeforeClear() override;

 private:
  // In place of a thread, in the provenance of an object that the trace saw allocated.
  enum Place : uint64_t { kTlab, kOutside, kOutsideInOld };

  // Of one pair, and of what was allocated within the window, or of all else.
  struct Account {
    LifeSums traced;
    std::unique_ptr<LifeSums> present;  // nullptr: there are none
    uint32_t site_class = 0;
    bool in_window = true;
    HeapTotals live, old;  // as of the last count of the heap; old: traced, and not in a young space
    // As of the count before that.
    HeapTotals live_before, born_before, died_before, old_before, died_old_before;
    HeapTotals born_old;  // traced, since then

    LifeSums& Present() {
      if (present == nullptr) present = std::make_unique<LifeSums>();
      return *present;
    }
    HeapTotals born() const;
    HeapTotals died() const;  // or lost
  };
  static constexpr uint64_t kAlwaysCounted = uint64_t{1} << 16, kEventsPerCounted = 32;

  Account& AccountOf(uint32_t shape, uint32_t provenance) { return AccountOf(shape, InWindow(provenance)); }
  Account& AccountOf(uint32_t shape, bool in_window) {
    std::vector<uint32_t>& of_shapes = accounts_of_shapes_[in_window];
    if (shape >= of_shapes.size() || of_shapes[shape] == kNoAccount) NewShape(shape, in_window);
    return accounts_[of_shapes[shape]];
  }
  void NewShape(uint32_t shape, bool in_window);
  bool InWindow(uint32_t provenance) const {
    if (window_.all()) return true;
    const bool older = provenance == ProvenanceTable::kBeforeTrace || provenance == ProvenanceTable::kFiller;
    return window_.Has(older ? -1 : provenance_table()[provenance].birth);
  }
  static bool IsPresent(uint32_t provenance) { return provenance == ProvenanceTable::kBeforeTrace; }
  LifeSums& SumsOf(uint32_t shape, uint32_t provenance) {
    Account& account = AccountOf(shape, provenance);
    return IsPresent(provenance) ? account.Present() : account.traced;
  }
  HeapTotals Times(uint32_t shape, uint64_t objects) const {
    return {objects, objects * definitions().shapes().words(shape)};
  }
  void Outside(const Neighbours& objects) {
    uint64_t word = objects.word;
    for (size_t i = 0; i < objects.shapes.size(); i++) {
      outside_.push_back(word);
      outside_shapes_.Add(objects.shapes[i]);
      word += objects.words[i];
    }
  }
  void TakeBorn();
  void Copied(uint32_t words);
  void TakeCopied();
  void TakeNewbornsCopied();
  auto Deaths(uint32_t provenance, trace::Generation generation);
  void NewbornsDied(std::span<const DeadRange> ranges, uint64_t in_pages);
  bool OnlyNewborns(const Page& page) const {
    return page.one_provenance() && page.provenance_of_index(0) == newborns_.provenance();
  }
  uint64_t Survived(uint32_t provenance) const;
  void FindBornOld(const std::vector<Space>& spaces, uint64_t Space::*reach);
  bool Missing() const { return state() == HeapState::kLost || state() == HeapState::kUnknown; }
  // Calls take(provenance) each time when neighbours_ has objects of that provenance, which it has to take: all
  // that start there and were not taken by the current collection.
  template <class Visit, class Skips>
  void ForEachProvenance(uint64_t bottom, uint64_t top, Visit&& take, Skips&& skips);
  template <class Visit>
  void ForEachProvenance(uint64_t bottom, uint64_t top, Visit&& take) {
    ForEachProvenance(bottom, top, take, [](const Page&) { return false; });
  }
  // Calls also(shape, provenance, objects) for all that it counts.
  template <class Also>
  void CountHeap(Also&& also);
  void CountPromoted(Account* account) const;
  void Check(Account* account, const Imbalance& where);
  void CheckSite(const Account& account, LifeSums* sums);
  void Report(const Imbalance& imbalance);

  static constexpr uint32_t kNoAccount = UINT32_MAX;
  BirthWindow window_;
  bool in_window_;  // what is allocated now
  std::deque<Account> accounts_;
  std::vector<uint32_t> accounts_of_shapes_[2];  // those of the window are the second
  std::unordered_map<uint32_t, uint32_t> accounts_of_site_classes_[2];
  BornTally born_;  // in ALLOC segments since it was taken
  // In the collection, of those in the window that are traced; the second: out of young spaces. Newborns apart.
  ShapeTally copied_[2], newborns_copied_[2];
  ShapeTally neighbours_;          // of one provenance, while the heap is walked
  Newborns newborns_;              // allocated in TLABs since the last collection
  std::vector<uint64_t> outside_;  // words of objects since the last collection
  ShapeTally outside_shapes_;      // of these
  uint64_t now_ = 0;               // of the collection or sync point
  Place place_ = kTlab;
  bool by_share_ = false;  // of the stretches of the ALLOC segment only a share was read
  CountByShape chosen_;    // what was allocated where only a share was read
  uint64_t events_ = 0;    // objects that were allocated, copied or found since the heap was counted
  std::optional<uint64_t> counted_at_, last_gc_;  // ids of collections
  bool collecting_ = false;                       // between the begin of a collection and its end
  bool missing_ = false;                          // events, since the heap was counted
  bool ever_missing_ = false;
  Ledger ledger_;
  StackSamples stacks_;
};

}  // namespace anttracks::analyzer
