// SPDX-License-Identifier: Apache-2.0
// What was allocated when, and what each collection left in each space: a sink for Decoder that needs no heap.
//
// How long a trace is shows only at its end. So bytes are counted in slots of equal length, which is doubled
// whenever there are too many; intervals are made of whole slots.
//
// An object counts when the ALLOC segment that has it began. Objects in stretches that were skipped are not
// known, but their bytes are.
//
// Thread safety: none. Memory: kMostSlots slots, and 80 bytes per collection. Units: words of 8 bytes, ns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "analyzer/model/heap.h"
#include "analyzer/passes/decoder.h"

namespace anttracks::analyzer {

class Timeline : public SinkBase {
 public:
  static constexpr size_t kMostSlots = 8192;
  static constexpr size_t kSpaces = 5;  // kinds

  struct Slot {
    HeapTotals read;             // objects that are known
    uint64_t skipped_words = 0;  // of others
    void Add(const Slot& other) {
      read.Add(other.read);
      skipped_words += other.skipped_words;
    }
  };
  struct Collection {
    uint64_t id = 0;
    GcKind kind = GcKind::kYoung;
    uint64_t begin_ns = 0, end_ns = 0;
    uint64_t used_before = 0;                    // bytes in all spaces
    std::array<uint64_t, kSpaces> used_after{};  // bytes, by kind of space
  };

  // wanted: whether objects of that site-class pair count; asked once for each shape. Empty: all do.
  explicit Timeline(const Definitions& definitions, std::function<bool(uint32_t)> wanted = {})
      : definitions_(&definitions), wanted_(std::move(wanted)) {}

  void AllocBegin(uint64_t, uint64_t time, uint32_t) override { current_ = At(time); }
  void Objects(const Neighbours& objects) override {
    if (!wanted_) return current_->read.Add({objects.shapes.size(), objects.end - objects.word});
    for (size_t i = 0; i < objects.shapes.size(); i++) {
      if (Wanted(objects.shapes[i])) current_->read.Add({1, objects.words[i]});
    }
  }
  void Skipped(uint64_t, uint64_t words) override { current_->skipped_words += words; }
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;

  // Once, when all was decoded: slots reach as far as the trace.
  void Finish(uint64_t end_ns) { current_ = At(end_ns); }

  const std::vector<Collection>& collections() const { return collections_; }
  // Slot i is of the times from i * slot_ns() on.
  const std::vector<Slot>& slots() const { return slots_; }
  uint64_t slot_ns() const { return slot_ns_; }

 private:
  Slot* At(uint64_t time);
  bool Wanted(uint32_t shape);

  const Definitions* definitions_;
  const std::function<bool(uint32_t)> wanted_;
  enum class Is : uint8_t { kNotKnown, kWanted, kNot };
  std::vector<Is> shapes_;
  std::vector<Slot> slots_ = std::vector<Slot>(1);
  Slot* current_ = slots_.data();
  uint64_t slot_ns_ = 1;
  Collection now_;
  std::vector<Collection> collections_;
};

}  // namespace anttracks::analyzer
