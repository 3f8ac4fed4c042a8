// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/flame_graph.h"

#include <nlohmann/json.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/report/flame_page.h"
#include "analyzer/report/page_json.h"

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kPartsShown = 10'000;

struct Data {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array(), names = nlohmann::ordered_json::array();
};

Data DataOf(const CallTree& tree) {
  Data data;
  std::unordered_map<std::string_view, size_t> numbers;
  const uint64_t least = tree[CallTree::kRoot].totals.bytes / kPartsShown;
  std::vector<std::pair<uint32_t, uint64_t>> open{{CallTree::kRoot, 0}};  // node and depth
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const CallTree::Node& at = tree[node];
    const std::string_view name = node == CallTree::kRoot ? "all" : tree.name(node);
    const auto [number, is_new] = numbers.try_emplace(name, data.names.size());
    if (is_new) data.names.push_back(name);
    for (const uint64_t value : {depth, uint64_t{number->second}, at.totals.bytes, at.totals.objects})
      data.nodes.push_back(value);
    for (size_t i = at.children.size(); i-- > 0;) {
      if (tree[at.children[i]].totals.bytes > least) open.emplace_back(at.children[i], depth + 1);
    }
  }
  return data;
}

bool IsFlameGraph(std::span<const uint8_t> start) {
  return BeginsWith(start, kFlamePage[0].substr(0, kFlamePage[0].find("\n<html")));
}

}  // namespace

std::string FlameGraphHtml(const CallTree& tree, std::string_view heading) {
  Data data = DataOf(tree);
  const nlohmann::ordered_json json{
      {"heading", heading}, {"names", std::move(data.names)}, {"nodes", std::move(data.nodes)}};
  return std::string(kFlamePage[0]) + JsonInScript(json) + std::string(kFlamePage[1]);
}

trace::Status WriteFlameGraph(const CallTree& tree, std::string_view heading, const std::string& path,
                              Replace replace) {
  return WritePage(FlameGraphHtml(tree, heading), {"a flame graph", &IsFlameGraph}, path, replace);
}

}  // namespace anttracks::analyzer
