// SPDX-License-Identifier: Apache-2.0
// What is wrong with a trace: every problem is counted by kind; the first ones are stored with their position.
//
// Thread safety: none.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anttracks::analyzer {

// A place in the trace: the file's number in the list of files, the offset of the chunk in the file, and the
// offset in the chunk's raw payload.
struct Position {
  uint32_t file = 0;
  uint64_t chunk = 0;
  uint64_t payload = 0;
};

enum class ProblemKind {
  kDamagedChunk,
  kSequenceGap,
  kLoss,
  kMalformed,
  kUndefined,
  kRedefined,
  kNoObject,
  kMovedTwice,
  kOverlap,
  kFillerOverlap,
  kOutsideHeap,
  kOutsideSpace,
  kSize,
  kUnloaded,
  kTotals,
  kSyncMismatch,
  kOrder,
  kAfterLoss,
  kUnknownSample,
  kDiedTwice,
  kCount
};

// "move from an address that holds no object"
std::string_view ProblemName(ProblemKind kind);

struct Problem {
  ProblemKind kind;
  Position position;
  std::string text;
};

class Problems {
 public:
  explicit Problems(size_t keep = 0) : keep_(keep) {}

  template <class... Args>
  void Add(ProblemKind kind, const Position& position, fmt::format_string<Args...> format, Args&&... args) {
    counts_[static_cast<size_t>(kind)]++;
    total_++;
    const bool to_name = kind != ProblemKind::kLoss && kind != ProblemKind::kAfterLoss && !first_;
    if (!to_name && kept_.size() >= keep_) return;
    Problem problem{kind, position, fmt::format(format, std::forward<Args>(args)...)};
    if (to_name) first_ = problem;
    if (kept_.size() < keep_) kept_.push_back(std::move(problem));
  }

  uint64_t total() const { return total_; }
  uint64_t count(ProblemKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  const std::vector<Problem>& kept() const { return kept_; }
  // The first problem that is neither a loss nor a consequence of one; stored even if kept() has no room.
  const std::optional<Problem>& first() const { return first_; }

 private:
  size_t keep_;
  uint64_t total_ = 0;
  std::array<uint64_t, static_cast<size_t>(ProblemKind::kCount)> counts_{};
  std::vector<Problem> kept_;
  std::optional<Problem> first_;
};

}  // namespace anttracks::analyzer
