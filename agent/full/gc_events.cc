// SPDX-License-Identifier: Apache-2.0
#include "agent/full/gc_events.h"

#include <fmt/format.h>

namespace anttracks::core {
namespace {

constexpr uint64_t kOldBit = 1;

trace::Destination DestinationOf(const AntTracksMove& move) {
  return (move.to & kOldBit) != 0 ? trace::Destination::kOld : trace::Destination::kYoung;
}

}  // namespace

GcEvents::~GcEvents() {
  for (Worker& worker : workers_) {
    worker.moves.Release(outlet_.queue);
    worker.slides.Release(outlet_.queue);
    worker.fillers.Release(outlet_.queue);
    worker.found.Release(outlet_.queue);
  }
}

void GcEvents::CollectionBegins(std::chrono::milliseconds wait) {
  wait_.Refill(wait);
  slides_before_ = counts().slides;
}

bool GcEvents::CheckWorker(uint32_t worker) {
  if (worker < workers_.size()) [[likely]]
    return true;
  outlet_.failure.Fail(fmt::format("internal error: GC worker {} of {}", worker, workers_.size()));
  return false;
}

void GcEvents::Moves(uint32_t number, std::span<const AntTracksMove> moves) {
  if (!CheckWorker(number)) return;
  const bool reckons = budget_.percent() != 0;
  const uint64_t begin = reckons ? Clock::Monotonic() : 0;
  const bool looks = skipped_.any_stand();
  Worker& worker = workers_[number];
  if (provenance_ != nullptr) provenance_->Moved(number, moves);
  for (const AntTracksMove& move : moves) {
    if (looks && skipped_.Contains(move.from)) {
      if (!Found(number, {move.from, move.to & ~kOldBit, move.words}, DestinationOf(move))) return;
      continue;
    }
    if (!worker.moves.Room(outlet_.queue, number, &wait_)) [[unlikely]]
      return;
    uint8_t*& out = worker.moves.out();
    out = worker.moves.encoder.Move(out, move.from / trace::kWordBytes,
                                    (move.to & ~kOldBit) / trace::kWordBytes, DestinationOf(move), move.words);
  }
  worker.move_count.Add(moves.size());
  if (reckons) worker.hook_ns.Add(Clock::Monotonic() - begin);
}

void GcEvents::Slides(uint32_t number, std::span<const AntTracksSlide> slides) {
  if (!CheckWorker(number)) return;
  const bool looks = skipped_.any_stand();
  Worker& worker = workers_[number];
  if (provenance_ != nullptr) provenance_->Moved(number, slides);
  for (const AntTracksSlide& slide : slides) {
    if (looks && skipped_.Contains(slide.from)) {
      worker.self_forwarded.push_back(slide);
      continue;
    }
    if (!worker.slides.Room(outlet_.queue, number, &wait_)) [[unlikely]]
      return;
    uint8_t*& out = worker.slides.out();
    out = worker.slides.encoder.Slide(out, slide.from / trace::kWordBytes, slide.to / trace::kWordBytes,
                                      slide.words);
  }
  worker.slide_count.Add(slides.size());
}

// An object that a collection has copied, or left where it is, out of a stretch that was skipped. Its header is
// that of the copy; but G1 counts in the length of the copy of an array what it has scanned of it, and leaves
// that of the original alone.
bool GcEvents::Found(uint32_t number, const AntTracksSlide& move, trace::Destination destination) {
  Worker& worker = workers_[number];
  if (!worker.found.Room(outlet_.queue, number, &wait_)) return false;
  Header header;
  const bool plain = reader_.ReadPlain(move.to, &header) && header.words == move.words;
  if (!plain && !reader_.ReadHeader(move.to, &header)) return false;
  if (header.words != move.words && header.site_class.layout.how() == ObjectLayout::kArray) {
    header.length = LoadAt<uint32_t>(move.from + vm_.array_length_offset);
    header.words = header.site_class.layout.array_words(header.length, vm_.object_alignment);
  }
  if (header.words != move.words) {
    outlet_.failure.Fail(fmt::format("internal error: object found at {:#x} has {} words instead of {}",
                                     move.from, header.words, move.words));
    return false;
  }
  uint8_t*& out = worker.found.out();
  out = worker.found.encoder.Found(out, move.from / trace::kWordBytes, move.to / trace::kWordBytes, destination,
                                   move.words, header.site_class.id, header.length);
  worker.found_count.Add(1);
  return true;
}

// At the collection's end: until then the headers of self-forwarded objects hold other things.
void GcEvents::FoundInPlace() {
  for (uint32_t number = 0; number < workers_.size(); number++) {
    std::vector<AntTracksSlide>& self_forwarded = workers_[number].self_forwarded;
    for (const AntTracksSlide& object : self_forwarded) {
      if (!Found(number, object, trace::Destination::kYoung)) break;
    }
    self_forwarded = {};  // there may have been millions
  }
}

void GcEvents::Fillers(uint32_t number, std::span<const AntTracksFiller> fillers) {
  if (!CheckWorker(number)) return;
  Worker& worker = workers_[number];
  Header header;
  for (const AntTracksFiller& filler : fillers) {
    if (!worker.fillers.Room(outlet_.queue, number, &wait_)) return;
    if (!reader_.ReadHeader(filler.address, &header)) return;
    if (header.words != filler.words) {
      outlet_.failure.Fail(fmt::format("internal error: filler at {:#x} has {} words instead of {}",
                                       filler.address, header.words, filler.words));
      return;
    }
    uint8_t*& out = worker.fillers.out();
    out = worker.fillers.encoder.Filler(out, filler.address / trace::kWordBytes, header.site_class.id,
                                        header.length, header.words);
  }
  worker.filler_count.Add(fillers.size());
}

void GcEvents::CollectionEnds() {
  FoundInPlace();
  for (uint32_t number = 0; number < workers_.size(); number++) {
    Worker& worker = workers_[number];
    worker.moves.Stage(outlet_.queue, &staging_, number, &wait_);
    worker.slides.Stage(outlet_.queue, &staging_, number, &wait_);
    worker.fillers.Stage(outlet_.queue, &staging_, number, &wait_);
    worker.found.Stage(outlet_.queue, &staging_, number, &wait_);
  }
  staging_.Push(outlet_.queue, PushMode::kTry);
}

GcCounts GcEvents::counts() const {
  GcCounts sum;
  for (const Worker& worker : workers_) {
    sum.moves += worker.move_count.value();
    sum.slides += worker.slide_count.value();
    sum.fillers += worker.filler_count.value();
    sum.found += worker.found_count.value();
    sum.hook_ns += worker.hook_ns.value();
  }
  return sum;
}

void GcEvents::Count(CounterValues* values) const {
  const GcCounts sum = counts();
  values->moves = sum.moves;
  values->slides = sum.slides;
  values->fillers = sum.fillers;
  values->found_objects = sum.found;
}

}  // namespace anttracks::core
