// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/policy.h"

#include <algorithm>
#include <utility>

namespace anttracks::io {

uint64_t RotationPolicy::share() const {
  const uint64_t left = limits_.max_bytes > definitions_bytes_ ? limits_.max_bytes - definitions_bytes_ : 0;
  return left / (limits_.files() + (limits_.keep_provenance ? 1 : 0));
}

size_t RotationPolicy::chunk_bytes() const { return std::clamp<uint64_t>(share() / 16, 4 << 10, 256 << 10); }

void RotationPolicy::FileBegun() {
  const bool first = files_.empty();
  files_.push_back({.index = first ? 0 : current().index + 1});
  complete_ = first;  // it begins with the VM's sync point
  phase_ = Phase::kWriting;
}

void RotationPolicy::Wrote(uint64_t bytes) {
  files_.back().bytes += bytes;
  total_ += bytes;
}

void RotationPolicy::WroteDefinitions(uint64_t bytes) {
  definitions_bytes_ += bytes;
  total_ += bytes;
}

void RotationPolicy::OldestDeleted() {
  total_ -= oldest().bytes + oldest().provenance_bytes;
  files_.pop_front();
}

// Within the size that was asked for.
bool RotationPolicy::MustDeleteForShare() const {
  return files_.size() > 1 &&
         (files_.size() > limits_.files() || total_ - current().bytes + share() > limits_.max_bytes);
}

RotationPolicy::Wish RotationPolicy::Wishes(Time now) {
  if (!complete_) return {.sync_point = dropping() && now >= retry_at_};
  Wish wish{.sync_point = dropping() || IsFull()};
  if ((!dropping() && !NearBound()) || now - asked_ < kAskAgainAfter) return wish;
  asked_ = now;
  wish.collection = true;
  return wish;
}

bool RotationPolicy::SyncPointComplete() {
  complete_ = !dropping();
  if (complete_) retry_after_ = kRetryAfter;
  return complete_;
}

bool RotationPolicy::BeginToDrop(Time now) {
  phase_ = Phase::kDropping;
  if (complete_) return false;
  retry_at_ = now + retry_after_;
  retry_after_ = std::min(2 * retry_after_, kRetryAtMost);
  return true;
}

void RotationPolicy::Drop(uint64_t bytes) {
  dropped_.chunks++;
  dropped_.bytes += bytes;
}

RotationPolicy::Dropped RotationPolicy::TakeDropped() { return std::exchange(dropped_, {}); }

void RotationPolicy::End() { phase_ = Phase::kEnding; }

std::string RotationPolicy::TooSmall(double sync_bytes) const {
  // As much again for events. If that would have been enough, they came faster than it.
  const std::string files = std::to_string(limits_.files()) + " files",
                    size = std::to_string(share() / 1024) + " KB";
  const bool fits = 2 * sync_bytes <= static_cast<double>(share());
  const double least = 2 * sync_bytes * static_cast<double>(limits_.files());
  const uint64_t enough =
      std::max(static_cast<uint64_t>(least) + 2 * definitions_bytes_, 2 * limits_.max_bytes);
  const std::string why = fits ? "events fill one of " + files + ", " + size +
                                     ", before the sync point that it begins with is complete"
                               : "a sync point of this heap takes about " +
                                     std::to_string(static_cast<uint64_t>(sync_bytes) / 1024 + 1) +
                                     " KB, one of " + files + " has " + size;
  return "maxsize=" + std::to_string(limits_.max_bytes) + " is too small: " + why +
         "; give at least maxsize=" + std::to_string(enough / (uint64_t{1} << 20) + 1) +
         "M. Events are lost, the trace goes on";
}

void RotationPolicy::WroteProvenance(uint64_t bytes) {
  files_.back().provenance_bytes = bytes;
  total_ += bytes;
}

}  // namespace anttracks::io
