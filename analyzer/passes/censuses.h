// SPDX-License-Identifier: Apache-2.0
// The censuses of a trace, as a history: a sink for Decoder.
//
// Only a census after a collection that had looked into the old space says what is live; the others count what
// is dead there, too.
//
// Memory: live pairs times kept points (as histories.h), and some numbers per census.
//
// Thread safety: none. Ownership: borrows definitions and problems. Units: words of 8 bytes, ns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/passes/decoder.h"
#include "analyzer/passes/histories.h"

namespace anttracks::analyzer {

class Censuses : public SinkBase {
 public:
  // last: the id of the collection after whose census nothing more is looked at; none: the whole trace.
  Censuses(const Definitions& definitions, Problems& problems, std::optional<uint64_t> last = std::nullopt)
      : definitions_(&definitions), problems_(&problems), last_(last) {}

  void set_position(const Position& position) override { position_ = position; }
  void Census(const CensusEvent& event) override;
  bool done() const override { return reached_last_; }

  // All of them, without their rows.
  const std::vector<CensusEvent>& events() const { return events_; }
  // Those that say what is live; their epochs are 1, 2, and so on.
  const std::vector<CensusEvent>& old_space_events() const { return old_space_events_; }
  // The last one, with its rows, fillers included; nullptr: there is none.
  const CensusEvent* latest() const { return events_.empty() ? nullptr : &latest_; }

  // The same as points, without fillers: those that say what is live, and the others.
  const std::vector<HistoryPoint>& old_space() const { return old_space_.points(); }
  const std::vector<HistoryPoint>& others() const { return others_.points(); }

  std::vector<uint64_t> GcIds() const;
  bool reached_last() const { return reached_last_; }
  const Definitions& definitions() const { return *definitions_; }

 private:
  const Definitions* definitions_;
  Problems* problems_;
  Position position_;
  std::optional<uint64_t> last_;
  bool reached_last_ = false;
  std::vector<CensusEvent> events_, old_space_events_;
  CensusEvent latest_;
  ThinnedPoints old_space_, others_;
};

}  // namespace anttracks::analyzer
