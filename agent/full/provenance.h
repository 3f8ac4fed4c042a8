// SPDX-License-Identifier: Apache-2.0
// Which thread allocated what lives, and when, for traces whose oldest files are deleted (keep=yes): the events
// that say it go with their file, and a sync point does not say it.
//
// It is known by address, in runs of neighbours with the same thread and time. Threads allocate in TLABs, and
// collectors copy neighbours together, so there are few. Of a collection only three numbers per object are
// needed, from, to and size. They are noted in the pause; afterwards the writer makes the new runs of them:
//
//     runs, allocated --CollectionBegins--> noting --CollectionEnds--> noted --Settle--> runs
//
// Workers take the memory for their notes in pieces of what all may have together: there are more numbers of
// workers than ever work in one collection. A worker for which there is no further piece turns its notes into
// runs by itself, in the pause. If runs get too many, or memory short, all provenance is forgotten, and begins
// anew with what is allocated then. What was there before the trace is in no run.
//
// Thread safety: Allocated by any thread that is in a callback, Moved by GC workers, each with its number;
// SyncPointAbandoned, Settle, TakeSaved and Count by any; the rest by the VM thread at a safepoint. Units: byte
// addresses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "agent/base/address_range.h"
#include "agent/base/counter.h"
#include "agent/base/counters.h"
#include "trace/provenance.h"
#include "trace/wire.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Provenance {
 public:
  struct Limits {
    size_t noted_bytes = 16 << 20;  // of what all GC workers together have noted
    size_t runs = 1 << 20;          // beyond that all are forgotten; also of those that a collection makes
  };

  Provenance() : Provenance(Limits{}) {}
  explicit Provenance(const Limits& limits) : limits_(limits) {}
  Provenance(const Provenance&) = delete;

  // Adds a stretch that a thread has filled to those that it filled since the last collection.
  static void Note(const AddressRange& stretch, std::vector<AddressRange>* filled);

  // Before the first collection.
  void Begin(uint32_t workers);
  // The thread has filled these stretches since the last collection; leaves the vector empty.
  void Allocated(uint32_t thread, std::vector<AddressRange>* filled);
  // When all threads have said what they filled.
  void CollectionBegins(const AntTracksGC& gc);
  // AntTracksMove or AntTracksSlide.
  template <class Record>
  void Moved(uint32_t worker, std::span<const Record> records) {
    OrLose([&] {
      for (const Record& record : records)
        NoteMove(workers_[worker], record.from / trace::kWordBytes, record.to, record.words);
    });
  }
  // When all workers have said what they moved.
  void CollectionEnds(const AntTracksGC& gc);

  // A sync point begins at the end of this collection: its provenance is saved. The first of a trace has none.
  void SyncPointBegins();
  // The last sync point that began will not be completed.
  void SyncPointAbandoned();
  // The provenance of the oldest sync point for which it was saved and not yet taken.
  trace::SavedProvenance TakeSaved();

  // Makes runs of what the last collection has noted, if anything is left.
  void Settle();
  void Count(CounterValues* values) const;

 private:
  struct Run {
    uint64_t begin = 0, end = 0;
    uint32_t thread = 0;
    uint32_t birth = 0;  // how many collections had ended
  };
  // What a worker has moved to one generation: where to, and from where so many words, again and again, as
  // copies mostly lie one behind the other. Each note is a word number and a number of words, 0 with that of a
  // destination.
  struct Notes {
    std::vector<uint64_t> notes;
    uint64_t from = 0, to = 0;  // word numbers behind the last ones
  };
  // Searches in runs; fast where addresses are near the last ones.
  struct Cursor {
    size_t at = 0;
    // The run that holds the address, or nullptr. *next becomes no more than where that changes.
    const Run* Holding(const std::vector<Run>& runs, uint64_t address, uint64_t* next);
  };
  struct alignas(64) Worker {
    std::array<Notes, 2> noted;  // young, old
    std::array<std::vector<Run>, 2> made;
    size_t most_noted = 0;  // how many notes it has memory for
    size_t notes() const { return noted[0].notes.size() + noted[1].notes.size(); }
    Cursor in_runs, in_fresh;
  };
  using Runs = std::vector<Run>;

  static bool Continues(const Run& run, const Run& next) {
    return run.end == next.begin && run.thread == next.thread && run.birth == next.birth;
  }
  static void Append(const Run& run, Runs* runs);
  static void SortByAddress(Runs* runs);

  static constexpr unsigned kWordsBits = 20;
  static constexpr uint64_t kMostWords = (uint64_t{1} << kWordsBits) - 1;

  // What does not get memory costs the provenance, not the trace.
  template <class Action>
  void OrLose(Action action) {
    try {
      action();
    } catch (const std::bad_alloc&) {
      lost_.store(Lost::kNoMemory, std::memory_order_relaxed);
    }
  }
  bool lost() const { return lost_.load(std::memory_order_relaxed) != Lost::kNo; }
  void NoteMove(Worker& worker, uint64_t from, uint64_t to_address, uint64_t words);
  // False: all workers together have noted as much as they may.
  bool TakeMoreMemory(Worker& worker);
  void ForgetNotes();
  void MakeRuns(Worker& worker);
  void MakeRuns(Worker& worker, uint64_t from, uint64_t to, uint64_t words, Runs* made);
  void SettleNoted();
  Runs TakeMade();
  void Merge(const Runs& made);
  trace::SavedProvenance Save() const;
  void Forget();

  // Why all is forgotten when the present collection is settled, or the next one.
  enum class Lost : uint8_t { kNo, kTooMany, kNoMemory, kOverlap };

  const Limits limits_;
  std::vector<Worker> workers_;
  std::atomic<size_t> free_notes_{0};  // for workers to take
  std::atomic<size_t> made_{0};        // runs, by the workers, about
  std::atomic<Lost> lost_{Lost::kNo};

  // While a collection is under way only read, by the workers; otherwise guarded by mutex_.
  Runs runs_;   // after the last collection that is settled, by address
  Runs fresh_;  // allocated between that and the present or last one, by address

  std::mutex mutex_;
  Runs filled_;                                // since the last collection
  std::vector<AddressRange> freed_;            // what the collection took
  bool noted_ = false;                         // a collection has ended, and is not settled
  uint32_t ended_ = 0;                         // collections
  bool saves_ = false;                         // a sync point began at its end
  std::vector<trace::SavedProvenance> saved_;  // oldest first
  Counter settle_ns_, forgotten_;
};

}  // namespace anttracks::core
