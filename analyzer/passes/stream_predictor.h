// SPDX-License-Identifier: Apache-2.0
// The predictor of docs/trace-format.md for a reader with a stream for each thread that a trace names: its memory grows with
// what the stream has told, up to that of trace::Predictor.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/predictor.h"

namespace anttracks::analyzer {

class StreamPredictor {
 public:
  void Reset() { *this = StreamPredictor(); }

  // Kind 0: nothing to predict from.
  trace::ObjectShape Predict() const {
    if (full_ != nullptr) [[likely]] return full_->Predict(state_);
    return few_.empty() ? trace::ObjectShape{} : few_[Place(few_, state_.slot)].shape;
  }
  void Update(uint32_t kind, uint32_t length) {
    if (full_ != nullptr) [[likely]] {
      full_->Learn(state_, kind, length);
    } else {
      LearnFew({kind, length});
    }
    state_.Push(kind);
  }

 private:
  // More than that are kept in the whole table.
  static constexpr size_t kMostFew = 256;
  struct Entry {
    uint32_t slot = 0;
    trace::ObjectShape shape;  // kind 0: free
  };

  // Where the slot is, or belongs. The size is a power of two, and there is always a free place.
  static size_t Place(const std::vector<Entry>& entries, uint32_t slot) {
    size_t i = slot & (entries.size() - 1);
    while (entries[i].shape.kind != 0 && entries[i].slot != slot) i = (i + 1) & (entries.size() - 1);
    return i;
  }
  void LearnFew(trace::ObjectShape shape) {
    if (2 * used_ >= few_.size()) Grow();
    if (full_ != nullptr) return full_->Learn(state_, shape.kind, shape.length);
    Entry& entry = few_[Place(few_, state_.slot)];
    used_ += entry.shape.kind == 0;
    entry = {state_.slot, shape};
  }
  void Grow() {
    const std::vector<Entry> old = std::move(few_);
    few_.clear();
    if (used_ >= kMostFew) full_ = std::make_unique<trace::Predictor>();
    if (full_ == nullptr) few_.resize(old.empty() ? 8 : 2 * old.size());
    for (const Entry& entry : old) {
      if (entry.shape.kind == 0) continue;
      if (full_ != nullptr) {
        trace::Predictor::State state;
        state.slot = entry.slot;
        full_->Learn(state, entry.shape.kind, entry.shape.length);
      } else {
        few_[Place(few_, entry.slot)] = entry;
      }
    }
  }

  trace::Predictor::State state_;
  std::vector<Entry> few_;
  size_t used_ = 0;
  std::unique_ptr<trace::Predictor> full_;
};

}  // namespace anttracks::analyzer
