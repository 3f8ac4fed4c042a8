// SPDX-License-Identifier: Apache-2.0
// Reads chunks in a thread of its own, ahead of the one that takes them: while that one rebuilds the heap, the
// next chunks are read, checked and decompressed.
//
//     TraceReader --(its thread)--> kSlots items --Next--> who asks
//
// Where no thread can be had it reads when it is asked. Memory: kSlots payloads more than the reader itself.
//
// Thread safety: none; the thread is an affair of its own.
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

  // Throws what the reader threw (no memory).
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

  const std::unique_ptr<TraceReader> reader_;  // the thread's while there is one
  std::vector<FileInfo> files_;
  std::array<Slot, kSlots> slots_;
  size_t told_files_ = 0;  // of files_, of which it is known what was cut off
  uint64_t position_ = 0;
  bool begun_ = false;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Slots [taken_, filled_) hold items; the one of taken_ is with who asks, when begun_.
  uint64_t taken_ = 0, filled_ = 0;
  bool stop_ = false;
};

}  // namespace anttracks::trace
