// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/application_sites.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr double kAll = 0.995;  // what is shown as 100 %

}  // namespace

ApplicationSites::ApplicationSites(const Definitions& definitions, const StackSamples& stacks,
                                   const ApplicationFrames& frames, const Selection& selection)
    : definitions_(&definitions), frames_(&frames), callers_(definitions, stacks, selection) {}

const std::vector<ApplicationSites::Part>& ApplicationSites::Of(uint32_t site) {
  const auto known = known_.find(site);
  return known != known_.end() ? known->second : known_.emplace(site, Find(site)).first->second;
}

std::string ApplicationSites::MainOf(uint32_t site) {
  const std::vector<Part>& parts = Of(site);
  const auto main = std::max_element(parts.begin(), parts.end(),
                                     [](const Part& a, const Part& b) { return a.share < b.share; });
  const bool known = main != parts.end() && main->site != 0;
  return known ? SiteLabel(*definitions_, main->site) : std::string(kNoApplicationFrame);
}

uint32_t ApplicationSites::FirstOfSite(uint32_t site) {
  const auto [first, is_new] = of_site_.try_emplace(site);
  if (is_new) first->second = frames_->First(*definitions_, site).value_or(0);
  return first->second;
}

// Each stack, and each of its callers, is looked at once.
uint32_t ApplicationSites::FirstOfStack(uint32_t stack) {
  std::vector<uint32_t> looked_at;
  uint32_t first = 0;
  for (; stack != 0 && first == 0; stack = definitions_->stack(stack).caller) {
    if (const auto known = of_stack_.find(stack); known != of_stack_.end()) {
      first = known->second;
      break;
    }
    looked_at.push_back(stack);
    first = FirstOfSite(definitions_->stack(stack).site);
  }
  for (const uint32_t each : looked_at) of_stack_.emplace(each, first);
  return first;
}

std::vector<ApplicationSites::Part> ApplicationSites::Find(uint32_t site) {
  if (const uint32_t inlined = FirstOfSite(site); inlined != 0) return {{inlined, 1, true}};
  std::map<uint32_t, uint64_t> bytes;
  uint64_t all = 0;
  for (const Callers::Sampled& sampled : callers_.Of(site)) {
    bytes[FirstOfStack(sampled.stack)] += sampled.bytes;
    all += sampled.bytes;
  }
  std::vector<Part> parts;
  for (const auto& [frame, count] : bytes)
    parts.push_back({frame, static_cast<double>(count) / static_cast<double>(all), false});
  return parts;
}

void MainApplicationSite::Add(ApplicationSites& sites, uint32_t site, double bytes) {
  const std::vector<ApplicationSites::Part>& parts = sites.Of(site);
  if (!parts.empty()) all_.bytes += bytes;
  for (const ApplicationSites::Part& part : parts) {
    if (part.site == site) itself_ = true;
    if (part.site == 0) continue;
    const std::string name = SiteLabel(sites.definitions(), part.site);
    all_.by_name[name] += part.share * bytes;
    if (!part.inlined) continue;
    inlined_.bytes += bytes;
    inlined_.by_name[name] += bytes;
  }
}

std::string MainApplicationSite::name() const {
  const auto& by_name = names().by_name;
  if (itself_ || by_name.empty()) return "";
  return std::max_element(by_name.begin(), by_name.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

double MainApplicationSite::share() const {
  if (itself_) return 1;
  const auto most = names().by_name.find(name());
  if (most == names().by_name.end()) return 0;
  return names().bytes == 0 ? 1 : most->second / names().bytes;
}

bool MainApplicationSite::all() const { return share() >= kAll; }

std::vector<std::string> MainApplicationSite::Lines() const {
  const std::string most = name();
  if (most.empty()) return {};
  if (all()) return {most};
  return {fmt::format("{} (~{:.0f} %)", most, 100 * share())};
}

std::vector<Column> ApplicationColumns() {
  return {{.key = "application", .where = Where::kInData},
          {.key = "application_share", .unit = Unit::kShare, .where = Where::kInData},
          {.key = "frame", .unit = Unit::kTexts, .where = Where::kInText}};
}

void AddApplicationCells(Row* row, const MainApplicationSite& application, const std::string& site,
                         std::string_view unknown) {
  const std::string name = application.itself() ? site : application.name();
  row->push_back(name.empty() ? Cell(nullptr) : Cell(name));
  row->push_back(application.share());
  std::vector<std::string> lines = application.Lines();
  if (name.empty() && !unknown.empty()) lines.emplace_back(unknown);
  row->push_back(std::move(lines));
}

}  // namespace anttracks::analyzer
