// SPDX-License-Identifier: Apache-2.0
// Dominators, compared with their definition: a node dominates those that are not reached without it.
#include "analyzer/hprof/dominators.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

namespace anttracks::testing {
namespace {

using hprof::Dominators;

struct TestGraph {
  std::vector<std::vector<uint32_t>> targets;
  uint32_t size() const { return static_cast<uint32_t>(targets.size()); }
  uint32_t Degree(uint32_t node) const { return static_cast<uint32_t>(targets[node].size()); }
  uint32_t Target(uint32_t node, uint32_t i) const { return targets[node][i]; }
};

// The nodes that the roots reach without going through one node.
std::vector<bool> Reached(const TestGraph& graph, const std::vector<uint32_t>& roots, uint32_t without) {
  std::vector<bool> reached(graph.size());
  std::vector<uint32_t> stack;
  const auto reach = [&](uint32_t node) {
    if (node == without || reached[node]) return;
    reached[node] = true;
    stack.push_back(node);
  };
  for (const uint32_t root : roots) reach(root);
  while (!stack.empty()) {
    const uint32_t node = stack.back();
    stack.pop_back();
    for (const uint32_t target : graph.targets[node]) reach(target);
  }
  return reached;
}

void CheckByDefinition(const TestGraph& graph, const std::vector<uint32_t>& roots) {
  const Dominators dominators(graph, roots);
  const std::vector<bool> all = Reached(graph, roots, UINT32_MAX);
  std::vector<std::set<uint32_t>> of(graph.size());  // all that dominate a node, but itself
  for (uint32_t node = 0; node < graph.size(); node++) {
    const std::vector<bool> without = Reached(graph, roots, node);
    for (uint32_t other = 0; other < graph.size(); other++) {
      if (other != node && all[other] && !without[other]) of[other].insert(node);
    }
  }
  std::vector<uint32_t> place(graph.size(), UINT32_MAX);
  const auto order = dominators.order();
  for (uint32_t i = 0; i < order.size(); i++) place[order[i]] = i;
  for (uint32_t node = 0; node < graph.size(); node++) {
    CAPTURE(node);
    if (!all[node]) {
      REQUIRE(dominators.Of(node) == Dominators::kUnreached);
      continue;
    }
    std::set<uint32_t> found;
    for (uint32_t at = dominators.Of(node); at != Dominators::kAll; at = dominators.Of(at)) {
      REQUIRE(found.insert(at).second);
      REQUIRE(place[at] < place[node]);
    }
    REQUIRE(found == of[node]);
  }
}

TEST_CASE("dominators of random graphs are those of the definition") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; round++) {
    TestGraph graph;
    const uint32_t size = 1 + random() % 30;
    graph.targets.resize(size);
    for (uint32_t edges = random() % (3 * size); edges != 0; edges--)
      graph.targets[random() % size].push_back(random() % size);
    std::vector<uint32_t> roots;
    for (uint32_t count = random() % 4; count != 0; count--) roots.push_back(random() % size);
    CheckByDefinition(graph, roots);
  }
}

TEST_CASE("the graph of Lengauer and Tarjan's paper has the dominators that the paper shows") {
  // R A B C D E F G H I J K L
  TestGraph graph{
      {{1, 2, 3}, {4}, {1, 4, 5}, {6, 7}, {12}, {8}, {9}, {9, 10}, {5, 11}, {11}, {9}, {9, 0}, {8}}};
  const Dominators dominators(graph, std::vector<uint32_t>{0});
  const std::vector<uint32_t> expected{Dominators::kAll, 0, 0, 0, 0, 0, 3, 3, 0, 0, 7, 0, 4};
  for (uint32_t node = 0; node < graph.size(); node++) CHECK(dominators.Of(node) == expected[node]);
}

TEST_CASE("a long list of nodes needs no deep recursion") {
  TestGraph graph;
  constexpr uint32_t kSize = 200'000;
  graph.targets.resize(kSize);
  for (uint32_t node = 0; node + 1 < kSize; node++) graph.targets[node] = {node + 1, 0};
  const Dominators dominators(graph, std::vector<uint32_t>{0});
  CHECK(dominators.Of(0) == Dominators::kAll);
  CHECK(dominators.Of(kSize - 1) == kSize - 2);
  CHECK(dominators.order().size() == kSize);
}

TEST_CASE("a graph without roots, or without nodes, has no dominators") {
  TestGraph graph{{{1}, {0}}};
  CHECK(Dominators(graph, {}).Of(1) == Dominators::kUnreached);
  CHECK(Dominators(graph, {}).order().empty());
  CHECK(Dominators(TestGraph(), {}).order().empty());
}

}  // namespace
}  // namespace anttracks::testing
