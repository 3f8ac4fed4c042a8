// SPDX-License-Identifier: Apache-2.0
// What a rotated trace decides (docs/decisions/0004-rotation.md): when to want a sync point or a collection,
// when to drop events, which file to delete or to fold, and the arithmetic of the bound. Decides only:
// RotatingTrace and Writer do it, and report what they have done.
//
// The bound: the sum of all files never exceeds max_bytes * (1 + deviation). There are n = 1 / deviation data
// files of an equal share of what the definitions leave. A file that has its share waits for the next
// collection, to end there; the deviation is how far it may grow meanwhile. Beyond that it takes the room of
// the oldest files: new events are worth more than old ones. With keep= one more share is left for the
// provenance files.
//
// The current data file:
//
//     FileBegun --> incomplete --SyncPointComplete--> complete --has its share--> wants a sync point
//                       |                                |------near the bound--> wants a collection, too
//                       |                                |
//                       `---------BeginToDrop------------'
//                                     |
//                                     v
//         dropping, until the next FileBegun; wants a sync point, and a collection if the file is complete
//
// An incomplete file that drops cannot hold the sync point that it begins with: another one is tried now and
// then, but no collection is asked for, as the application comes first.
//
// Thread safety: one thread at a time. No I/O, no clock: who asks gives the time. Units: bytes.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace anttracks::io {

struct RotationLimits {
  uint64_t max_bytes = 0;
  double deviation = 0.1;
  std::string fold_program = {};  // path of anttracks; empty: what deleted files know is lost

  uint64_t files() const { return static_cast<uint64_t>(std::lround(1 / deviation)); }
  uint64_t slack() const { return static_cast<uint64_t>(static_cast<double>(max_bytes) * deviation); }
  uint64_t bound() const { return max_bytes + slack(); }
  // What waits to be written goes into the current data file whatever is decided meanwhile: a small part of the
  // slack.
  uint64_t backlog() const { return slack() / 4; }
  bool keeps() const { return !fold_program.empty(); }
};

class RotationPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Between two requests for a collection.
  static constexpr std::chrono::milliseconds kAskAgainAfter{50};
  // Before another sync point is tried when one had no room in its file; doubled each time.
  static constexpr std::chrono::milliseconds kRetryAfter{250}, kRetryAtMost{30'000};
  // For the LOSS and END that are written when there is no room for anything else, and for the header of a next
  // file.
  static constexpr uint64_t kReserve = 4096;

  struct DataFile {
    uint32_t index = 0;
    uint64_t bytes = 0;
    uint64_t provenance_bytes = 0;  // of its provenance file; 0: there is none
    bool fold_tried = false;        // of the file before into this one
  };
  struct Wish {
    bool sync_point = false, collection = false;
  };
  struct Dropped {
    uint64_t chunks = 0, bytes = 0;
  };

  explicit RotationPolicy(const RotationLimits& limits) : limits_(limits) {}

  const RotationLimits& limits() const { return limits_; }
  // What a data file should have.
  uint64_t share() const;
  // Raw bytes that a chunk should have: small enough to use a small file well.
  size_t chunk_bytes() const;
  // The rest needs a first FileBegun.
  const DataFile& oldest() const { return files_.front(); }
  const DataFile& current() const { return files_.back(); }

  // What was done. The first data file has index 0, each one the next.
  void FileBegun();
  void Wrote(uint64_t bytes);
  void WroteDefinitions(uint64_t bytes);
  // With its provenance. True: with keep=, what it knew of live objects is lost.
  bool OldestDeleted();

  // For events; definitions may take what is kept for the last words.
  bool HasRoom(uint64_t bytes) const { return total_ + bytes + kReserve <= limits_.bound(); }
  bool HasRoomForDefinitions(uint64_t bytes) const { return total_ + bytes <= limits_.bound(); }
  // Data files, the current one included, that no room is taken from: while the heap of the current one is not
  // complete, the one before has it.
  size_t files_to_keep() const { return complete_ ? 1 : 2; }
  // Whether the oldest data file must go: for so many bytes beside the files that stay, or for the share of a
  // file that has just begun.
  bool MustDelete(uint64_t bytes, size_t keep) const { return !HasRoom(bytes) && files_.size() > keep; }
  bool MustDeleteForShare() const;

  // The current data file has its share, or nearly all that the bound leaves it.
  bool IsFull() const { return current().bytes >= share(); }
  bool NearBound() const { return total_ + limits_.slack() / 2 >= limits_.bound(); }
  // What is due now. A collection that it names counts as asked for.
  Wish Wishes(Time now);

  // The sync point with which the current data file begins is written, unless parts of it were dropped. False:
  // they were.
  bool SyncPointComplete();
  // There was no room. True: not for the sync point, or for the events beside it; see TooSmall.
  bool BeginToDrop(Time now);
  void Drop(uint64_t bytes);
  // Since the last call.
  Dropped TakeDropped();
  // Only the last words are still to come, for which there is room.
  void End();
  bool dropping() const { return phase_ == Phase::kDropping; }
  // What is written must have room made for it.
  bool bounded() const { return phase_ == Phase::kWriting; }
  // Says that a sync point of about so many bytes has no room in a data file.
  std::string TooSmall(double sync_bytes) const;

  // The data file into which the one before shall be folded now; counts as tried, and its provenance has room
  // until EndFold.
  std::optional<uint32_t> BeginFold();
  void EndFold();
  // The one that is folded into.
  std::optional<uint32_t> folds_into() const { return folds_into_; }
  void ProvenanceMade(uint32_t index, uint64_t bytes);
  // Of a provenance file.
  uint64_t max_provenance_bytes() const { return share() / 2; }

 private:
  enum class Phase { kWriting, kDropping, kEnding };

  const RotationLimits limits_;
  std::deque<DataFile> files_;  // oldest first; the last one is current
  uint64_t definitions_bytes_ = 0;
  uint64_t total_ = 0;  // of all files, and of what is kept for a fold

  Phase phase_ = Phase::kWriting;
  bool complete_ = true;  // the sync point of the current file
  Dropped dropped_;
  std::chrono::milliseconds retry_after_{kRetryAfter};
  Time retry_at_{}, asked_{};

  std::optional<uint32_t> folds_into_;
  uint64_t fold_bytes_ = 0;  // in total_ while one runs
};

}  // namespace anttracks::io
