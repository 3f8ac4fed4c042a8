// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/portions.h"

namespace anttracks::analyzer {

void CountPortions::AddPart(const PartKey& key, Part* part, std::map<PortionKey, Allocated>* all) const {
  const ObjectShapes& shapes = definitions_->shapes();
  const auto key_of = [&](uint32_t site_class) { return PortionKey{key.first, key.second, site_class}; };
  part->estimator.End();
  for (const auto& [shape, counts] : part->by_shape) {
    const uint64_t words = shapes.words(shape);
    const auto exact = static_cast<double>(counts.exact),
               exact_words = static_cast<double>(counts.exact * words);
    (*all)[key_of(shapes[shape].site_class)].Add({{counts.objects, counts.objects * words},
                                                  {exact, exact, exact},
                                                  {exact_words, exact_words, exact_words}});
  }
  for (const auto& [site_class, group] : part->groups) {
    const EstimatedTotals chosen = part->estimator.Of({&group, 1});
    (*all)[key_of(site_class)].Add({{}, chosen.objects, chosen.words});
  }
}

std::map<PortionKey, Allocated> CountPortions::Allocations() {
  Flush();
  std::map<PortionKey, Allocated> all;
  for (auto& [key, part] : parts_) AddPart(key, &part, &all);
  return all;
}

uint64_t CountPortions::read_words() const {
  uint64_t words = 0;
  for (const auto& [key, part] : parts_) words += part.estimator.read_words();
  return words;
}

std::map<PortionKey, HeapTotals> PortionsAndHeap::LivePortions(const HeapAt& heap, const Marks& marks,
                                                               bool threads) {
  // Objects lie among others of the same provenance, mostly.
  using ByShape = std::unordered_map<uint32_t, uint64_t>;
  std::map<PortionKey, ByShape> objects;
  std::unordered_map<uint32_t, ByShape*> of_provenance;
  uint32_t last = UINT32_MAX;
  ByShape* counts = nullptr;
  heap.ForEach([&](const HeapObject& object) {
    if (object.provenance != last) {
      last = object.provenance;
      ByShape*& known = of_provenance[last];
      if (known == nullptr) known = &objects[KeyOfProvenance(heap, marks, threads, last)];
      counts = known;
    }
    (*counts)[object.shape]++;
  });
  std::map<PortionKey, HeapTotals> live;
  const ObjectShapes& shapes = heap.definitions().shapes();
  for (const auto& [key, by_shape] : objects) {
    for (const auto& [shape, count] : by_shape) {
      live[{key.passed, key.thread, shapes[shape].site_class}].Add({count, count * shapes.words(shape)});
    }
  }
  return live;
}

}  // namespace anttracks::analyzer
