// SPDX-License-Identifier: Apache-2.0
// The paths of calls that lead to a site, and how what it allocated splits among them: what `tree` shows and
// what exports write.
//
// Thread safety: none. Ownership: borrows definitions and stacks.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/callers.h"
#include "analyzer/cli/content.h"
#include "analyzer/model/call_tree.h"

namespace anttracks::analyzer {

struct CallPath {
  enum class Outside { kNothing, kNoStack, kNotRecorded };

  std::vector<uint32_t> places;  // sites, innermost first
  Outside outside = Outside::kNothing;
  uint64_t stacks = 0;  // how often it was sampled; 0: it has the callers only that were inlined
  uint64_t bytes = 1;   // its weight
};

// The name of what is around the places; "": nothing.
std::string_view OutsideText(CallPath::Outside outside);

class CallPaths {
 public:
  // Of the stacks that the selection's window and threads have. live: kSamples of a trace of samples, in which
  // the site itself is a stack.
  CallPaths(const Definitions& definitions, const StackSamples& stacks, Basis live, const Selection& selection)
      : definitions_(definitions), live_(live), callers_(definitions, stacks, selection) {}
  CallPaths(const Content& content, const Selection& selection)
      : CallPaths(content.definitions, content.stacks, content.live, selection) {}

  // Never empty.
  const std::vector<CallPath>& Of(uint32_t site);

 private:
  CallPath OfStack(const Callers::Sampled& sampled) const;
  CallPath OfSite(uint32_t site) const;

  const Definitions& definitions_;
  const Basis live_;
  const Callers callers_;
  std::unordered_map<uint32_t, std::vector<CallPath>> known_;
};

// The part of each path, in the same order; the parts add up to the totals.
std::vector<CallTotals> SplitAmong(const std::vector<CallPath>& paths, const CallTotals& totals);

}  // namespace anttracks::analyzer
