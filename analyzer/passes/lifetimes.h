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
// The ledger: after each collection, and at the end, the heap is counted anew, and for each site-class pair
// live before + allocated = live after + died must hold, in objects and words. "allocated" is all that came
// into the heap: also what a collection found in skipped stretches, what a sync point listed, and fillers.
// "died" is all that left it, also what was lost from sight. Where events are missing it is not checked.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes, ns since the start of the trace.
// Memory: that of Rebuild, 8 bytes per object that was allocated outside TLABs since the last collection, and
// a fixed amount per site-class pair.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/passes/counts.h"
#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/stack_samples.h"

namespace anttracks::analyzer {

// Size times the time that it was held, summed up exactly.
class HeldTime {
 public:
  void Begin(uint64_t words, uint64_t ns) { sum_ -= Wide{words} * ns; }
  void End(uint64_t words, uint64_t ns) { sum_ += Wide{words} * ns; }
  void Add(const HeldTime& other) { sum_ += other.sum_; }
  // 0 if times of the trace run backwards.
  double byte_seconds() const;

 private:
  __extension__ using Wide = unsigned __int128;
  __extension__ using SignedWide = __int128;
  Wide sum_ = 0;
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
  uint32_t site_class = 0;
  HeapTotals before, allocated, after, died;
};

struct Ledger {
  uint64_t checked = 0;          // collections, and the end of the trace
  uint64_t unchecked = 0;        // of these, where events are missing
  uint64_t imbalances = 0;       // how many there are
  std::vector<Imbalance> first;  // at most kMost
  static constexpr size_t kMost = 20;
  bool balances() const { return imbalances == 0; }
};

class Lifetimes : public Rebuild {
 public:
  Lifetimes(Definitions& definitions, Problems& problems)
      : Rebuild(definitions, problems, {}), chosen_(definitions) {}

  void AllocBegin(uint64_t, uint64_t time, uint32_t share) override;
  void RunBegin(trace::How how) override;
  void Object(uint64_t word, uint32_t shape, trace::How how) override {
    const uint32_t words = definitions().shapes().words(shape);
    LifeSums& sums = AccountOf(shape).traced;
    sums.born.Add({1, words});
    sums.held.Begin(words, time_);
    if (by_share_) chosen_.Object(word, shape, how);
    if (how == trace::How::kOutside) outside_.push_back(word);
    Rebuild::Object(word, shape, how);
  }
  void Skipped(uint64_t word, uint64_t words) override {
    chosen_.Skipped(word, words);
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
    if (from != to) Copied(words);
    return words;
  }
  void Filler(uint64_t word, uint32_t shape) override;
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void Stack(const StackEvent& event) override { stacks_.Add(0, 0, event); }
  void SyncBegin(const SyncEvent& event) override;
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override;
  bool SavedProvenance(const ProvenanceRun&) override { return true; }

  // Once, when all was decoded and there was a META: what is left is live at the end of the trace.
  void Finish(uint64_t end_ns);

  struct OfSiteClass {
    uint32_t site_class = 0;
    LifeSums traced;   // allocated in the trace, or covered by a filler
    LifeSums present;  // listed by a sync point
  };
  // After Finish; in the order in which the pairs were first seen.
  std::vector<OfSiteClass> BySiteClass() const;
  const Ledger& ledger() const { return ledger_; }
  // All that were sampled, of any thread.
  const StackSamples& stacks() const { return stacks_; }
  // How many stretches' worth of allocation is not known; see CountByShape. Exact where there is none.
  CountByShape& chosen() { return chosen_; }

 protected:
  void BeforeDrop(uint64_t bottom, uint64_t top, trace::Generation generation) override;
  void BeforeClear() override;

 private:
  // In place of a thread, in the provenance of an object that the trace saw allocated.
  enum Place : uint64_t { kTlab, kOutside, kOutsideInOld };

  struct Account {
    LifeSums traced, present;
    uint32_t site_class = 0;
    HeapTotals live, old;  // as of the last count of the heap; old: traced, and not in a young space
    // As of the count before that.
    HeapTotals live_before, born_before, died_before, old_before, died_old_before;
    HeapTotals born_old;  // traced, since then

    HeapTotals born() const;
    HeapTotals died() const;  // or lost
  };

  Account& AccountOf(uint32_t shape) {
    if (shape >= accounts_of_shapes_.size() || accounts_of_shapes_[shape] == kNoAccount) NewShape(shape);
    return accounts_[accounts_of_shapes_[shape]];
  }
  void NewShape(uint32_t shape);
  static bool IsPresent(const HeapObject& object) { return object.provenance == ProvenanceTable::kBeforeTrace; }
  LifeSums& SumsOf(const HeapObject& object) {
    Account& account = AccountOf(object.shape);
    return IsPresent(object) ? account.present : account.traced;
  }
  void Copied(uint32_t words);
  void Died(const HeapObject& object, trace::Generation generation);
  uint64_t Survived(const HeapObject& object) const;
  void FindBornOld(const std::vector<Space>& spaces);
  bool Missing() const { return state() == HeapState::kLost || state() == HeapState::kUnknown; }
  void CountHeap();
  void CountRange(uint64_t bottom, uint64_t top, trace::Generation generation);
  void CountPromoted(Account* account) const;
  void Check(Account* account, const Imbalance& where);
  void CheckSite(const Account& account, LifeSums* sums);
  void Report(const Imbalance& imbalance);

  static constexpr uint32_t kNoAccount = UINT32_MAX;
  std::vector<Account> accounts_;
  std::vector<uint32_t> accounts_of_shapes_;
  std::unordered_map<uint32_t, uint32_t> accounts_of_site_classes_;
  std::vector<uint64_t> outside_;  // words of objects since the last collection
  uint64_t time_ = 0;              // of the ALLOC segment
  uint64_t now_ = 0;               // of the collection or sync point
  Place place_ = kTlab;
  bool by_share_ = false;  // of the stretches of the ALLOC segment only a share was read
  CountByShape chosen_;    // what was allocated where only a share was read
  bool missing_ = false;   // events, since the heap was counted
  bool ever_missing_ = false;
  Ledger ledger_;
  StackSamples stacks_;
};

}  // namespace anttracks::analyzer
