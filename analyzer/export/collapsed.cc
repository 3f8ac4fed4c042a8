// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/collapsed.h"

#include <cstdint>
#include <vector>

namespace anttracks::analyzer {
namespace {

void AppendName(std::string_view name, std::string* out) {
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    *out += code < 0x20 || code == 0x7F ? '?' : c == ';' ? ',' : c;
  }
}

}  // namespace

std::string CollapsedText(const CallTree& tree) {
  std::string out;
  std::vector<uint32_t> path;
  for (uint32_t node = 1; node < tree.size(); node++) {
    uint64_t own = tree[node].totals.bytes;
    for (const uint32_t child : tree[node].children) own -= tree[child].totals.bytes;
    if (own == 0) continue;
    path.clear();
    for (uint32_t at = node; at != CallTree::kRoot; at = tree[at].parent) path.push_back(at);
    for (size_t i = path.size(); i-- > 0;) {
      AppendName(tree.name(path[i]), &out);
      out += i == 0 ? ' ' : ';';
    }
    out += std::to_string(own) + '\n';
  }
  return out;
}

}  // namespace anttracks::analyzer
