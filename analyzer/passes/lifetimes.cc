// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/lifetimes.h"

#include <algorithm>
#include <bit>

namespace anttracks::analyzer {
namespace {

using trace::Generation;

HeapTotals operator+(HeapTotals a, const HeapTotals& b) {
  a.Add(b);
  return a;
}

// Of sums that only grow.
HeapTotals Since(const HeapTotals& now, const HeapTotals& before) {
  return {now.objects - before.objects, now.words - before.words};
}

bool Equal(const HeapTotals& a, const HeapTotals& b) { return a.objects == b.objects && a.words == b.words; }

size_t AgeGroup(uint64_t survived) { return std::min<size_t>(std::bit_width(survived), LifeSums::kAges - 1); }

}  // namespace

double HeldTime::byte_seconds() const {
  const auto sum = static_cast<SignedWide>(sum_);
  return sum < 0 ? 0 : static_cast<double>(sum) * trace::kWordBytes / 1e9;
}

HeapTotals LifeSums::died() const { return died_young + died_old; }

void LifeSums::Add(const LifeSums& other) {
  for (HeapTotals LifeSums::*const each :
       {&LifeSums::born, &LifeSums::died_young, &LifeSums::died_old, &LifeSums::live, &LifeSums::lost,
        &LifeSums::copied, &LifeSums::copied_young, &LifeSums::promoted, &LifeSums::promoted_dead}) {
    (this->*each).Add(other.*each);
  }
  held.Add(other.held);
  for (size_t i = 0; i < kAges; i++) died_by_age[i] += other.died_by_age[i];
  survived += other.survived;
}

HeapTotals Lifetimes::Account::born() const { return traced.born + present.born; }
HeapTotals Lifetimes::Account::died() const {
  return traced.died() + traced.lost + present.died() + present.lost;
}

void Lifetimes::NewShape(uint32_t shape) {
  if (shape >= accounts_of_shapes_.size()) accounts_of_shapes_.resize(shape + size_t{1}, kNoAccount);
  const uint32_t site_class = definitions().shapes()[shape].site_class;
  const auto [at, is_new] =
      accounts_of_site_classes_.try_emplace(site_class, static_cast<uint32_t>(accounts_.size()));
  if (is_new) accounts_.emplace_back().site_class = site_class;
  accounts_of_shapes_[shape] = at->second;
}

void Lifetimes::AllocBegin(uint64_t thread, uint64_t time, uint32_t share) {
  time_ = time;
  place_ = kTlab;
  by_share_ = share != trace::kWholeShare;
  if (by_share_) chosen_.AllocBegin(thread, time, share);
  Rebuild::AllocBegin(place_, time, share);
}

void Lifetimes::RunBegin(trace::How how) {
  if (by_share_) chosen_.RunBegin(how);
  const Place place = how == trace::How::kOutside ? kOutside : kTlab;
  if (place == place_) return;
  place_ = place;
  set_provenance(place);
}

bool Lifetimes::Found(uint64_t from, uint64_t to, uint32_t shape) {
  const uint64_t before = gc().found.objects;
  const bool goes_on = Rebuild::Found(from, to, shape);
  if (gc().found.objects == before) return goes_on;
  chosen_.Found(from, to, shape);
  const HeapTotals object{1, definitions().shapes().words(shape)};
  LifeSums& sums = AccountOf(shape).traced;
  sums.born.Add(object);
  sums.held.Begin(object.words, now_);  // it was allocated earlier, but when is not known
  if (from == to) return goes_on;
  sums.copied.Add(object);
  sums.copied_young.Add(object);
  return goes_on;
}

void Lifetimes::Copied(uint32_t words) {
  if (taken() == nullptr) return;
  LifeSums& sums = SumsOf(*taken());
  sums.copied.Add({1, words});
  if (gc().kind != GcKind::kFull && taken_from_young()) sums.copied_young.Add({1, words});
}

void Lifetimes::Filler(uint64_t word, uint32_t shape) {
  const uint64_t before = gc().fillers.objects;
  Rebuild::Filler(word, shape);
  if (gc().fillers.objects == before) return;
  LifeSums& sums = AccountOf(shape).traced;
  sums.born.Add({1, definitions().shapes().words(shape)});
  sums.held.Begin(definitions().shapes().words(shape), now_);
}

uint64_t Lifetimes::Survived(const HeapObject& object) const {
  if (IsPresent(object) || object.provenance == ProvenanceTable::kFiller) return 0;
  return static_cast<uint64_t>(epoch() - provenance_table()[object.provenance].birth);
}

void Lifetimes::Died(const HeapObject& object, Generation generation) {
  const bool young = generation == Generation::kYoung;
  LifeSums& sums = SumsOf(object);
  const HeapTotals one{1, definitions().shapes().words(object.shape)};
  (young ? sums.died_young : sums.died_old).Add(one);
  sums.held.End(one.words, now_);
  if (IsPresent(object) || object.provenance == ProvenanceTable::kFiller) return;
  const uint64_t survived = Survived(object);
  sums.survived += survived;
  sums.died_by_age[AgeGroup(survived)]++;
  if (!young && provenance_table()[object.provenance].thread != kOutsideInOld) sums.promoted_dead.Add(one);
}

void Lifetimes::BeforeDrop(uint64_t bottom, uint64_t top, Generation generation) {
  heap().ForEach(bottom, top, [&](const HeapObject& object, bool taken) {
    if (!taken) Died(object, generation);
  });
}

// A loss made the heap unknown. What is in it may be dead.
void Lifetimes::BeforeClear() {
  missing_ = missing_ || Missing();
  if (heap().totals().objects == 0) return;
  heap().ForEach([&](const HeapObject& object, bool) {
    LifeSums& sums = SumsOf(object);
    const uint32_t words = definitions().shapes().words(object.shape);
    sums.lost.Add({1, words});
    sums.held.End(words, now_);
    sums.survived += Survived(object);
  });
  for (Account& account : accounts_) {
    account.old_before = account.born_old = {};
    account.died_old_before = account.traced.died_old;
  }
  outside_.clear();
}

// What was allocated outside TLABs can lie in an old space, which only the collection tells (G1).
void Lifetimes::FindBornOld(const std::vector<Space>& spaces) {
  for (const uint64_t word : outside_) {
    HeapObject object;
    const auto behind = std::upper_bound(spaces.begin(), spaces.end(), word,
                                         [](uint64_t at, const Space& space) { return at < space.bottom; });
    if (behind == spaces.begin() || word >= std::prev(behind)->top || trace::IsYoung(std::prev(behind)->kind))
      continue;
    if (!heap().Find(word, &object) || IsPresent(object)) continue;
    ChangeProvenance(word, kOutsideInOld);
    AccountOf(object.shape).born_old.Add({1, definitions().shapes().words(object.shape)});
  }
  outside_.clear();
}

void Lifetimes::GcBegin(const GcEvent& event) {
  now_ = std::max(now_, event.time);
  Rebuild::GcBegin(event);
  FindBornOld(spaces());
}

void Lifetimes::SyncBegin(const SyncEvent& event) {
  now_ = std::max(now_, event.time);
  Rebuild::SyncBegin(event);
}

void Lifetimes::SyncObject(uint64_t space, uint64_t word, uint32_t shape) {
  const uint64_t before = heap().totals().objects;
  Rebuild::SyncObject(space, word, shape);
  if (heap().totals().objects == before) return;
  const uint32_t words = definitions().shapes().words(shape);
  const bool filler = definitions().site_class_of_shape(shape).site == kSiteFiller;
  LifeSums& sums = filler ? AccountOf(shape).traced : AccountOf(shape).present;
  sums.born.Add({1, words});
  sums.held.Begin(words, now_);
}

void Lifetimes::CountRange(uint64_t bottom, uint64_t top, Generation generation) {
  const ObjectShapes& shapes = definitions().shapes();
  heap().ForEach(bottom, top, [&](const HeapObject& object, bool) {
    Account& account = AccountOf(object.shape);
    const HeapTotals one{1, shapes.words(object.shape)};
    account.live.Add(one);
    if (generation == Generation::kOld && !IsPresent(object)) account.old.Add(one);
  });
}

void Lifetimes::CountHeap() {
  for (Account& account : accounts_) account.live = account.old = {};
  uint64_t end = heap().start();
  for (const Space& space : spaces()) {
    CountRange(end, space.bottom, Generation::kNone);
    CountRange(space.bottom, space.end, trace::GenerationOf(space.kind));
    end = space.end;
  }
  CountRange(end, heap().end(), Generation::kNone);
}

// What came into old spaces, and was not allocated there.
void Lifetimes::CountPromoted(Account* account) const {
  const HeapTotals there = account->old + Since(account->traced.died_old, account->died_old_before);
  const HeapTotals was_there = account->old_before + account->born_old;
  if (there.objects >= was_there.objects && there.words >= was_there.words)
    account->traced.promoted.Add(Since(there, was_there));
  account->old_before = account->old;
  account->died_old_before = account->traced.died_old;
  account->born_old = {};
}

void Lifetimes::Report(const Imbalance& imbalance) {
  if (ledger_.imbalances++ < Ledger::kMost) ledger_.first.push_back(imbalance);
}

void Lifetimes::Check(Account* account, const Imbalance& where) {
  Imbalance line = where;
  line.before = account->live_before;
  line.allocated = Since(account->born(), account->born_before);
  line.after = account->live;
  line.died = Since(account->died(), account->died_before);
  if (!missing_ && !Equal(line.before + line.allocated, line.after + line.died)) Report(line);
  account->live_before = account->live;
  account->born_before = account->born();
  account->died_before = account->died();
}

void Lifetimes::GcEnd(const GcEvent& event) {
  Rebuild::GcEnd(event);
  missing_ = missing_ || Missing();
  if (!MayWalk()) return;
  CountHeap();
  for (Account& account : accounts_) {
    CountPromoted(&account);
    Check(&account, {false, event.id, account.site_class, {}, {}, {}, {}});
  }
  ledger_.checked++;
  ledger_.unchecked += missing_;
  ever_missing_ = ever_missing_ || missing_;
  missing_ = Missing();
}

// All that was born is somewhere. What is nowhere was lost, if events are missing.
void Lifetimes::CheckSite(const Account& account, LifeSums* sums) {
  const HeapTotals known = sums->died() + sums->live + sums->lost;
  if (Equal(sums->born, known)) return;
  if (!ever_missing_) return Report({true, 0, account.site_class, {}, sums->born, sums->live, sums->died()});
  if (sums->born.objects >= known.objects && sums->born.words >= known.words)
    sums->lost.Add(Since(sums->born, known));
}

void Lifetimes::Finish(uint64_t end_ns) {
  missing_ = missing_ || Missing();
  ever_missing_ = ever_missing_ || missing_;
  now_ = std::max(now_, end_ns);
  heap().ForEach([&](const HeapObject& object, bool) {
    LifeSums& sums = SumsOf(object);
    const uint32_t words = definitions().shapes().words(object.shape);
    sums.live.Add({1, words});
    sums.held.End(words, now_);
    sums.survived += Survived(object);
  });
  CountHeap();
  for (Account& account : accounts_) {
    Check(&account, {true, 0, account.site_class, {}, {}, {}, {}});
    CheckSite(account, &account.traced);
    CheckSite(account, &account.present);
  }
  ledger_.checked++;
  ledger_.unchecked += missing_;
}

std::vector<Lifetimes::OfSiteClass> Lifetimes::BySiteClass() const {
  std::vector<OfSiteClass> all;
  for (const Account& account : accounts_) all.push_back({account.site_class, account.traced, account.present});
  return all;
}

}  // namespace anttracks::analyzer
