// SPDX-License-Identifier: Apache-2.0
// A file for Valgrind's dh_view.html: the format of DHAT, version 2, described at the head of Valgrind's
// dhat/dh_main.c.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "analyzer/export/profile.h"

namespace anttracks::analyzer {

// Of one stack and class.
struct DhatPoint {
  uint32_t stack = 0, of_class = 0;
  CallTotals allocated, most, at_highest, live;
  uint64_t lived_ns = 0;
};

struct DhatContents {
  bool lives = true;            // false: only what was allocated is known
  uint64_t highest_ns = 0;      // when all points together had the most bytes
  uint64_t short_lived_ns = 0;  // what lives no longer on average is called short-lived
  std::vector<DhatPoint> points;
};

// profile: its process, frames, classes and stacks.
std::string DhatText(const ExportProfile& profile, const DhatContents& contents);

}  // namespace anttracks::analyzer
