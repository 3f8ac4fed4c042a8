// SPDX-License-Identifier: Apache-2.0
#include "agent/full/census.h"

#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

constexpr size_t kSegmentBytes = 64 << 10;
// With G1: so many collections after a remark can be followed by a census that knows what is dead.
constexpr unsigned kAfterRemark = 2;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint64_t Words(const AntTracksSpace& space) { return (space.top - space.bottom) / trace::kWordBytes; }

uint64_t UsedWords(const AntTracksGC& gc) {
  uint64_t words = 0;
  for (const AntTracksSpace& space : std::span(gc.spaces, gc.nspaces)) words += Words(space);
  return words;
}

}  // namespace

void Census::CollectionBegins(const AntTracksGC& gc) {
  const uint64_t used = UsedWords(gc);
  // What a remark has freed was not used any more.
  if (used_known_ && used > used_words_) allocated_words_ += used - used_words_;
}

bool Census::CollectionEnds(const AntTracksGC& gc) {
  used_words_ = UsedWords(gc);
  used_known_ = true;
  collections_++;
  if (gc.kind == ANTTRACKS_GC_REMARK) {
    marked_ = kAfterRemark;
    return false;
  }
  latest_ = trace::CensusEvent();
  latest_.gc = gc.id;
  latest_.kind = static_cast<trace::GcKind>(gc.kind);
  latest_.old_space = gc.kind == ANTTRACKS_GC_FULL || marked_ != 0;
  latest_.time = outlet_.clock.Now();
  latest_.collections = collections_;
  latest_.allocated_words = allocated_words_;
  for (const AntTracksSpace& space : std::span(gc.spaces, gc.nspaces)) {
    if (space.kind < latest_.used_words.size()) latest_.used_words[space.kind] += Words(space);
  }
  marked_ = gc.kind == ANTTRACKS_GC_FULL || marked_ == 0 ? 0 : marked_ - 1;
  const uint64_t every_ns = static_cast<uint64_t>(every_s_.load()) * kNsPerSecond;
  const auto due = [&](uint64_t last_ns) { return latest_.time - last_ns >= every_ns; };
  return wanted_.load() || (latest_.old_space && due(last_old_space_ns_.load())) ||
         (every_ns != 0 && due(last_ns_.load()));
}

// G1 makes fillers of them, and the VM leaves those out. The other collectors empty eden and one of the
// survivor spaces, unless objects could not be promoted; then a full collection follows.
bool Census::LeftDead(const AntTracksGC& gc) const {
  if (gc.kind == ANTTRACKS_GC_FULL || vm_.next_objects != nullptr) return false;
  unsigned survivors = 0;
  for (const AntTracksSpace& space : std::span(gc.spaces, gc.nspaces)) {
    if (Words(space) == 0) continue;
    if (space.kind == ANTTRACKS_SPACE_EDEN) return true;
    survivors += space.kind == ANTTRACKS_SPACE_SURVIVOR;
  }
  return survivors > 1;
}

void Census::Begin() {
  marked_ = 0;
  event_ = latest_;
  pages_.clear();
}

Census::Cell& Census::CellOf(uint32_t site_class) {
  const size_t page = site_class >> kPageBits;
  if (page >= pages_.size()) [[unlikely]]
    pages_.resize(page + 1);
  if (pages_[page] == nullptr) [[unlikely]]
    pages_[page] = std::make_unique<Page>();
  return (*pages_[page])[site_class & ((1u << kPageBits) - 1)];
}

void Census::Count(std::span<const uint16_t> ids, std::span<const uint32_t> lengths) {
  const uint32_t* next = lengths.data();
  for (const uint16_t id : ids) {
    const uint32_t site_class = trace::IsWide(id) ? *next++ : id & trace::kSiteClassMask;
    Cell& cell = CellOf(site_class);
    // At once: while objects are counted their class is loaded, a remark may unload it before the end.
    if (cell.objects++ == 0) [[unlikely]]
      cell.layout = definitions_.LayoutOf(site_class);
    if ((id & trace::kHasLength) == 0) continue;
    const uint32_t length = *next++;
    cell.words += cell.layout.how() == ObjectLayout::kArray
                      ? cell.layout.array_words(length, vm_.object_alignment)
                      : length;
  }
}

uint64_t Census::WordsOf(const Cell& cell) const {
  return cell.layout.how() == ObjectLayout::kFixed ? cell.objects * cell.layout.fixed_words() : cell.words;
}

void Census::Write(uint64_t objects, uint64_t words) {
  trace::ByteBuffer segments;
  trace::CensusRowEncoder rows;
  const auto push = [&] {
    rows.Finish(&segments);
    outlet_.PushFrame(segments);
    segments.Clear();
  };
  for (size_t page = 0; page < pages_.size(); page++) {
    if (pages_[page] == nullptr) continue;
    for (size_t i = 0; i < pages_[page]->size(); i++) {
      const Cell& cell = (*pages_[page])[i];
      if (cell.objects == 0) continue;
      rows.Row({page << kPageBits | i, cell.objects, WordsOf(cell)});
      if (rows.size() >= kSegmentBytes) push();
    }
  }
  pages_.clear();
  event_.objects = objects;
  event_.words = words;
  event_.duration = outlet_.clock.Now() - event_.time;
  rows.Finish(&segments);
  trace::AppendCensus(&segments, event_);
  outlet_.PushFrame(segments, ChunkAfter::kEnds);
  wanted_.store(false);
  last_ns_.store(event_.time);
  if (event_.old_space) last_old_space_ns_.store(event_.time);
}

}  // namespace anttracks::core
