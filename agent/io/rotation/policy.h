// SPDX-License-Identifier: Apache-2.0
// The decisions of a rotated trace (docs/decisions/0004-rotation.md): when to want a sync point or a
// collection, when to drop events, which file to delete, and the arithmetic of the bound. It only
// decides: RotatingTrace and Writer act, and report what they have done.
//
// The bound: all files together never exceed max_bytes * (1 + deviation). There are n = 1 / deviation data
// files, each with an equal share of what the definitions leave. A file that has reached its share goes on to
// the next collection and ends there; it may grow by the deviation meanwhile. Beyond that the oldest files are
// deleted: new events are worth more than old ones. With keep=yes one more share is left for the provenance
// files.
//
// The current data file:
//
//     FileBegun --> incomplete --SyncPointComplete--> complete --at its share--> wants a sync point
//                       |                                |-----near the bound--> wants a collection, too
//                       |                                |
//                       `---------BeginToDrop------------'
//                                     |
//                                     v
//         dropping, until the next FileBegun; wants a sync point, and a collection if the file is complete
//
// If events are dropped in an incomplete file, the file has no room for its sync point: another sync point is
// tried now and then, but no collection is requested, as the application comes first.
//
// Thread safety: one thread at a time. No I/O and no clock: the caller passes the time. Units: bytes.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace anttracks::io {

struct RotationLimits {
  uint64_t max_bytes = 0;
  double deviation = 0.1;
  bool keep_provenance = false;  // in provenance files

  uint64_t files() const { return static_cast<uint64_t>(std::lround(1 / deviation)); }
  uint64_t slack() const { return static_cast<uint64_t>(static_cast<double>(max_bytes) * deviation); }
  uint64_t bound() const { return max_bytes + slack(); }
  // How much may wait in the queue: a small part of the slack, as it goes into the current data file whatever
  // is decided.
  uint64_t backlog() const { return slack() / 4; }
};

class RotationPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The least time between two requests for a collection.
  static constexpr std::chrono::milliseconds kAskAgainAfter{50};
  // The time before the next try when a sync point had no room in its file; doubled each time.
  static constexpr std::chrono::milliseconds kRetryAfter{250}, kRetryAtMost{30'000};
  // Reserved for LOSS and END, which are written when there is no room for anything else, and for the header of
  // a next file.
  static constexpr uint64_t kReserve = 4096;

  struct DataFile {
    uint32_t index = 0;
    uint64_t bytes = 0;
    uint64_t provenance_bytes = 0;  // of its provenance file; 0: there is none
  };
  struct Wish {
    bool sync_point = false, collection = false;
  };
  struct Dropped {
    uint64_t chunks = 0, bytes = 0;
  };

  explicit RotationPolicy(const RotationLimits& limits) : limits_(limits) {}

  const RotationLimits& limits() const { return limits_; }
  // How many bytes a data file should have.
  uint64_t share() const;
  // How many raw bytes a chunk should have: few enough for a small file.
  size_t chunk_bytes() const;
  // The following need a first FileBegun.
  const DataFile& oldest() const { return files_.front(); }
  const DataFile& current() const { return files_.back(); }

  // Reports of what was done. Data files have the indexes 0, 1, 2, …
  void FileBegun();
  void Wrote(uint64_t bytes);
  void WroteDefinitions(uint64_t bytes);
  // The oldest data file was deleted, with its provenance file.
  void OldestDeleted();

  // For events, and for definitions, which may use the reserve.
  bool HasRoom(uint64_t bytes) const { return total_ + bytes + kReserve <= limits_.bound(); }
  bool HasRoomForDefinitions(uint64_t bytes) const { return total_ + bytes <= limits_.bound(); }
  // How many of the newest data files, the current one included, must not be deleted: while the sync point of
  // the current one is incomplete, only the one before has the whole heap.
  size_t files_to_keep() const { return complete_ ? 1 : 2; }
  // Whether the oldest data file must be deleted: to write that many bytes while `keep` files are left, or to
  // have room for the share of a file that has just begun.
  bool MustDelete(uint64_t bytes, size_t keep) const { return !HasRoom(bytes) && files_.size() > keep; }
  bool MustDeleteForShare() const;

  // The current data file has reached its share; all files have nearly reached the bound.
  bool IsFull() const { return current().bytes >= share(); }
  bool NearBound() const { return total_ + limits_.slack() / 2 >= limits_.bound(); }
  // What is due now. A collection in the result counts as requested.
  Wish Wishes(Time now);

  // The sync point at the start of the current data file was written. False: parts of it were dropped.
  bool SyncPointComplete();
  // There was no room. True: not even for the sync point and the events meanwhile; see TooSmall.
  bool BeginToDrop(Time now);
  void Drop(uint64_t bytes);
  // What was dropped since the last call.
  Dropped TakeDropped();
  // Only the end is still to be written, for which the reserve is enough.
  void End();
  bool dropping() const { return phase_ == Phase::kDropping; }
  // Whether room must be made for what is written.
  bool bounded() const { return phase_ == Phase::kWriting; }
  // The message that a sync point of about that many bytes has no room in a data file.
  std::string TooSmall(double sync_bytes) const;

  // The current data file has got a provenance file.
  void WroteProvenance(uint64_t bytes);
  // The largest size of a provenance file.
  uint64_t max_provenance_bytes() const { return share() / 2; }

 private:
  enum class Phase { kWriting, kDropping, kEnding };

  const RotationLimits limits_;
  std::deque<DataFile> files_;  // oldest first; the last one is current
  uint64_t definitions_bytes_ = 0;
  uint64_t total_ = 0;  // bytes of all files

  Phase phase_ = Phase::kWriting;
  bool complete_ = true;  // the sync point of the current file is written
  Dropped dropped_;
  std::chrono::milliseconds retry_after_{kRetryAfter};
  Time retry_at_{}, asked_{};
};

}  // namespace anttracks::io
