// SPDX-License-Identifier: Apache-2.0
// What is live of each site-class pair at one moment, packed: a history keeps hundreds of moments of thousands
// of pairs, some 7 bytes each instead of 32.
//
// Thread safety: none; reading alone: full. Units: words of 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "trace/wire.h"

namespace anttracks::analyzer {

// What is live of one pair at one moment.
struct Level {
  uint32_t site_class = 0;
  uint64_t objects = 0, words = 0;
  uint64_t survived = 0;  // objects that are older than HistoryPoint::epoch_before
};

// Levels in the order of their site_class, each of another one.
class Levels {
 public:
  class Iterator {
   public:
    // The level before has this site_class, 0 before the first.
    Iterator(std::span<const uint8_t> packed, uint32_t site_class_before) : reader_(packed) {
      level_.site_class = site_class_before;
      ++*this;
    }
    const Level& operator*() const { return level_; }
    const Level* operator->() const { return &level_; }
    Iterator& operator++();
    bool operator==(std::default_sentinel_t) const { return at_end_; }

   private:
    trace::WireReader reader_;
    Level level_;
    bool at_end_ = false;
  };

  // What is added last has the largest site_class.
  void Add(const Level& level);
  // Gives back what was allocated for more.
  void ShrinkToFit() {
    packed_.shrink_to_fit();
    blocks_.shrink_to_fit();
  }
  Iterator begin() const { return {packed_, 0}; }
  std::default_sentinel_t end() const { return {}; }
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  // The level of that pair; if there is none, one without objects.
  Level Find(uint32_t site_class) const;

 private:
  static constexpr size_t kBlock = 32;  // levels that Find may have to read
  // Every kBlock levels.
  struct Block {
    uint32_t site_class_before = 0;
    uint32_t begin = 0;  // in packed_
  };
  std::vector<uint8_t>
      packed_;  // of each, as uv: by how much its site_class is larger; objects, words, survived
  std::vector<Block> blocks_;
  size_t count_ = 0;
  uint32_t last_ = 0;
};

}  // namespace anttracks::analyzer
