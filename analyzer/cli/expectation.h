// SPDX-License-Identifier: Apache-2.0
// What `anttracks assert` is given: expectations such as
//
//   bytes(site=com.app.Parser.parse) <= 10MB after 3 gcs
//   live(class=com.app.Session) == 0 at end
//
//   expectation  measure "(" [condition {"," condition}] ")" operator number {when}
//   measure      "objects" | "bytes" | "live" | "live_bytes"
//   condition    field "=" pattern, as --where has it (selection.h); with a comma or a parenthesis that has no
//                partner in it, the pattern stands in double quotes
//   operator     "<" | "<=" | ">" | ">=" | "==" | "!="
//   number       digits; of bytes with an optional unit: KB, MB, GB, or K, M, G, each 1024 of the one before
//   when         "after" digits "gcs"    only what was allocated after so many collections of the trace
//                "at" "last" "gc"        of live: what the last collection left; this is the default
//                "at" "end"              of live: all that is in the heap at the end of the trace
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/content.h"
#include "analyzer/cli/selection.h"

namespace anttracks::analyzer {

enum class Measure { kObjects, kBytes, kLive, kLiveBytes };
inline constexpr Choice<Measure> kMeasures[] = {{Measure::kObjects, "objects"},
                                                {Measure::kBytes, "bytes"},
                                                {Measure::kLive, "live"},
                                                {Measure::kLiveBytes, "live_bytes"}};

enum class Operator { kLess, kAtMost, kMore, kAtLeast, kEqual, kUnequal };

struct Expectation {
  std::string text;
  Measure measure = Measure::kObjects;
  std::vector<Condition> where;
  Operator comparison = Operator::kEqual;
  uint64_t limit = 0;
  std::optional<uint64_t> after_gcs;
  LiveAt live = LiveAt::kNever;

  bool of_live() const { return measure == Measure::kLive || measure == Measure::kLiveBytes; }
  bool of_bytes() const { return measure == Measure::kBytes || measure == Measure::kLiveBytes; }
  // That there is none: then a name that the trace does not have is what is expected.
  bool none() const { return comparison == Operator::kEqual && limit == 0; }
};

// None: *why says what is wrong, and at which column.
std::optional<Expectation> ParseExpectation(std::string_view text, Wrong* why);

enum class Verdict { kHolds, kFails, kNotKnown };

// Of a number of which the bounds are known; it is not known if some numbers between them hold, and others
// fail.
Verdict Compare(const Estimated& number, Operator comparison, uint64_t limit);

}  // namespace anttracks::analyzer
