// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_rows.h"

#include <algorithm>
#include <utility>

#include "analyzer/cli/call_paths.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kMostStacksOfSite = 64;
constexpr const char* kRarerStacks = "<rarer stacks>";
constexpr double kWeightUnits = 1e12, kParts = 10'000;
// The smaller sites of a class have a row if they have such a part of the whole.
constexpr double kLeastClass = 0.001;

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// Rows by the names of site and class, with what was allocated and what survived.
class Grouping {
 public:
  Grouping(const PageContent& content, const ApplicationFrames& frames)
      : content_(content), sites_(content.definitions, content.stacks, frames) {
    for (const auto& [id, amount] : content.allocated) {
      RowOf(id).allocated.Add(amount);
      applications_.at(group_of_[id])
          .Add(sites_, content.definitions.site_class(id).site, amount.bytes().value);
    }
    for (const auto& [id, amount] : content.survived) RowOf(id).survived.Add(amount);
    for (const PageMoment& moment : content.moments)
      for (const auto& [id, totals] : moment.live) RowOf(id);
    for (size_t i = 0; i < rows_.size(); i++) {
      const MainApplicationSite& application = applications_[i];
      rows_[i].application = application.itself() ? rows_[i].site : application.name();
    }
  }
  std::vector<PageRow>& rows() { return rows_; }

 private:
  PageRow& RowOf(uint32_t id) {
    const auto [known, is_new] = group_of_.try_emplace(id, 0);
    if (!is_new) return rows_[known->second];
    const SiteClass& pair = content_.definitions.site_class(id);
    std::pair names(SiteLabel(content_.definitions, pair.site),
                    ClassLabel(content_.definitions, pair.class_id));
    const auto [group, is_first] = by_name_.try_emplace(names, rows_.size());
    if (is_first) {
      rows_.push_back({names.first, names.second, "", {}, {}, 0, {}});
      applications_.emplace_back();
    }
    known->second = group->second;
    rows_[group->second].site_classes.push_back(id);
    return rows_[group->second];
  }

  const PageContent& content_;
  ApplicationSites sites_;
  std::vector<PageRow> rows_;
  std::vector<MainApplicationSite> applications_;
  std::map<std::pair<std::string, std::string>, size_t> by_name_;
  std::unordered_map<uint32_t, size_t> group_of_;
};

}  // namespace

void PageRows::Rank(const PageContent& content, std::vector<PageRow>* all) const {
  Amount allocated, survived;
  for (const PageRow& row : *all) {
    allocated.Add(row.allocated);
    survived.Add(row.survived);
  }
  std::unordered_map<uint32_t, size_t> row_of;
  for (size_t i = 0; i < all->size(); i++) {
    PageRow& row = (*all)[i];
    row.weight = std::max(Share(row.allocated.bytes().value, allocated.bytes().value),
                          Share(row.survived.bytes().value, survived.bytes().value));
    for (const uint32_t id : row.site_classes) row_of[id] = i;
  }
  for (const PageMoment& moment : content.moments) {
    std::unordered_map<size_t, double> live;
    double whole = 0;
    for (const auto& [id, totals] : moment.live) {
      live[row_of[id]] += static_cast<double>(totals.bytes);
      whole += static_cast<double>(totals.bytes);
    }
    for (const auto& [row, bytes] : live)
      (*all)[row].weight = std::max((*all)[row].weight, Share(bytes, whole));
  }
  std::stable_sort(all->begin(), all->end(),
                   [](const PageRow& a, const PageRow& b) { return a.weight > b.weight; });
}

// Without the pairs of the row: callers of many sites say nothing.
void PageRows::AddTo(size_t at, const PageRow& row) {
  rows_[at].allocated.Add(row.allocated);
  rows_[at].survived.Add(row.survived);
  rows_[at].weight += row.weight;
  for (const uint32_t id : row.site_classes) row_of_[id] = at;
}

// Of what has no row of its own.
void PageRows::AddClasses(const std::vector<PageRow>& all, size_t most) {
  struct Small {
    double weight = 0;
    size_t sites = 0, row = 0;
  };
  std::map<std::string, Small> classes;
  for (size_t i = most; i < all.size(); i++) {
    Small& small = classes[all[i].class_name];
    small.weight += all[i].weight;
    small.sites++;
  }
  std::vector<std::map<std::string, Small>::iterator> large;
  for (auto each = classes.begin(); each != classes.end(); ++each)
    if (each->second.sites > 1 && each->second.weight >= kLeastClass) large.push_back(each);
  std::stable_sort(large.begin(), large.end(),
                   [](auto a, auto b) { return a->second.weight > b->second.weight; });
  large.resize(std::min(large.size(), most));
  for (const auto& each : large) {
    each->second.row = rows_.size();
    rows_.push_back({Plural(each->second.sites, "smaller site"), each->first, "", {}, {}, 0, {}});
    in_classes_ += each->second.sites;
  }
  others_ = all.size() - most - in_classes_;
  const size_t other = rows_.size();
  if (others_ != 0) rows_.push_back({Plural(others_, "smaller site"), "(other)", "", {}, {}, 0, {}});
  for (size_t i = most; i < all.size(); i++) {
    const size_t row = classes[all[i].class_name].row;
    AddTo(row == 0 ? other : row, all[i]);
  }
}

PageRows::PageRows(const PageContent& content, const ApplicationFrames& frames, size_t most) {
  Grouping grouping(content, frames);
  std::vector<PageRow>& all = grouping.rows();
  Rank(content, &all);
  sites_ = std::min(all.size(), most);
  for (size_t i = 0; i < sites_; i++) {
    for (const uint32_t id : all[i].site_classes) row_of_[id] = i;
    rows_.push_back(std::move(all[i]));
  }
  if (all.size() > most) AddClasses(all, most);
}

std::map<size_t, CallTotals> PageRows::LiveAt(const PageMoment& moment) const {
  std::map<size_t, CallTotals> live;
  for (const auto& [id, totals] : moment.live) live[row_of_.at(id)].Add(totals);
  return live;
}

namespace {

// By node of the tree; the row's weight goes to the nodes.
using Parts = std::map<uint32_t, double>;

class CallsBuilder {
 public:
  explicit CallsBuilder(const PageContent& content)
      : content_(content), paths_(content.definitions, content.stacks, content.live_basis, {}) {}

  Parts Add(const PageRow& row) {
    Parts parts;
    if (row.site_classes.empty()) return parts;
    std::vector<double> weights;
    double all = 0;
    for (const uint32_t id : row.site_classes) {
      const auto allocated = content_.allocated.find(id);
      weights.push_back(allocated == content_.allocated.end() ? 0 : allocated->second.bytes().value);
      all += weights.back();
    }
    for (size_t i = 0; i < weights.size(); i++) {
      // Of what is older than the trace nothing was allocated in it.
      const double share = all == 0 ? 1.0 / static_cast<double>(weights.size()) : weights[i] / all;
      if (share != 0) AddPair(row.site_classes[i], share, row.weight, &parts);
    }
    return parts;
  }
  const CallTree& tree() const { return tree_; }

 private:
  void AddPair(uint32_t id, double share, double weight, Parts* parts) {
    const uint32_t site = content_.definitions.site_class(id).site;
    std::vector<CallPath> paths = paths_.Of(site);
    std::stable_sort(paths.begin(), paths.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
    double all = 0, rest = 0;
    for (const CallPath& path : paths) all += static_cast<double>(path.bytes);
    for (size_t i = 0; i < paths.size(); i++) {
      const double part = share * static_cast<double>(paths[i].bytes) / all;
      if (i < kMostStacksOfSite) {
        AddPath(NamesOf(paths[i]), part, weight, parts);
      } else {
        rest += part;
      }
    }
    if (rest != 0) AddPath({tree_.Name(kRarerStacks)}, rest, weight, parts);
  }
  // The outermost call first.
  std::vector<uint32_t> NamesOf(const CallPath& path) {
    std::vector<uint32_t> names;
    for (const uint32_t site : path.places) names.push_back(NameOf(site));
    const std::string_view outside = OutsideText(path.outside);
    // No call stack is in a census: that is not said of each path.
    if (!outside.empty() && !content_.censuses) names.push_back(tree_.Name(std::string(outside)));
    std::reverse(names.begin(), names.end());
    return names;
  }
  uint32_t NameOf(uint32_t site) {
    const auto [name, is_new] = names_.try_emplace(site);
    if (is_new) name->second = tree_.Name(SiteLabel(content_.definitions, site));
    return name->second;
  }
  void AddPath(const std::vector<uint32_t>& path, double share, double weight, Parts* parts) {
    (*parts)[tree_.Add(path, {static_cast<uint64_t>(share * weight * kWeightUnits) + 1, 0})] += share;
  }

  const PageContent& content_;
  CallTree tree_;
  CallPaths paths_;
  std::unordered_map<uint32_t, uint32_t> names_;  // by site
};

// The nodes with the most below them; a parent has at least as much as each child.
std::vector<uint32_t> Largest(const CallTree& tree, size_t most) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < tree.size(); node++) nodes.push_back(node);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](uint32_t a, uint32_t b) { return tree[a].totals.bytes > tree[b].totals.bytes; });
  nodes.resize(std::min(nodes.size(), std::max<size_t>(most, 1)));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

PageCalls CallsOf(const PageContent& content, const PageRows& rows, size_t most) {
  CallsBuilder builder(content);
  std::vector<Parts> parts;
  for (const PageRow& row : rows.rows()) parts.push_back(builder.Add(row));
  const CallTree& tree = builder.tree();
  PageCalls calls;
  std::unordered_map<uint32_t, size_t> numbers;
  std::unordered_map<std::string, size_t> names;
  for (const uint32_t node : Largest(tree, most)) {
    const std::string name = node == CallTree::kRoot ? "all" : std::string(tree.name(node));
    const auto [number, is_new] = names.try_emplace(name, calls.names.size());
    if (is_new) calls.names.push_back(name);
    calls.nodes.push_back({node == CallTree::kRoot ? 0 : numbers.at(tree[node].parent), number->second});
    numbers[node] = calls.nodes.size() - 1;
  }
  for (const Parts& of_row : parts) {
    std::map<size_t, double> shares;
    for (const auto& [leaf, share] : of_row) {
      uint32_t node = leaf;
      while (numbers.find(node) == numbers.end()) node = tree[node].parent;
      shares[numbers.at(node)] += share;
    }
    calls.of_rows.emplace_back();
    for (const auto& [node, share] : shares)
      calls.of_rows.back().push_back({node, static_cast<uint64_t>(share * kParts) + 1});
  }
  return calls;
}

}  // namespace anttracks::analyzer
