// SPDX-License-Identifier: Apache-2.0
#include "trace/read_ahead.h"

#include <exception>
#include <utility>

namespace anttracks::trace {

ReadAhead::ReadAhead(std::unique_ptr<TraceReader> reader)
    : reader_(std::move(reader)), files_(reader_->files()) {
  Rewind({});
}

ReadAhead::~ReadAhead() { End(); }

void ReadAhead::Rewind(std::vector<bool> wanted) {
  End();
  reader_->Rewind(std::move(wanted));
  position_ = reader_->position();
  begun_ = false;
  told_files_ = 0;
  taken_ = filled_ = 0;
}

ChunkSource::Item ReadAhead::Next() {
  if (!begun_) {
    Begin();
  } else if (!taken().last()) {
    const std::lock_guard lock(mutex_);
    taken_++;
    changed_.notify_one();
  }
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return filled_ > taken_; });
  } else if (filled_ == taken_) {
    Fill(slots_[filled_++ % kSlots]);
  }
  const Slot& slot = taken();
  position_ = slot.position;
  TellCutOff(slot);
  if (slot.last()) {
    End();
    files_ = reader_->files();
    for (Slot& each : slots_) each.payload = std::vector<uint8_t>();  // what is made of the trace has the room
  }
  if (slot.thrown) std::rethrow_exception(slot.thrown);
  return slot.item;
}

// The files before the one in which the item lies are read, and no more written to.
void ReadAhead::TellCutOff(const Slot& slot) {
  if (slot.last()) return;
  const size_t file = slot.item == Item::kChunk ? slot.chunk.file : slot.damage.file;
  for (; told_files_ < file; told_files_++)
    files_[told_files_].truncated_bytes = reader_->files()[told_files_].truncated_bytes;
}

void ReadAhead::Begin() {
  begun_ = true;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::exception&) {  // no thread to be had, or no memory for one
  }
}

void ReadAhead::End() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  thread_.join();
  stop_ = false;
}

void ReadAhead::Run() {
  for (bool last = false; !last;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || filled_ - taken_ < kSlots; });
    if (stop_) return;
    Slot& slot = slots_[filled_ % kSlots];
    lock.unlock();
    Fill(slot);
    last = slot.last();
    lock.lock();
    filled_++;
    changed_.notify_one();
  }
}

void ReadAhead::Fill(Slot& slot) {
  slot.thrown = nullptr;
  try {
    slot.item = reader_->Next();
    slot.position = reader_->position();
    if (slot.item == Item::kChunk) {
      slot.chunk = reader_->chunk();
      reader_->SwapPayload(&slot.payload);
    } else if (slot.item == Item::kDamage) {
      slot.damage = reader_->damage();
    } else if (slot.item == Item::kError) {
      slot.error = reader_->error();
    }
  } catch (...) {
    slot.thrown = std::current_exception();
  }
}

}  // namespace anttracks::trace
