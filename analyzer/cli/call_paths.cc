// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/call_paths.h"

#include <algorithm>
#include <string>

#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr const char* kNoStack = "<no stack was sampled>";
constexpr const char* kCutOff = "<frames that were not recorded>";
constexpr size_t kMostPlaces = 256;

}  // namespace

uint32_t CallPaths::NameOf(uint32_t site) {
  const auto [name, is_new] = names_.try_emplace(site);
  if (!is_new) return name->second;
  std::string text = SiteLabel(*definitions_, site);
  if (options_.methods && definitions_->site(site).defined) text.erase(std::min(text.rfind('('), text.size()));
  return name->second = tree_->Name(text);
}

// outermost: a name for what is around the places; nullptr: none.
CallPaths::Path CallPaths::PathOf(const std::vector<uint32_t>& places, const char* outermost) {
  Path path;
  for (const uint32_t site : places) path.push_back(NameOf(site));
  if (outermost != nullptr) path.push_back(tree_->Name(outermost));
  if (!options_.reverse) std::reverse(path.begin(), path.end());
  return path;
}

CallPaths::Path CallPaths::OfStack(uint32_t stack) {
  std::vector<uint32_t> places = callers_->Places(stack);
  const bool cut = places.size() > 1 && places.back() == kSiteUnknown;
  if (cut) places.pop_back();
  return PathOf(places, cut ? kCutOff : nullptr);
}

CallPaths::Path CallPaths::OfSite(uint32_t site) {
  std::vector<uint32_t> places{site};
  for (uint32_t at = definitions_->site(site).caller; at != 0 && places.size() < kMostPlaces;
       at = definitions_->site(at).caller)
    places.push_back(at);
  const bool whole = options_.samples || site < kFirstSite;
  return PathOf(places, whole ? nullptr : kNoStack);
}

}  // namespace anttracks::analyzer
