// SPDX-License-Identifier: Apache-2.0
// A trace with a bound: does to its files what RotationPolicy decides. What it takes as a sink goes to the
// current data file.
//
// With keep=, a data file is folded before it goes: a process writes what the file knows about the objects of
// its successor's sync point into PATH.N.origins (fold_process.h). These files count against the bound and are
// deleted with their data files. Nobody waits: a file that has to go before it is folded goes.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe. Units: bytes.
#pragma once

#include <memory>
#include <string>

#include "agent/io/rotation/files.h"
#include "agent/io/rotation/fold_process.h"
#include "agent/io/rotation/policy.h"
#include "agent/io/sink.h"
#include "trace/file_writer.h"

namespace anttracks::io {

class RotatingTrace final : public Sink {
 public:
  // What became of the data files that were deleted, with keep=.
  struct FoldCounts {
    uint64_t folded = 0;    // what they knew about live objects is in their successor's provenance file
    uint64_t unfolded = 0;  // it is lost
    uint64_t cpu_ns = 0;    // of the processes that folded
  };

  // Makes the definitions file and the first data file, with headers that differ from header in index and
  // flags. After an error there are none, and those of an earlier trace are as RotationFiles::CreateDefinitions
  // says.
  static trace::Result<std::unique_ptr<RotatingTrace>> Create(const std::string& path, bool overwrite,
                                                              const trace::FileHeader& header,
                                                              const RotationLimits& limits);

  RotationPolicy& policy() { return policy_; }

  trace::Status Write(std::span<const uint8_t> bytes) override;
  // Into the definitions file. Deletes nothing: MakeRoom does; without it there is the room that is kept for
  // the last words.
  trace::Status WriteDefinitions(std::span<const uint8_t> bytes);
  // Room for so many bytes, if need be by deleting old data files, of which with the current one so many are
  // kept. False: they would break the bound.
  bool MakeRoom(size_t bytes, size_t keep);
  // Begins the next data file, then deletes the oldest ones: all are left if that one cannot be made.
  trace::Status NextFile();
  // All of the sync point with which the current data file begins was handed to Write, or dropped.
  void SyncPointComplete();
  size_t chunk_bytes() const override { return policy_.chunk_bytes(); }
  trace::Status Check() override { return files_.Check(); }
  trace::Status Close() override;
  void Remove() override;
  void CloseInForkedChild() override;

  // Once, before anything is written by a thread of its own: the most bytes that the traced heap may have. A
  // fold needs 5 bytes an object, 112 for 4 KB of heap (docs/analyzer.md), twice in a full collection, and the
  // definitions: that is less than the heap has, plus something for a small one.
  void HeapKnown(uint64_t bytes) { fold_.set_memory_bytes((uint64_t{256} << 20) + bytes); }
  // Now and then, for the folds. Never waits.
  void Poll();
  const FoldCounts& folds() const { return folds_; }

 private:
  RotatingTrace(const std::string& path, bool overwrite, const trace::FileHeader& header,
                const RotationLimits& limits)
      : header_(header), policy_(limits), files_(path, overwrite), fold_(limits.fold_program) {}
  trace::Status BeginData(uint32_t index);
  trace::Status DeleteOldest();
  void StartFold();
  void FoldEnded(const FoldProcess::Outcome& outcome);
  // What it had begun to write goes.
  void StopFold();
  // Into the data file with that index. Counted, and told once.
  void Unfolded(uint32_t index, const std::string& why);

  trace::FileHeader header_;
  RotationPolicy policy_;
  RotationFiles files_;
  FoldProcess fold_;  // runs if and only if the policy has one
  FoldCounts folds_;
  bool said_unfolded_ = false;
};

}  // namespace anttracks::io
