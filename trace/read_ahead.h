// SPDX-License-Identifier: Apache-2.0
// Reads chunks in advance, in a thread of its own: while the caller rebuilds the heap, the next chunks are
// read, checked and decompressed.
//
//     TraceReader --(its thread)--> kSlots items --Next--> caller
//
// If no thread can be started, Next reads the chunk itself. Memory: kSlots payloads more than the reader
// itself.
//
// Thread safety: none: the callers' side is for one thread at a time.
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/chunk_source.h"
#include "trace/reader.h"

namespace anttracks::trace {

class ReadAhead final : public ChunkSource {
 public:
  explicit ReadAhead(std::unique_ptr<TraceReader> reader);
  ~ReadAhead() override;
  ReadAhead(const ReadAhead&) = delete;

  // Throws what the reader threw (std::bad_alloc).
  Item Next() override;
  const Chunk& chunk() const override { return taken().chunk; }
  const Damage& damage() const override { return taken().damage; }
  const Status& error() const override { return taken().error; }
  void Rewind(std::vector<bool> wanted) override;
  const std::vector<FileInfo>& files() const override { return files_; }
  uint64_t total_bytes() const override { return reader_->total_bytes(); }
  uint64_t position() const override { return position_; }

 private:
  static constexpr size_t kSlots = 4;

  struct Slot {
    Item item = Item::kEnd;
    Chunk chunk;
    Damage damage;
    Status error;
    uint64_t position = 0;
    std::vector<uint8_t> payload;
    std::exception_ptr thrown;

    bool last() const { return thrown || item == Item::kEnd || item == Item::kError; }
  };

  const Slot& taken() const { return slots_[taken_ % kSlots]; }
  void Begin();
  void End();
  void Run();
  void Fill(Slot& slot);
  void TellCutOff(const Slot& slot);

  const std::unique_ptr<TraceReader> reader_;  // belongs to the thread while it runs
  std::vector<FileInfo> files_;
  std::array<Slot, kSlots> slots_;
  size_t told_files_ = 0;  // files_ before this one have their truncated_bytes
  uint64_t position_ = 0;
  bool begun_ = false;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Slots [taken_, filled_) hold items; once begun_, the caller has the one of taken_.
  uint64_t taken_ = 0, filled_ = 0;
  bool stop_ = false;
};

}  // namespace anttracks::trace
