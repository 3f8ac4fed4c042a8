// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/pretenure_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace anttracks::analyzer {
namespace {

constexpr size_t kMostFrames = 8;
constexpr double kLeastShareOfCopies = 0.001;

bool AreWorthIt(const SitePromotion& sums, uint64_t copied_words) {
  return static_cast<double>(sums.copied_young) >= kLeastShareOfCopies * static_cast<double>(copied_words) &&
         static_cast<double>(sums.promoted) >=
             kPretenureShare * static_cast<double>(sums.promoted + sums.died_young);
}

// Whether it is one line of the list.
bool IsLine(std::string_view frame) {
  return std::none_of(frame.begin(), frame.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

// Empty: the site has no frame, or one that has another name in each run, or that no line can hold.
std::vector<std::string> FramesOf(const Definitions& definitions, uint32_t site) {
  std::vector<std::string> frames;
  while (site > kSiteOverflow && frames.size() < kMostFrames) {
    const SiteInfo& info = definitions.site(site);
    const MethodInfo& method = definitions.method(info.method);
    if (!info.defined || !method.defined || method.class_name.find('/') != std::string::npos) return {};
    frames.push_back(
        fmt::format("{}.{}{}:{}", method.class_name, method.name, method.signature, std::max(info.bci, 0)));
    if (!IsLine(frames.back())) return {};
    site = info.caller;
  }
  return frames;
}

std::string Beginning(const SitePromotion& site, size_t depth) {
  const auto begin = site.frames.begin();
  return fmt::format("{}", fmt::join(begin, begin + static_cast<ptrdiff_t>(depth), " < "));
}

}  // namespace

std::vector<PretenuredSite> PretenuredSites(const std::vector<SitePromotion>& sites, uint64_t copied_words) {
  std::vector<PretenuredSite> list;
  std::vector<const SitePromotion*> left;  // no beginning of theirs is listed
  for (const SitePromotion& site : sites) left.push_back(&site);
  for (size_t depth = 1; depth <= kMostFrames && copied_words != 0; depth++) {
    std::erase_if(left, [&](const SitePromotion* site) { return site->frames.size() < depth; });
    std::map<std::string, SitePromotion> by_beginning;
    for (const SitePromotion* site : left) {
      SitePromotion& sums = by_beginning[Beginning(*site, depth)];
      sums.promoted += site->promoted;
      sums.died_young += site->died_young;
      sums.copied_young += site->copied_young;
    }
    std::erase_if(by_beginning, [&](const auto& each) { return !AreWorthIt(each.second, copied_words); });
    for (const auto& [frames, sums] : by_beginning) list.push_back({frames, sums.copied_young, sums.promoted});
    std::erase_if(left,
                  [&](const SitePromotion* site) { return by_beginning.contains(Beginning(*site, depth)); });
  }
  std::stable_sort(list.begin(), list.end(), [](const PretenuredSite& a, const PretenuredSite& b) {
    return a.saved_words > b.saved_words;
  });
  return list;
}

std::vector<PretenuredSite> PretenuredSites(const Definitions& definitions, const Lifetimes& lifetimes) {
  std::vector<SitePromotion> sites;
  uint64_t copied = 0;
  for (const auto& [id, traced, present] : lifetimes.BySiteClass()) {
    copied += traced.copied_young.words;
    std::vector<std::string> frames = FramesOf(definitions, definitions.site_class(id).site);
    if (frames.empty()) continue;
    sites.push_back(
        {std::move(frames), traced.promoted.words, traced.died_young.words, traced.copied_young.words});
  }
  return PretenuredSites(sites, copied);
}

std::string PretenureText(const std::vector<PretenuredSite>& sites) {
  std::string text = "# For java -XX:+UnlockExperimentalVMOptions -XX:AntTracksPretenure=FILE\n";
  for (const PretenuredSite& site : sites) {
    text += fmt::format("# {} bytes were promoted; saves {} bytes of copying\n{}\n", 8 * site.promoted_words,
                        8 * site.saved_words, site.frames);
  }
  return text;
}

}  // namespace anttracks::analyzer
