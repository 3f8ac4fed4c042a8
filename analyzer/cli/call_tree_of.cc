// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/call_tree_of.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/cli/call_paths.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

class Builder {
 public:
  Builder(const Content& content, const TreeArguments& arguments)
      : content_(content), arguments_(arguments), paths_(content, arguments.selection) {}

  std::unique_ptr<CallTree> Build() {
    std::unordered_set<uint32_t> sites;
    for (const auto& [id, totals] : Chosen()) {
      if (totals.objects == 0 && totals.bytes == 0) continue;
      const SiteClass& pair = content_.definitions.site_class(id);
      AddPair(pair, totals);
      if (sites.insert(pair.site).second) AddStacks(pair.site);
    }
    tree_->Sort();
    return std::move(tree_);
  }

 private:
  using Names = std::vector<uint32_t>;

  // By site-class pair.
  std::map<uint32_t, CallTotals> Chosen() {
    Chooser chosen(content_.definitions, arguments_.selection);
    std::map<uint32_t, Amount> amounts;
    for (const Portion& portion : content_.portions) {
      if (!chosen(portion.key)) continue;
      amounts[portion.key.site_class].Add(arguments_.live ? portion.live : portion.allocated);
    }
    std::map<uint32_t, CallTotals> totals;
    for (const auto& [id, amount] : amounts) totals.emplace(id, TotalsOf(amount));
    return totals;
  }
  uint32_t NameOf(uint32_t site) {
    const auto [name, is_new] = names_.try_emplace(site);
    if (!is_new) return name->second;
    std::string text = SiteLabel(content_.definitions, site);
    if (arguments_.methods && content_.definitions.site(site).defined)
      text.erase(std::min(text.rfind('('), text.size()));
    return name->second = tree_->Name(text);
  }
  // In the order of the tree, without the class.
  Names NamesOf(const CallPath& path) {
    Names names;
    for (const uint32_t site : path.places) names.push_back(NameOf(site));
    const std::string_view outside = OutsideText(path.outside);
    if (!outside.empty()) names.push_back(tree_->Name(std::string(outside)));
    if (!arguments_.reverse) std::reverse(names.begin(), names.end());
    return names;
  }
  void AddPair(const SiteClass& pair, const CallTotals& totals) {
    const std::vector<CallPath>& paths = paths_.Of(pair.site);
    const std::vector<CallTotals> parts = SplitAmong(paths, totals);
    for (size_t i = 0; i < paths.size(); i++) {
      if (parts[i].objects == 0 && parts[i].bytes == 0) continue;
      Names names = NamesOf(paths[i]);
      if (!arguments_.reverse) names.push_back(tree_->Name(ClassLabel(content_.definitions, pair.class_id)));
      tree_->Add(names, parts[i]);
    }
  }
  void AddStacks(uint32_t site) {
    for (const CallPath& path : paths_.Of(site)) {
      if (path.stacks != 0) tree_->AddStacks(NamesOf(path), path.stacks);
    }
  }

  const Content& content_;
  const TreeArguments& arguments_;
  CallPaths paths_;
  std::unique_ptr<CallTree> tree_ = std::make_unique<CallTree>();
  std::unordered_map<uint32_t, uint32_t> names_;  // by site
};

}  // namespace

CallTotals TotalsOf(const Amount& amount) {
  return {Rounded(amount.bytes().value), Rounded(amount.objects().value)};
}

std::unique_ptr<CallTree> CallTreeOf(const Content& content, const TreeArguments& arguments) {
  return Builder(content, arguments).Build();
}

}  // namespace anttracks::analyzer
