// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/call_paths.h"

#include <utility>

namespace anttracks::analyzer {
std::string_view OutsideText(CallPath::Outside outside) {
  switch (outside) {
    case CallPath::Outside::kNothing:
      return "";
    case CallPath::Outside::kNoStack:
      return "<no stack was sampled>";
    case CallPath::Outside::kNotRecorded:
      return "<frames that were not recorded>";
  }
  return "";
}

CallPath CallPaths::OfStack(const Callers::Sampled& sampled) const {
  CallPath path{.places = callers_.Places(sampled.stack), .stacks = sampled.count, .bytes = sampled.bytes};
  if (path.places.size() > 1 && path.places.back() == kSiteUnknown) {
    path.places.pop_back();
    path.outside = CallPath::Outside::kNotRecorded;
  }
  return path;
}

CallPath CallPaths::OfSite(uint32_t site) const {
  CallPath path{.places = {site}};
  for (uint32_t at = definitions_.site(site).caller; at != 0; at = definitions_.site(at).caller)
    path.places.push_back(at);
  const bool whole = live_ == Basis::kSamples || site < kFirstSite;
  path.outside = whole ? CallPath::Outside::kNothing : CallPath::Outside::kNoStack;
  return path;
}

const std::vector<CallPath>& CallPaths::Of(uint32_t site) {
  const auto [at, is_new] = known_.try_emplace(site);
  std::vector<CallPath>& paths = at->second;
  if (!is_new) return paths;
  for (const Callers::Sampled& sampled : callers_.Of(site)) paths.push_back(OfStack(sampled));
  if (paths.empty()) paths.push_back(OfSite(site));
  return paths;
}

std::vector<CallTotals> SplitAmong(const std::vector<CallPath>& paths, const CallTotals& totals) {
  std::vector<CallTotals> parts(paths.size());
  size_t next = 0;
  Split(totals.bytes, paths, [&](const CallPath&, uint64_t bytes) { parts[next++].bytes = bytes; });
  next = 0;
  Split(totals.objects, paths, [&](const CallPath&, uint64_t objects) { parts[next++].objects = objects; });
  return parts;
}

}  // namespace anttracks::analyzer
