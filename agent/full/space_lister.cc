// SPDX-License-Identifier: Apache-2.0
#include "agent/full/space_lister.h"

#include <algorithm>

namespace anttracks::core {
namespace {

constexpr uint64_t kBlockBytes = 64 << 10;
// The part of the heap that must have been read before its size in the trace is estimated.
constexpr double kEnoughForEstimate = 0.02;

uint64_t Words(const AntTracksSpace& space) { return (space.top - space.bottom) / trace::kWordBytes; }

}  // namespace

void SpaceLister::Begin(std::span<const AntTracksSpace> spaces, PushMode mode,
                        std::chrono::milliseconds limit) {
  spaces_.assign(spaces.begin(), spaces.end());
  mode_ = mode;
  wait_.Refill(limit);
  objects_ = words_ = 0;
  uint64_t all = 0;
  for (const AntTracksSpace& space : spaces_) all += Words(space);
  all_words_.store(all);
  words_read_.store(0);
  bytes_written_.store(0);
}

void SpaceLister::CountAsRead(uint32_t kind) {
  for (const AntTracksSpace& space : spaces_) {
    if (space.kind == kind) words_read_.fetch_add(Words(space), std::memory_order_relaxed);
  }
}

bool SpaceLister::IsArchive(uint32_t space) const {
  return space < spaces_.size() && spaces_[space].kind == ANTTRACKS_SPACE_ARCHIVE;
}

bool SpaceLister::Close() {
  if (!stream_.open()) return true;
  bytes_written_.fetch_add(stream_.used(), std::memory_order_relaxed);
  return stream_.Close(outlet_.queue, trace::SegmentKind::kSyncObjects, space_, mode_, &wait_);
}

// Writes, or counts, the run of objects that fill the range.
bool SpaceLister::WriteRun(uint32_t space, const AddressRange& range, std::span<const uint16_t> ids,
                           std::span<const uint32_t> lengths) {
  const auto count = [&] {
    objects_ += ids.size();
    words_ += (range.top - range.start) / trace::kWordBytes;
  };
  if (census_ != nullptr) {
    census_->Count(ids, lengths);
    count();
    return true;
  }
  const size_t bytes = RunStream::Bytes(ids, lengths);
  const bool fits = stream_.open() && space_ == space && bytes <= stream_.room();
  if (!fits && !Close()) return false;
  if (!stream_.open() && !stream_.Open(outlet_.queue, bytes)) {
    outlet_.failure.Fail("not enough memory for a sync point");
    return false;
  }
  space_ = space;
  stream_.Put(range, trace::How::kTlab, ids, lengths);
  count();
  return true;
}

// Writes the adjacent objects that were listed one by one.
bool SpaceLister::WriteListed(uint32_t space) {
  if (listed_.ids.empty()) return true;
  const bool written = WriteRun(space, listed_.range, listed_.ids, listed_.lengths);
  listed_.ids.clear();
  listed_.lengths.clear();
  return written;
}

// Its bytes. 0: it is lost, or tracing has failed. WriteListed must follow the last one.
uint64_t SpaceLister::ListOne(uint32_t space, uint64_t address) {
  Header header;
  if (!reader_.ReadHeader(address, &header)) return 0;
  if (header.site == trace::kSiteUnknown && IsArchive(space)) {
    header.site_class = reader_.ResolveSiteClass(trace::kSiteArchive, header.klass, address);
  }
  const bool follows = address == listed_.range.top && listed_.ids.size() < Listed::kMost;
  if (!follows && !WriteListed(space)) return 0;
  if (listed_.ids.empty()) listed_.range = {address, address};
  uint16_t id;
  uint32_t lengths[2];
  Columns columns{&id, lengths};
  columns.Put(header.site_class.id, header.length, header.has_length);
  listed_.ids.push_back(id);
  listed_.lengths.insert(listed_.lengths.end(), lengths, columns.lengths);
  listed_.range.top += header.words * trace::kWordBytes;
  return header.words * trace::kWordBytes;
}

bool SpaceLister::List(uint32_t space, std::span<const uint64_t> addresses) {
  for (const uint64_t address : addresses) {
    if (ListOne(space, address) == 0) return false;
  }
  return WriteListed(space);
}

// Where the block ends. 0: lost.
uint64_t SpaceLister::ListBlock(uint32_t space, const AddressRange& run) {
  AddressRange blocks[kLanes];
  blocks[0] = {run.start, std::min(run.top, run.start + kBlockBytes)};
  if (!reader_.ReadStretches(site_classes_, blocks, scratch_, Lookup::kAskVm)) return 0;
  const AddressRange block{run.start, scratch_.ends[0]};
  const Scratch::Lane& lane = scratch_.lanes[0];
  return WriteRun(space, block, lane.id_span(), lane.length_span()) ? block.top : 0;
}

// The same for objects of the shared archive, which have a site of their own.
uint64_t SpaceLister::ListArchive(uint32_t space, const AddressRange& run) {
  uint64_t at = run.start;
  while (at < run.top) {
    const uint64_t bytes = ListOne(space, at);
    if (bytes == 0) return 0;
    at += bytes;
  }
  return WriteListed(space) ? at : 0;
}

bool SpaceLister::ListSome(uint32_t space, AddressRange* part) {
  AddressRange run = *part;
  if (vm_.next_objects != nullptr) run.top = vm_.next_objects(&run.start, part->top);
  if (run.start < run.top) {
    const uint64_t end = IsArchive(space) ? ListArchive(space, run) : ListBlock(space, run);
    if (end == 0) return false;
    if (end > run.top) {
      outlet_.failure.Fail("internal error: the objects of a space do not end where it ends");
      return false;
    }
    run.top = end;
  }
  ReadTo(run.top, part);
  return true;
}

void SpaceLister::SkipDead(AddressRange* part) {
  if (vm_.next_objects == nullptr) return;
  uint64_t next = part->start;
  (void)vm_.next_objects(&next, part->top);
  ReadTo(next, part);
}

void SpaceLister::ReadTo(uint64_t address, AddressRange* part) {
  words_read_.fetch_add((address - part->start) / trace::kWordBytes, std::memory_order_relaxed);
  part->start = address;
}

double SpaceLister::EstimatedBytes() const {
  const auto all = static_cast<double>(all_words_.load());
  const auto read = static_cast<double>(words_read_.load());
  const double part = all == 0 ? 0 : read / all;
  return part < kEnoughForEstimate ? 0 : static_cast<double>(bytes_written_.load()) / part;
}

}  // namespace anttracks::core
