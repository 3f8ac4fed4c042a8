// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/biography.h"

#include <algorithm>
#include <iterator>

namespace anttracks::analyzer {

using Kind = LifeEvent::Kind;

std::optional<SpaceKind> Biography::SpaceOf(uint64_t word) const {
  const auto behind = std::upper_bound(spaces().begin(), spaces().end(), word,
                                       [](uint64_t at, const Space& space) { return at < space.bottom; });
  if (behind == spaces().begin() || word >= std::prev(behind)->end) return std::nullopt;
  return std::prev(behind)->kind;
}

void Biography::Begin(uint64_t word, LifeEvent event) {
  if (chosen_) return;
  event.to = word;
  // Where it was allocated says the next collection, which knows the spaces by then.
  followed_[word] = {event};
}

bool Biography::Found(uint64_t from, uint64_t to, uint32_t shape) {
  const uint64_t before = gc().found.objects;
  const bool goes_on = Rebuild::Found(from, to, shape);
  if (chosen_ || gc().found.objects == before || shape != subject_.shape) return goes_on;
  if (epoch() != subject_.provenance.birth) return goes_on;
  HeapObject object;
  const bool known = from != to && heap().Find(to, &object);
  if (known && provenance_table()[object.provenance].thread != subject_.provenance.thread) return goes_on;
  moved_[to] = {{.kind = Kind::kFound,
                 .gc = gc().id,
                 .gc_kind = gc().kind,
                 .time_ns = gc().begin_ns,
                 .from = from,
                 .to = to,
                 .from_space = SpaceOf(from)}};
  return goes_on;
}

void Biography::Moved(uint64_t from, uint64_t to) {
  const auto found = followed_.find(from);
  if (found == followed_.end()) return;
  Path path = std::move(found->second);
  followed_.erase(found);
  path.push_back({.kind = from == to ? Kind::kStayed : Kind::kMoved,
                  .gc = gc().id,
                  .gc_kind = gc().kind,
                  .time_ns = gc().begin_ns,
                  .from = from,
                  .to = to,
                  .from_space = SpaceOf(from)});
  moved_[to] = std::move(path);
}

void Biography::GcBegin(const GcEvent& event) {
  Rebuild::GcBegin(event);
  for (auto& [word, path] : followed_) {
    if (path.size() == 1) path[0].to_space = SpaceOf(word);
  }
}

void Biography::BeforeDrop(std::span<const DeadRange> ranges) {
  for (const DeadRange& range : ranges) EndIn(range);
}

void Biography::EndIn(const DeadRange& range) {
  const auto first = followed_.lower_bound(range.bottom), end = followed_.lower_bound(range.top);
  for (auto at = first; chosen_ && at != end; ++at) {
    ended_ = std::move(at->second);
    ended_.push_back({.kind = Kind::kDied,
                      .gc = gc().id,
                      .gc_kind = gc().kind,
                      .time_ns = gc().begin_ns,
                      .from = at->first,
                      .from_space = SpaceOf(at->first)});
  }
  followed_.erase(first, end);
}

void Biography::Settle() {
  if (!in_gc()) return;
  const bool undone = gc().kind == GcKind::kFull;
  Rebuild::Settle();
  for (auto& [word, path] : moved_) {
    const uint64_t stays = undone ? path.back().from : word;
    if (undone) {
      path.pop_back();
    } else {
      path.back().to_space = SpaceOf(word);
    }
    followed_[stays] = std::move(path);
  }
  moved_.clear();
}

void Biography::BeforeClear() {
  if (chosen_ && !followed_.empty()) {
    ended_ = std::move(followed_.begin()->second);
    ended_.push_back({.kind = Kind::kLost, .time_ns = time_, .from = followed_.begin()->first});
  }
  followed_.clear();
}

void Biography::Choose() {
  if (chosen_) return;
  chosen_ = true;
  const auto subject = followed_.find(subject_.word);
  ByWord only;
  if (subject != followed_.end()) only.insert(followed_.extract(subject));
  followed_ = std::move(only);
}

void Biography::GcEnd(const GcEvent& event) {
  Rebuild::GcEnd(event);
  for (auto& [word, path] : moved_) {
    path.back().to_space = SpaceOf(word);
    followed_[word] = std::move(path);
  }
  moved_.clear();
  if (!subject_.at_end && epoch() == subject_.epoch) Choose();
}

void Biography::SyncObject(uint64_t space, uint64_t word, uint32_t shape) {
  const uint64_t before = heap().totals().objects;
  Rebuild::SyncObject(space, word, shape);
  if (shape != subject_.shape || heap().totals().objects == before) return;
  if (subject_.provenance.birth >= epoch()) return;
  Begin(word, {.kind = Kind::kListed, .time_ns = time_});
}

std::vector<LifeEvent> Biography::Finish() {
  if (subject_.at_end) Choose();
  if (!ended_.empty()) return ended_;
  return followed_.empty() ? Path() : followed_.begin()->second;
}

}  // namespace anttracks::analyzer
