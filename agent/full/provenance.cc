// SPDX-License-Identifier: Apache-2.0
#include "agent/full/provenance.h"

#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "agent/base/clock.h"
#include "agent/base/log.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kOldBit = 1;
constexpr size_t kSegmentBytes = 64 << 10;
// A destination, and an object of 4 GB.
constexpr size_t kMostNotesOfMove = 1 + 513;
// What a worker takes at once; it has its first ones anyway.
constexpr size_t kPiece = 4096, kFirstNotes = kMostNotesOfMove;
// One sync point that the writer has not come to, and another one that began.
constexpr size_t kMostSaved = 2;

}  // namespace

void Provenance::Note(const AddressRange& stretch, std::vector<AddressRange>* filled) {
  if (!filled->empty() && filled->back().top == stretch.start) {
    filled->back().top = stretch.top;
  } else {
    filled->push_back(stretch);
  }
}

void Provenance::Begin(uint32_t workers) {
  workers_ = std::vector<Worker>(workers);
  ForgetNotes();
  saved_.reserve(kMostSaved);
}

void Provenance::Append(const Run& run, Runs* runs) {
  if (!runs->empty() && Continues(runs->back(), run)) {
    runs->back().end = run.end;
  } else {
    runs->push_back(run);
  }
}

void Provenance::SortByAddress(Runs* runs) {
  std::sort(runs->begin(), runs->end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
}

void Provenance::Allocated(uint32_t thread, std::vector<AddressRange>* filled) {
  if (filled->empty()) return;
  const std::lock_guard lock(mutex_);
  OrLose([&] {
    for (const AddressRange& stretch : *filled) filled_.push_back({stretch.start, stretch.top, thread, ended_});
  });
  filled->clear();
}

void Provenance::CollectionBegins(const AntTracksGC& gc) {
  const std::lock_guard lock(mutex_);
  SettleNoted();
  fresh_ = std::exchange(filled_, {});
  SortByAddress(&fresh_);
  freed_.clear();
  OrLose([&] {
    for (uint32_t i = 0; i < gc.nspaces; i++) {
      const AntTracksSpace& space = gc.spaces[i];
      const bool taken = space.collected == ANTTRACKS_COLLECTED ||
                         (space.collected == ANTTRACKS_OPTIONAL && gc.kind == ANTTRACKS_GC_FULL);
      if (taken && space.bottom < space.top) freed_.push_back({space.bottom, space.top});
    }
  });
  for (Worker& worker : workers_) worker.in_runs = worker.in_fresh = {};
}

void Provenance::CollectionEnds(const AntTracksGC& gc) {
  const std::lock_guard lock(mutex_);
  OrLose([&] {
    for (uint32_t i = 0; i < gc.nspaces && gc.kind != ANTTRACKS_GC_FULL; i++) {
      const AntTracksSpace& space = gc.spaces[i];
      if (space.collected == ANTTRACKS_OPTIONAL) freed_.push_back({space.bottom, space.end});
    }
  });
  ended_++;
  noted_ = true;
}

const Provenance::Run* Provenance::Cursor::Holding(const Runs& runs, uint64_t address, uint64_t* next) {
  const auto found = [&](size_t i) {
    return i < runs.size() && runs[i].end > address && (i == 0 || runs[i - 1].end <= address);
  };
  if (!found(at) && !found(++at)) {
    const auto first = std::partition_point(runs.begin(), runs.end(),
                                            [address](const Run& run) { return run.end <= address; });
    at = static_cast<size_t>(first - runs.begin());
  }
  if (at >= runs.size()) return nullptr;
  const Run& run = runs[at];
  const bool holds = run.begin <= address;
  *next = std::min(*next, holds ? run.end : run.begin);
  return holds ? &run : nullptr;
}

// Bit 0 of to_address: in the old generation.
void Provenance::NoteMove(Worker& worker, uint64_t from, uint64_t to_address, uint64_t words) {
  Notes& noted = worker.noted[to_address & kOldBit];
  const uint64_t to = to_address / trace::kWordBytes;
  if (to == noted.to && from == noted.from && !noted.notes.empty() &&
      (noted.notes.back() & kMostWords) + words <= kMostWords) {
    noted.notes.back() += words;
  } else {
    if (lost()) return;
    if (worker.notes() + kMostNotesOfMove > worker.most_noted && !TakeMoreMemory(worker)) MakeRuns(worker);
    if (to != noted.to || noted.notes.empty()) noted.notes.push_back(to << kWordsBits);
    for (uint64_t left = words, at = from; left != 0;) {
      const uint64_t some = std::min(left, kMostWords);
      noted.notes.push_back(at << kWordsBits | some);
      at += some;
      left -= some;
    }
  }
  noted.from = from + words;
  noted.to = to + words;
}

bool Provenance::TakeMoreMemory(Worker& worker) {
  size_t free = free_notes_.load(std::memory_order_relaxed);
  do {
    if (free < kPiece) return false;
  } while (!free_notes_.compare_exchange_weak(free, free - kPiece, std::memory_order_relaxed));
  worker.most_noted += kPiece;
  return true;
}

// Of what the worker has noted.
void Provenance::MakeRuns(Worker& worker) {
  for (size_t generation = 0; generation < worker.noted.size(); generation++) {
    std::vector<uint64_t>& notes = worker.noted[generation].notes;
    uint64_t to = 0;
    for (const uint64_t note : notes) {
      if (lost()) break;
      const uint64_t word = note >> kWordsBits, words = note & kMostWords;
      if (words == 0) {
        to = word;
      } else {
        MakeRuns(worker, word * trace::kWordBytes, to * trace::kWordBytes, words, &worker.made[generation]);
        to += words;
      }
    }
    notes.clear();
  }
}

void Provenance::MakeRuns(Worker& worker, uint64_t from, uint64_t to, uint64_t words, Runs* made) {
  const uint64_t end = from + words * trace::kWordBytes;
  const size_t before = made->size();
  for (uint64_t next = 0; from < end; to += next - from, from = next) {
    next = end;
    // Most are new.
    const Run* run = worker.in_fresh.Holding(fresh_, from, &next);
    if (run == nullptr) run = worker.in_runs.Holding(runs_, from, &next);
    if (run != nullptr) Append({to, to + (next - from), run->thread, run->birth}, made);
  }
  const size_t more = made->size() - before;
  if (more != 0 && made_.fetch_add(more, std::memory_order_relaxed) + more > limits_.runs)
    lost_.store(Lost::kTooMany, std::memory_order_relaxed);
}

void Provenance::ForgetNotes() {
  size_t held = 0;
  for (const Worker& worker : workers_) {
    for (const Notes& noted : worker.noted) held += noted.notes.capacity() * sizeof(uint64_t);
  }
  for (Worker& worker : workers_) {
    for (Notes& noted : worker.noted) {
      // Others will need it the next time. Less is kept: to get memory again takes time in the pause.
      if (held > 2 * limits_.noted_bytes) noted.notes = {};
      noted.notes.clear();
    }
    worker.made = {};
    worker.most_noted = kFirstNotes;
  }
  free_notes_.store(limits_.noted_bytes / sizeof(uint64_t), std::memory_order_relaxed);
  made_.store(0, std::memory_order_relaxed);
}

void Provenance::Settle() {
  const std::lock_guard lock(mutex_);
  SettleNoted();
}

void Provenance::SettleNoted() {
  if (!noted_) return;
  const uint64_t begin = Clock::ThreadCpu();
  noted_ = false;
  const bool saves = std::exchange(saves_, false);
  trace::SavedProvenance saved;
  OrLose([&] {
    const Runs made = TakeMade();
    if (!lost()) Merge(made);
  });
  ForgetNotes();
  if (lost()) Forget();
  OrLose([&] {
    if (saves) saved = Save();
  });
  // Also if it is empty: each sync point takes its own.
  if (saves) saved_.push_back(std::move(saved));
  settle_ns_.Add(Clock::ThreadCpu() - begin);
}

Provenance::Runs Provenance::TakeMade() {
  Runs all;
  for (Worker& worker : workers_) {
    MakeRuns(worker);
    for (Runs& made : worker.made) {
      all.insert(all.end(), made.begin(), made.end());
      made = {};
    }
    if (lost()) return {};
  }
  SortByAddress(&all);
  return all;
}

// What was freed goes, and what was moved comes.
void Provenance::Merge(const Runs& made) {
  std::sort(freed_.begin(), freed_.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  Runs before;
  before.reserve(runs_.size() + fresh_.size());
  std::merge(runs_.begin(), runs_.end(), fresh_.begin(), fresh_.end(), std::back_inserter(before),
             [](const Run& a, const Run& b) { return a.begin < b.begin; });
  runs_.clear();
  fresh_.clear();
  auto moved = made.begin();
  const auto keep = [&](const Run& run) {
    for (; moved != made.end() && moved->begin < run.begin; ++moved) Append(*moved, &runs_);
    Append(run, &runs_);
  };
  auto freed = freed_.begin();
  for (Run run : before) {
    while (freed != freed_.end() && freed->top <= run.begin) ++freed;
    for (auto at = freed; at != freed_.end() && at->start < run.end; ++at) {
      if (run.begin < at->start) keep({run.begin, at->start, run.thread, run.birth});
      run.begin = std::max(run.begin, std::min(at->top, run.end));
    }
    if (run.begin < run.end) keep(run);
  }
  for (; moved != made.end(); ++moved) Append(*moved, &runs_);
  const auto overlap = [](const Run& run, const Run& next) { return next.begin < run.end; };
  if (runs_.size() > limits_.runs) {
    lost_.store(Lost::kTooMany, std::memory_order_relaxed);
  } else if (std::adjacent_find(runs_.begin(), runs_.end(), overlap) != runs_.end()) {
    lost_.store(Lost::kOverlap, std::memory_order_relaxed);
  }
}

// Instead of memory that nobody has granted.
void Provenance::Forget() {
  const Lost lost = lost_.exchange(Lost::kNo, std::memory_order_relaxed);
  if (forgotten_.value() == 0) {
    LogWarn("keep=yes: the provenance of older live objects is forgotten: " +
            (lost == Lost::kTooMany
                 ? "there is no room for more than " + std::to_string(limits_.runs) + " runs of objects"
             : lost == Lost::kNoMemory ? std::string("not enough memory")
                                       : std::string("internal error: two runs of objects overlap")));
  }
  forgotten_.Add(1);
  runs_ = {};
  fresh_ = {};
}

void Provenance::SyncPointBegins() {
  const std::lock_guard lock(mutex_);
  if (noted_) {
    saves_ = true;
    return;
  }
  trace::SavedProvenance saved;
  OrLose([&] { saved = Save(); });
  saved_.push_back(std::move(saved));
}

void Provenance::SyncPointAbandoned() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(saves_, false) && !saved_.empty()) saved_.pop_back();
}

trace::SavedProvenance Provenance::Save() const {
  trace::SavedProvenance saved{{}, forgotten_.value() != 0};
  trace::ProvenanceEncoder encoder;
  const auto finish = [&] {
    saved.segments.emplace_back();
    encoder.Finish(&saved.segments.back());
  };
  for (const Run& run : runs_) {
    encoder.Run({run.begin / trace::kWordBytes, run.end / trace::kWordBytes, run.thread, ended_ - run.birth});
    if (encoder.size() >= kSegmentBytes) finish();
  }
  if (encoder.size() != 0) finish();
  return saved;
}

trace::SavedProvenance Provenance::TakeSaved() {
  const std::lock_guard lock(mutex_);
  SettleNoted();
  if (saved_.empty()) return {};
  trace::SavedProvenance oldest = std::move(saved_.front());
  saved_.erase(saved_.begin());
  return oldest;
}

void Provenance::Count(CounterValues* values) const {
  values->provenance_ns = settle_ns_.value();
  values->lost_provenance += forgotten_.value();
}

}  // namespace anttracks::core
