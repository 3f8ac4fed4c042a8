// SPDX-License-Identifier: Apache-2.0
// The files of a trace with a bound: a symbols file PATH, and data files PATH.0, PATH.1, … of which the oldest
// are deleted (docs/trace-format.md, "Files"; ICPE'16, section 3.2).
//
// The bound: the sum of all files never exceeds max_bytes * (1 + deviation). There are n = 1 / deviation data files
// of an equal share of what the symbols leave. A file that has its share waits for the next collection, to end there;
// the deviation is how far it may grow meanwhile. Beyond that it takes the room of the oldest files: new events are
// worth more than old ones.
//
// With keep=, data files are folded before they go: a process writes what one knows about the objects of its
// successor's sync point into PATH.N.origins (fold_process.h). One more share is left for these files; they count against
// the bound and are deleted with their data files. Nobody waits: a file that has to go before it is folded goes.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe. Units: bytes.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "agent/io/rotation/fold_process.h"
#include "agent/io/sink.h"
#include "agent/io/trace_file.h"
#include "trace/file_writer.h"

namespace anttracks::io {

struct RotationLimits {
  uint64_t max_bytes = 0;
  double deviation = 0.1;
  std::string fold_program = {};  // path of anttracks; empty: what deleted files know is lost

  uint64_t files() const { return static_cast<uint64_t>(1 / deviation + 0.5); }
  uint64_t slack() const { return static_cast<uint64_t>(static_cast<double>(max_bytes) * deviation); }
  uint64_t bound() const { return max_bytes + slack(); }
  // What waits to be written goes into the current data file whatever is decided meanwhile: a small part of the slack.
  uint64_t backlog() const { return slack() / 4; }
};

class RotatingTrace : public Sink {
 public:
  // Makes the symbols file and the first data file, with headers that differ from header in index and flags. Data files
  // of an earlier trace of that name, whatever their index, are an error unless overwrite, then they are deleted.
  static trace::Result<std::unique_ptr<RotatingTrace>> Create(const std::string& path, bool overwrite,
                                                              const trace::FileHeader& header,
                                                              const RotationLimits& limits);

  // Whether a file of that name is, sooner or later, one of the trace's. The paths are normal ones.
  static bool MayHave(const std::string& path, const std::string& name);

  trace::Status Write(std::span<const uint8_t> bytes) override;
  trace::Status Close() override;
  trace::Status Check() override;
  bool rotates() const override { return true; }
  trace::Status WriteSymbols(std::span<const uint8_t> bytes) override;
  trace::Status NextFile() override;
  // Small enough to use a small file well.
  size_t chunk_bytes() const override { return std::clamp<uint64_t>(share() / 16, 4 << 10, 256 << 10); }
  bool MakeRoom(size_t bytes, size_t keep) override;
  bool HasRoom(size_t bytes) const { return total_ + bytes + kReserve <= limits_.bound(); }
  bool WantsNext() const override { return data_.back().bytes >= share(); }
  void SyncPointComplete() override;
  void Poll() override;
  FoldCounts folds() const override { return folds_; }
  bool NearBound() const override { return total_ + limits_.slack() / 2 >= limits_.bound(); }
  std::string TooSmall(double sync_bytes) const override;

  // A fold needs 5 bytes an object, 112 for 4 KB of heap (docs/analyzer.md), twice in a full collection, and the
  // definitions: that is less than the heap has, plus something for a small one.
  void HeapKnown(uint64_t bytes) override { fold_.set_memory_bytes((uint64_t{256} << 20) + bytes); }
  // For a trace that never began.
  void Remove() override;
  void CloseInForkedChild() override;

  const RotationLimits& limits() const { return limits_; }
  // Of a data file.
  uint64_t share() const;
  uint64_t current_bytes() const { return data_.back().bytes; }

 private:
  struct DataFile {
    std::string path;
    uint64_t bytes = 0;
    uint64_t origins_bytes = 0;
    bool fold_tried = false;  // of the file before into this one
    std::string origins_path() const { return path + trace::kOriginsSuffix; }
  };
  // For the LOSS and END that are written when there is no room for anything else, and for the header of a next file.
  static constexpr uint64_t kReserve = 4096;

  RotatingTrace(std::string path, bool overwrite, const trace::FileHeader& header, const RotationLimits& limits)
      : path_(std::move(path)), real_prefix_(RealPrefix(path_)), overwrite_(overwrite), header_(header), limits_(limits), fold_(limits.fold_program) {}
  static std::string RealPrefix(const std::string& path);
  trace::Status OpenData();
  trace::Status DeleteOldest();
  bool keeps() const { return !limits_.fold_program.empty(); }
  // Of a file of origins.
  uint64_t MostOrigins() const { return share() / 2; }
  void StartFold();
  void FoldEnded(const FoldProcess::Outcome& outcome);
  // Counted, and told once.
  void Unfolded(const std::string& successor, const std::string& why);
  void StopFold();
  void RemoveOrigins(const DataFile& file);

  const std::string path_;
  const std::string real_prefix_;  // of the data files' names, as the system has them
  // A child of a fork may have the descriptor of a file that nothing here knows yet.
  std::atomic<bool> making_file_{false};
  const bool overwrite_;
  trace::FileHeader header_;
  const RotationLimits limits_;
  std::unique_ptr<TraceFile> symbols_;
  std::unique_ptr<TraceFile> current_;
  uint64_t symbols_bytes_ = 0;
  std::deque<DataFile> data_;  // oldest first; the last one is current
  uint64_t total_ = 0;         // of all files
  uint32_t next_index_ = 0;

  FoldProcess fold_;
  std::string fold_target_;    // data file whose origins are being made
  uint64_t fold_reserve_ = 0;  // in total_ while it runs
  bool current_has_sync_ = true;
  bool said_unfolded_ = false;
  FoldCounts folds_;
};

}  // namespace anttracks::io
