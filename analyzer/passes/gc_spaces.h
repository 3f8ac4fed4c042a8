// SPDX-License-Identifier: Apache-2.0
// What the spaces of each kind held before and after each collection, beside what Rebuild knows of it: a sink
// for Decoder.
//
// Thread safety: none. Ownership: as Rebuild. Units: bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

class GcSpaces : public Rebuild {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(SpaceKind::kArchive) + 1;
  // Of all spaces of one kind, such as the regions of G1's old generation.
  struct Usage {
    uint64_t used_before = 0, used_after = 0, capacity = 0;  // capacity: after
  };
  using ByKind = std::array<Usage, kKinds>;

  GcSpaces(Definitions& definitions, Problems& problems) : Rebuild(definitions, problems, {}) {}

  void GcBegin(const GcEvent& event) override {
    Rebuild::GcBegin(event);
    current_ = {};
    for (const Space& space : event.spaces) Of(space).used_before += InBytes(space.top - space.bottom);
  }
  void GcEnd(const GcEvent& event) override {
    Rebuild::GcEnd(event);
    for (const Space& space : event.spaces) {
      Of(space).used_after += InBytes(space.top - space.bottom);
      Of(space).capacity += InBytes(space.end - space.bottom);
    }
    usages_.resize(gcs().size());
    if (!usages_.empty()) usages_.back() = current_;
  }

  // As gcs().
  const std::vector<ByKind>& usages() const { return usages_; }

 private:
  Usage& Of(const Space& space) { return current_[static_cast<size_t>(space.kind)]; }

  ByKind current_{};
  std::vector<ByKind> usages_;
};

}  // namespace anttracks::analyzer
