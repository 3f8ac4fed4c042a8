// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/levels.h"

#include <algorithm>
#include <array>

namespace anttracks::analyzer {

Levels::Iterator& Levels::Iterator::operator++() {
  at_end_ = reader_.AtEnd();
  if (at_end_) return *this;
  level_.site_class += static_cast<uint32_t>(reader_.Uv());
  level_.objects = reader_.Uv();
  level_.words = reader_.Uv();
  level_.survived = reader_.Uv();
  return *this;
}

void Levels::Add(const Level& level) {
  if (count_ % kBlock == 0) blocks_.push_back({last_, static_cast<uint32_t>(packed_.size())});
  std::array<uint8_t, 4 * trace::kMaxUvBytes> packed;
  uint8_t* end = trace::PutUv(packed.data(), level.site_class - last_);
  for (const uint64_t number : {level.objects, level.words, level.survived}) end = trace::PutUv(end, number);
  packed_.insert(packed_.end(), packed.data(), end);
  last_ = level.site_class;
  count_++;
}

Level Levels::Find(uint32_t site_class) const {
  const auto behind = std::partition_point(
      blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.site_class_before < site_class; });
  const Block block = behind == blocks_.begin() ? Block{} : *std::prev(behind);
  const std::span<const uint8_t> packed = packed_;
  Iterator level(packed.subspan(block.begin), block.site_class_before);
  while (level != end() && level->site_class < site_class) ++level;
  return level != end() && level->site_class == site_class ? *level : Level{.site_class = site_class};
}

}  // namespace anttracks::analyzer
