// SPDX-License-Identifier: Apache-2.0
// Paths of names through a tree of calls: of stacks that were sampled, and of sites at which none was.
//
// Thread safety: none. Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/callers.h"
#include "analyzer/model/call_tree.h"

namespace anttracks::analyzer {

class CallPaths {
 public:
  using Path = std::vector<uint32_t>;  // numbers of names of the tree; the root's child first
  struct Options {
    bool reverse = false;  // callees first
    bool methods = false;  // calls are told apart by methods, not by lines
    bool samples = false;  // of a trace of samples, in which a site is a whole stack
  };

  CallPaths(const Definitions& definitions, const Callers& callers, const Options& options, CallTree* tree)
      : definitions_(&definitions), callers_(&callers), options_(options), tree_(tree) {}

  Path OfStack(uint32_t stack);
  // Of a site at which no stack was sampled: the path says so.
  Path OfSite(uint32_t site);

 private:
  uint32_t NameOf(uint32_t site);
  Path PathOf(const std::vector<uint32_t>& places, const char* outermost);

  const Definitions* definitions_;
  const Callers* callers_;
  const Options options_;
  CallTree* tree_;
  std::unordered_map<uint32_t, uint32_t> names_;  // by site
};

}  // namespace anttracks::analyzer
