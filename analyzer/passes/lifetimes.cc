// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/lifetimes.h"

#include <algorithm>
#include <bit>
#include <utility>

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

void Newborns::Begin(uint32_t provenance) {
  provenance_ = provenance;
  for (const uint32_t shape : touched_) left_[shape] = 0;
  touched_.clear();
  all_ = 0;
}

bool Newborns::Are(uint64_t objects) const {
  return all_ == static_cast<int64_t>(objects) &&
         std::all_of(touched_.begin(), touched_.end(), [&](uint32_t shape) { return left_[shape] >= 0; });
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

HeapTotals Lifetimes::Account::born() const { return present ? traced.born + present->born : traced.born; }
HeapTotals Lifetimes::Account::died() const {
  const HeapTotals gone = traced.died() + traced.lost;
  return present ? gone + present->died() + present->lost : gone;
}

void Lifetimes::NewShape(uint32_t shape, bool in_window) {
  std::vector<uint32_t>& of_shapes = accounts_of_shapes_[in_window];
  if (shape >= of_shapes.size()) of_shapes.resize(shape + size_t{1} + shape / 4, kNoAccount);
  const uint32_t site_class = definitions().shapes()[shape].site_class;
  const auto [at, is_new] =
      accounts_of_site_classes_[in_window].try_emplace(site_class, static_cast<uint32_t>(accounts_.size()));
  if (is_new) {
    Account& account = accounts_.emplace_back();
    account.site_class = site_class;
    account.in_window = in_window;
  }
  of_shapes[shape] = at->second;
}

void Lifetimes::TakeBorn() {
  born_.Take([&](uint32_t shape, uint64_t objects, uint64_t base_ns, int64_t later_ns) {
    events_ += objects;
    newborns_.Add(shape, static_cast<int64_t>(objects));
    LifeSums& sums = AccountOf(shape, in_window_).traced;
    sums.born.Add(Times(shape, objects));
    sums.held.Begin(objects, definitions().shapes().words(shape), base_ns, later_ns);
  });
}

void Lifetimes::AllocBegin(uint64_t, uint64_t time, uint32_t share) {
  if (!born_.Fits(time)) TakeBorn();
  born_.SetTime(time);
  place_ = kTlab;
  by_share_ = share != trace::kWholeShare;
  if (by_share_ && in_window_) chosen_.AllocBegin(0, time, share);
  Rebuild::AllocBegin(place_, time, share);
  if (newborns_.provenance() == Newborns::kNone) newborns_.Begin(provenance());
}

void Lifetimes::RunBegin(trace::How how) {
  if (by_share_ && in_window_) chosen_.RunBegin(how);
  const Place place = how == trace::How::kOutside ? kOutside : kTlab;
  if (place == place_) return;
  place_ = place;
  set_provenance(place);
}

// What is found was allocated since the collection before, as what is allocated now.
bool Lifetimes::Found(uint64_t from, uint64_t to, uint32_t shape) {
  const uint64_t before = gc().found.objects;
  const bool goes_on = Rebuild::Found(from, to, shape);
  if (gc().found.objects == before) return goes_on;
  events_++;
  if (in_window_) chosen_.Found(from, to, shape);
  const HeapTotals object = Times(shape, 1);
  LifeSums& sums = AccountOf(shape, in_window_).traced;
  sums.born.Add(object);
  sums.held.Begin(object.words, now_);  // it was allocated earlier, but when is not known
  if (from == to) return goes_on;
  sums.copied.Add(object);
  sums.copied_young.Add(object);
  return goes_on;
}

void Lifetimes::Copied(uint32_t words) {
  if (taken() == nullptr) return;
  events_++;
  const auto& [word, shape, provenance] = *taken();
  const bool from_young = gc().kind != GcKind::kFull && taken_from_young();
  if (provenance == newborns_.provenance()) return newborns_copied_[from_young].Add(shape);
  if (!IsPresent(provenance) && InWindow(provenance)) return copied_[from_young].Add(shape);
  LifeSums& sums = SumsOf(shape, provenance);
  sums.copied.Add({1, words});
  if (from_young) sums.copied_young.Add({1, words});
}

// To be called while newborns_ still are those that were copied.
void Lifetimes::TakeNewbornsCopied() {
  for (const bool from_young : {false, true}) {
    newborns_copied_[from_young].Take([&](uint32_t shape, uint64_t objects) {
      newborns_.Add(shape, -static_cast<int64_t>(objects));
      LifeSums& sums = AccountOf(shape, in_window_).traced;
      sums.copied.Add(Times(shape, objects));
      if (from_young) sums.copied_young.Add(Times(shape, objects));
    });
  }
}

void Lifetimes::TakeCopied() {
  TakeNewbornsCopied();
  for (const bool from_young : {false, true}) {
    copied_[from_young].Take([&](uint32_t shape, uint64_t objects) {
      LifeSums& sums = AccountOf(shape, true).traced;
      sums.copied.Add(Times(shape, objects));
      if (from_young) sums.copied_young.Add(Times(shape, objects));
    });
  }
}

void Lifetimes::Filler(uint64_t word, uint32_t shape) {
  const uint64_t before = gc().fillers.objects;
  Rebuild::Filler(word, shape);
  if (gc().fillers.objects == before) return;
  LifeSums& sums = AccountOf(shape, ProvenanceTable::kFiller).traced;
  sums.born.Add(Times(shape, 1));
  sums.held.Begin(Times(shape, 1).words, now_);
}

uint64_t Lifetimes::Survived(uint32_t provenance) const {
  if (IsPresent(provenance) || provenance == ProvenanceTable::kFiller) return 0;
  return static_cast<uint64_t>(epoch() - provenance_table()[provenance].birth);
}

// What books the death of objects of this provenance: call it with a shape and the number of objects.
auto Lifetimes::Deaths(uint32_t provenance, Generation generation) {
  const bool young = generation == Generation::kYoung;
  const bool ages = !IsPresent(provenance) && provenance != ProvenanceTable::kFiller;
  const bool came_here = ages && !young && provenance_table()[provenance].thread != kOutsideInOld;
  const uint64_t survived = Survived(provenance);
  return [=, this](uint32_t shape, uint64_t objects) {
    LifeSums& sums = SumsOf(shape, provenance);
    const HeapTotals all = Times(shape, objects);
    (young ? sums.died_young : sums.died_old).Add(all);
    sums.held.End(all.words, now_);
    if (!ages) return;
    sums.survived += survived * objects;
    sums.died_by_age[AgeGroup(survived)] += objects;
    if (came_here) sums.promoted_dead.Add(all);
  };
}

template <class Visit, class Skips>
void Lifetimes::ForEachProvenance(uint64_t bottom, uint64_t top, Visit&& take, Skips&& skips) {
  uint32_t last = 0;
  const auto run = [&](std::span<const uint32_t> shapes, uint32_t provenance) {
    if (provenance != last) {
      if (!neighbours_.empty()) take(last);
      last = provenance;
    }
    for (const uint32_t shape : shapes) neighbours_.Add(shape);
  };
  heap().ForEachRun(bottom, top, run, skips);
  if (!neighbours_.empty()) take(last);
}

void Lifetimes::BeforeDrop(std::span<const DeadRange> ranges) {
  TakeNewbornsCopied();
  outside_shapes_.Take(
      [&](uint32_t shape, uint64_t objects) { newborns_.Add(shape, -static_cast<int64_t>(objects)); });
  uint64_t in_pages = 0;  // newborns in pages that are not walked
  for (const auto& [bottom, top, generation] : ranges) {
    const auto died = [&](uint32_t provenance) {
      const auto book = Deaths(provenance, generation);
      neighbours_.Take([&](uint32_t shape, uint64_t objects) {
        book(shape, objects);
        if (provenance == newborns_.provenance()) newborns_.Add(shape, -static_cast<int64_t>(objects));
      });
    };
    const auto skips = [&](const Page& page) {
      if (generation != Generation::kYoung || !OnlyNewborns(page)) return false;
      in_pages += page.count() - page.moved_count();
      return true;
    };
    ForEachProvenance(bottom, top, died, skips);
  }
  NewbornsDied(ranges, in_pages);
}

// Those in pages that have nothing else, in young spaces. The others were walked.
void Lifetimes::NewbornsDied(std::span<const DeadRange> ranges, uint64_t in_pages) {
  if (in_pages == 0) return;
  const auto book = Deaths(newborns_.provenance(), Generation::kYoung);
  if (newborns_.Are(in_pages)) return newborns_.Take(book);
  for (const auto& [bottom, top, generation] : ranges) {
    if (generation != Generation::kYoung) continue;
    const uint64_t first = (bottom + kPageWords - 1) / kPageWords, end = top / kPageWords;
    ForEachProvenance(
        first * kPageWords, end * kPageWords, [&](uint32_t) { neighbours_.Take(book); },
        [&](const Page& page) { return !OnlyNewborns(page); });
  }
}

// A loss made the heap unknown. What is in it may be dead.
void Lifetimes::BeforeClear() {
  missing_ = missing_ || Missing();
  TakeBorn();
  TakeCopied();
  outside_shapes_.Take([](uint32_t, uint64_t) {});
  newborns_.Begin(Newborns::kNone);
  if (heap().totals().objects == 0) return;
  heap().ForEach([&](const HeapObject& object, bool) {
    LifeSums& sums = SumsOf(object.shape, object.provenance);
    const uint32_t words = definitions().shapes().words(object.shape);
    sums.lost.Add({1, words});
    sums.held.End(words, now_);
    sums.survived += Survived(object.provenance);
  });
  for (Account& account : accounts_) {
    account.old_before = account.born_old = {};
    account.died_old_before = account.traced.died_old;
  }
  outside_.clear();
}

// What was allocated outside TLABs can lie in an old space, which only the collection tells (G1).
// reach: up to where an object may lie in a space, its top or its end.
void Lifetimes::FindBornOld(const std::vector<Space>& spaces, uint64_t Space::*reach) {
  for (const uint64_t word : outside_) {
    HeapObject object;
    const auto behind = std::upper_bound(spaces.begin(), spaces.end(), word,
                                         [](uint64_t at, const Space& space) { return at < space.bottom; });
    if (behind == spaces.begin() || word >= (*std::prev(behind)).*reach ||
        trace::IsYoung(std::prev(behind)->kind))
      continue;
    if (!heap().Find(word, &object) || IsPresent(object.provenance)) continue;
    ChangeProvenance(word, kOutsideInOld);
    AccountOf(object.shape, object.provenance).born_old.Add(Times(object.shape, 1));
  }
  outside_.clear();
}

void Lifetimes::GcBegin(const GcEvent& event) {
  now_ = std::max(now_, event.time);
  TakeBorn();
  Rebuild::GcBegin(event);
  collecting_ = true;
  FindBornOld(spaces(), &Space::top);
}

void Lifetimes::SyncBegin(const SyncEvent& event) {
  now_ = std::max(now_, event.time);
  Rebuild::SyncBegin(event);
}

void Lifetimes::SyncObject(uint64_t space, uint64_t word, uint32_t shape) {
  const uint64_t before = heap().totals().objects;
  Rebuild::SyncObject(space, word, shape);
  if (heap().totals().objects == before) return;
  const bool filler = definitions().site_class_of_shape(shape).site == kSiteFiller;
  LifeSums& sums = SumsOf(shape, filler ? ProvenanceTable::kFiller : ProvenanceTable::kBeforeTrace);
  sums.born.Add(Times(shape, 1));
  sums.held.Begin(Times(shape, 1).words, now_);
}

template <class Also>
void Lifetimes::CountHeap(Also&& also) {
  for (Account& account : accounts_) account.live = account.old = {};
  const auto count = [&](uint64_t bottom, uint64_t top, Generation generation) {
    ForEachProvenance(bottom, top, [&](uint32_t provenance) {
      const bool old = generation == Generation::kOld && !IsPresent(provenance);
      neighbours_.Take([&](uint32_t shape, uint64_t objects) {
        Account& account = AccountOf(shape, provenance);
        account.live.Add(Times(shape, objects));
        if (old) account.old.Add(Times(shape, objects));
        also(shape, provenance, objects);
      });
    });
  };
  uint64_t end = heap().start();
  for (const Space& space : spaces()) {
    count(end, space.bottom, Generation::kNone);
    count(space.bottom, space.end, trace::GenerationOf(space.kind));
    end = std::max(end, space.end);
  }
  count(end, heap().end(), Generation::kNone);
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
  line.site_class = account->site_class;
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
  TakeBorn();
  Rebuild::GcEnd(event);
  collecting_ = false;
  newborns_.Begin(Newborns::kNone);
  TakeCopied();
  window_.GcEnd(event.id);
  in_window_ = window_.all() || window_.Has(epoch());
  missing_ = missing_ || Missing();
  const std::optional<uint64_t> before = std::exchange(last_gc_, event.id);
  const uint64_t objects = heap().totals().objects;
  if (objects > kAlwaysCounted && objects > events_ / kEventsPerCounted) return;
  if (!MayWalk()) return;
  events_ = 0;
  CountHeap([](uint32_t, uint32_t, uint64_t) {});
  Imbalance where{.gc = event.id};
  if (counted_at_ != before) where.since = counted_at_;
  counted_at_ = event.id;
  for (Account& account : accounts_) {
    CountPromoted(&account);
    Check(&account, where);
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
  if (!ever_missing_) {
    return Report({.at_end = true,
                   .site_class = account.site_class,
                   .allocated = sums->born,
                   .after = sums->live,
                   .died = sums->died()});
  }
  if (sums->born.objects >= known.objects && sums->born.words >= known.words)
    sums->lost.Add(Since(sums->born, known));
}

void Lifetimes::Finish(uint64_t end_ns) {
  missing_ = missing_ || Missing() || collecting_;
  ever_missing_ = ever_missing_ || missing_;
  now_ = std::max(now_, end_ns);
  TakeBorn();
  TakeCopied();
  FindBornOld(spaces(), &Space::end);
  const auto live = [&](uint32_t shape, uint32_t provenance, uint64_t objects) {
    LifeSums& sums = SumsOf(shape, provenance);
    const HeapTotals all = Times(shape, objects);
    sums.live.Add(all);
    sums.held.End(all.words, now_);
    sums.survived += Survived(provenance) * objects;
  };
  CountHeap(live);
  for (Account& account : accounts_) {
    if (!missing_) CountPromoted(&account);
    Check(&account, {.at_end = true});
    CheckSite(account, &account.traced);
    if (account.present) CheckSite(account, account.present.get());
  }
  ledger_.checked++;
  ledger_.unchecked += missing_;
  FreeHeap();
}

std::vector<Lifetimes::OfSiteClass> Lifetimes::BySiteClass() const {
  static const LifeSums kNothing;
  std::vector<OfSiteClass> all;
  for (const Account& account : accounts_) {
    if (!account.in_window) continue;
    all.push_back({account.site_class, account.traced, account.present ? *account.present : kNothing});
  }
  return all;
}

}  // namespace anttracks::analyzer
