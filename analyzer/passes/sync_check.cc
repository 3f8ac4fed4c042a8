// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/sync_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/labels.h"

namespace anttracks::analyzer {

SyncCheck::SyncCheck(const Heap& heap, const Definitions& definitions, const std::vector<Space>& spaces)
    : heap_(&heap), definitions_(&definitions) {
  for (const Space& space : spaces) {
    Counted counted{space};
    heap.ForEach(space.bottom, space.top, [&](const HeapObject&, bool) { counted.expected++; });
    spaces_.push_back(counted);
  }
}

bool SyncCheck::Mark(uint64_t word) {
  const uint64_t page = word / kPageWords;
  if (last_bits_ == nullptr || page != last_page_) {
    last_bits_ = &listed_[page];  // the map never moves its values
    last_page_ = page;
  }
  uint64_t& bits = (*last_bits_)[word % kPageWords / 64];
  const uint64_t bit = uint64_t{1} << (word % 64);
  if (bits & bit) return false;
  bits |= bit;
  return true;
}

bool SyncCheck::IsMarked(uint64_t word) const {
  const auto at = listed_.find(word / kPageWords);
  return at != listed_.end() && ((at->second[word % kPageWords / 64] >> (word % 64)) & 1);
}

std::vector<SyncCheck::Range> SyncCheck::FreedRanges() const {
  std::vector<Range> ranges;
  std::vector<Range> sorted = freed_;
  std::sort(sorted.begin(), sorted.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : sorted) {
    if (!ranges.empty() && range.first <= ranges.back().end) {
      ranges.back().end = std::max(ranges.back().end, range.end);
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

std::string SyncCheck::Describe(uint32_t shape) const {
  const SiteClass& site_class = definitions_->site_class_of_shape(shape);
  return fmt::format("{} (length {}, site {}: {})", ClassLabel(*definitions_, site_class.class_id),
                     definitions_->shapes()[shape].length, site_class.site,
                     SiteLabel(*definitions_, site_class.site));
}

std::string SyncCheck::Object(uint64_t space, uint64_t word, uint32_t shape) {
  HeapObject known;
  if (!heap_->Find(word, &known)) {
    return fmt::format("{} is listed at {:#x}, where the heap has no object", Describe(shape), InBytes(word));
  }
  if (!Mark(word)) return fmt::format("{} at {:#x} is listed twice", Describe(shape), InBytes(word));
  if (space < spaces_.size() && word >= spaces_[space].space.bottom && word < spaces_[space].space.top) {
    spaces_[space].found++;
  }
  if (known.shape == shape) return {};
  const SiteClass& mine = definitions_->site_class_of_shape(known.shape);
  const SiteClass& theirs = definitions_->site_class_of_shape(shape);
  const bool same_site =
      mine.site == theirs.site || (theirs.site == kSiteOverflow && definitions_->sites_may_overflow_later());
  if (same_site && mine.class_id == theirs.class_id &&
      definitions_->shapes()[known.shape].length == definitions_->shapes()[shape].length) {
    return {};
  }
  return fmt::format("{} is listed at {:#x}, where the heap has {}", Describe(shape), InBytes(word),
                     Describe(known.shape));
}

bool SyncCheck::MayLeaveOut(const Space& space) const {
  return space.collected == Collected::kOptional && !trace::IsYoung(space.kind);
}

std::vector<SyncCheck::Range> SyncCheck::Dead() const {
  std::vector<Range> dead;
  const std::vector<Range> freed = FreedRanges();
  const auto is_freed = [&](uint64_t word) {
    const auto behind = std::upper_bound(freed.begin(), freed.end(), word,
                                         [](uint64_t at, const Range& range) { return at < range.first; });
    return behind != freed.begin() && word < (behind - 1)->end;
  };
  for (const Counted& counted : spaces_) {
    if (counted.found == counted.expected || !MayLeaveOut(counted.space)) continue;
    bool run = false;
    heap_->ForEach(counted.space.bottom, counted.space.top, [&](const HeapObject& object, bool) {
      const bool left_out = !IsMarked(object.word) && !is_freed(object.word);
      if (left_out && !run) dead.push_back({object.word, 0});
      if (left_out) dead.back().end = object.word + definitions_->shapes().words(object.shape);
      run = left_out;
    });
  }
  return dead;
}

std::vector<std::string> SyncCheck::Missing() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < spaces_.size(); i++) {
    const Counted& counted = spaces_[i];
    if (counted.found == counted.expected || MayLeaveOut(counted.space)) continue;
    std::string first;
    // Only old spaces still have what they had at SYNC_BEGIN.
    if (!trace::IsYoung(counted.space.kind)) {
      heap_->ForEach(counted.space.bottom, counted.space.top, [&](const HeapObject& object, bool) {
        if (!first.empty() || IsMarked(object.word)) return;
        first =
            fmt::format("; the first one missing is {} at {:#x}", Describe(object.shape), InBytes(object.word));
      });
    }
    texts.push_back(fmt::format("space {} ({}) has {} objects, of which {} are listed{}", i,
                                SpaceLabel(counted.space.kind), counted.expected, counted.found, first));
  }
  return texts;
}

}  // namespace anttracks::analyzer
