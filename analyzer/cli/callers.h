// SPDX-License-Identifier: Apache-2.0
// Who called the code that allocates: how what a site allocated splits among the call stacks that were sampled
// there. The totals of sites are not touched by that: the parts of a number add up to it.
//
// A stack weighs as many bytes as the sample points in its objects stand for. Points lie anywhere with the same
// probability, so the stacks of one site are a sample of its bytes.
//
// Thread safety: none. Ownership: borrows the definitions.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/content.h"

namespace anttracks::analyzer {

class Callers {
 public:
  struct Sampled {
    uint32_t stack = 0;
    uint64_t count = 0;  // how often it was sampled
    uint64_t bytes = 0;  // its weight; at least 1
  };

  // Of the stacks that the selection's window and threads have.
  Callers(const Definitions& definitions, const StackSamples& samples, const Selection& selection);

  // By number. Empty: no stack was sampled there.
  const std::vector<Sampled>& Of(uint32_t site) const;

  // The places of the stack, innermost first: inlined callers, and those around them. 0: frames that were not
  // recorded, or that are too deep (only a damaged trace has them).
  std::vector<uint32_t> Places(uint32_t stack) const;

 private:
  const Definitions* definitions_;
  std::unordered_map<uint32_t, std::vector<Sampled>> by_site_;
};

// Calls take(each, part) for each, so that the parts of whole are in the ratio of the weights (each.bytes) and
// add up to it.
template <class Each, class Take>
void Split(uint64_t whole, const std::vector<Each>& among, Take&& take) {
  __extension__ using Wide = unsigned __int128;
  Wide all = 0, before = 0;
  for (const auto& each : among) all += each.bytes;
  if (all == 0) return;  // there are none
  uint64_t given = 0;
  for (const auto& each : among) {
    before += each.bytes;
    const auto until = static_cast<uint64_t>((whole * before + all / 2) / all);
    take(each, until - given);
    given = until;
  }
}

// "12,345 stacks, one per 512 KiB on average": what the split rests on.
std::string StacksText(const StackSamples& samples, uint64_t stacks);

}  // namespace anttracks::analyzer
