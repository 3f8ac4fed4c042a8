// SPDX-License-Identifier: Apache-2.0
// A trace with a bound on its size: carries out what RotationPolicy decides. Write goes to the current data
// file.
//
// With keep=yes a data file is folded before it is deleted: a process writes the provenance of the objects in
// its successor's sync point into PATH.N.origins (fold_process.h). These files count against the bound, and are
// deleted with their data files. Nothing waits for a fold: a file that must be deleted before it is folded is
// deleted.
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
  // With keep=yes: what became of the deleted data files.
  struct FoldCounts {
    uint64_t folded = 0;    // their provenance is in the successor's provenance file
    uint64_t unfolded = 0;  // their provenance is lost
    uint64_t cpu_ns = 0;    // CPU time of the processes that folded
  };

  // Makes the definitions file and the first data file; their headers differ from `header` in index and flags.
  // After an error neither exists; for files of an earlier trace see RotationFiles::CreateDefinitions.
  static trace::Result<std::unique_ptr<RotatingTrace>> Create(const std::string& path, core::IfExists if_exists,
                                                              const trace::FileHeader& header,
                                                              const RotationLimits& limits);

  RotationPolicy& policy() { return policy_; }

  trace::Status Write(std::span<const uint8_t> bytes) override;
  // Writes to the definitions file. Deletes nothing: call MakeRoom before, or it uses the room that is reserved
  // for the end.
  trace::Status WriteDefinitions(std::span<const uint8_t> bytes);
  // Makes room for that many bytes, by deleting old data files if need be, but leaves the newest `keep` files.
  // False: there is no room within the bound.
  bool MakeRoom(size_t bytes, size_t keep);
  // Begins the next data file, then deletes the oldest ones. If the file cannot be made all are left.
  trace::Status NextFile();
  // The whole sync point at the start of the current data file was passed to Write, or dropped.
  void SyncPointComplete();
  size_t chunk_bytes() const override { return policy_.chunk_bytes(); }
  trace::Status Check() override { return files_.Check(); }
  trace::Status Close() override;
  void Remove() override;
  void CloseInForkedChild() override;

  // Sets the largest size of the traced heap, which bounds a fold's memory. Must be called once, before the
  // writer starts. A fold needs 5 bytes per object and 112 per 4 KB of heap (docs/analyzer.md), twice in a full
  // collection, and the definitions: that is less than the heap's size plus a constant for small heaps.
  void HeapKnown(uint64_t bytes) { fold_.set_memory_bytes((uint64_t{256} << 20) + bytes); }
  // Must be called now and then, for the folds. Never waits.
  void Poll();
  const FoldCounts& folds() const { return folds_; }

 private:
  RotatingTrace(const std::string& path, core::IfExists if_exists, const trace::FileHeader& header,
                const RotationLimits& limits)
      : header_(header), policy_(limits), files_(path, if_exists), fold_(limits.fold_program) {}
  trace::Status BeginData(uint32_t index);
  trace::Status DeleteOldest();
  void StartFold();
  void FoldEnded(const FoldProcess::Outcome& outcome);
  // Also deletes the unfinished provenance file.
  void StopFold();
  // Counts that the provenance for the data file with that index is lost; logs the first time.
  void Unfolded(uint32_t index, const std::string& why);

  trace::FileHeader header_;
  RotationPolicy policy_;
  RotationFiles files_;
  FoldProcess fold_;  // runs if and only if policy_.folds_into() is set
  FoldCounts folds_;
  bool said_unfolded_ = false;
};

}  // namespace anttracks::io
