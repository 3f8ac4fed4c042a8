// SPDX-License-Identifier: Apache-2.0
// Where the writer's bytes go: one file, or the files of a rotated trace. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/status.h"

namespace anttracks::io {

// What became of the data files that were deleted, with keep=.
struct FoldCounts {
  uint64_t folded = 0;    // what they knew about live objects is in their successor's file of origins
  uint64_t unfolded = 0;  // it is lost
  uint64_t cpu_ns = 0;    // of the processes that folded
};

class Sink {
 public:
  virtual ~Sink() = default;
  // All or nothing, as far as the reader is concerned: after an error the file ends where it ended before, if
  // the system lets it. The error says what to do.
  virtual trace::Status Write(std::span<const uint8_t> bytes) = 0;
  virtual trace::Status Close() = 0;
  // For a trace that never began: what was made is deleted.
  virtual void Remove() {}
  // Once, before anything is written by a thread of its own: the most bytes that the traced heap may have.
  virtual void HeapKnown(uint64_t) {}
  // Async-signal-safe, touches descriptors only.
  virtual void CloseInForkedChild() {}
  // An error if what was written is not where it was put any more (deleted by somebody).
  virtual trace::Status Check() { return {}; }

  // Raw bytes that a chunk should have.
  virtual size_t chunk_bytes() const { return 256 << 10; }

  // A rotated trace. The rest has a meaning only then.
  virtual bool rotates() const { return false; }
  // Into the symbols file. Deletes nothing: MakeRoom does; without it there is the room that is kept for the last words.
  virtual trace::Status WriteSymbols(std::span<const uint8_t> bytes) { return Write(bytes); }
  // Begins the next data file, then deletes the oldest ones: all are left if that one cannot be made.
  virtual trace::Status NextFile() { return {}; }
  // Room for so many bytes, if need be by deleting old data files, of which with the current one so many are kept. False:
  // they would break the bound.
  virtual bool MakeRoom(size_t bytes, size_t keep) {
    (void)bytes, (void)keep;
    return true;
  }
  // The sync point with which the current data file begins is written.
  virtual void SyncPointComplete() {}
  // Now and then, for what goes on beside the writing. Never waits.
  virtual void Poll() {}
  virtual FoldCounts folds() const { return {}; }
  // The current data file has its share.
  virtual bool WantsNext() const { return false; }
  // Says that a sync point of about so many bytes has no room in a data file.
  virtual std::string TooSmall(double) const { return {}; }
  // It has nearly all that the bound leaves it.
  virtual bool NearBound() const { return false; }
};

}  // namespace anttracks::io
