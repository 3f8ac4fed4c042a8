// SPDX-License-Identifier: Apache-2.0
// Rewrites the generated sections of the documentation: doc_tables FOLDER. doc_tables --check FOLDER only says
// which pages are stale. Exit code 0: all are as they should be.
#include "agent/base/doc_tables.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace anttracks {
namespace {

struct Page {
  const char* path;
  std::string_view reference;  // where docs/agent.md lies, seen from it
};
constexpr Page kPages[] = {{"docs/agent.md", ""}, {"README.md", "docs/agent.md"}};

bool Update(const std::string& path, std::string_view reference, bool only_check) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto made = core::WithTables(text, reference);
  if (!made.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), made.message().c_str());
    return false;
  }
  if (*made == text) return true;
  if (only_check) {
    std::fprintf(stderr, "%s: its tables are not those of the code; run scripts/doc-tables\n", path.c_str());
    return false;
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << *made;
  if (out.flush()) {
    std::printf("%s: written\n", path.c_str());
    return true;
  }
  std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
  return false;
}

}  // namespace
}  // namespace anttracks

int main(int count, char** arguments) {
  using namespace anttracks;
  const bool only_check = count == 3 && std::string_view(arguments[1]) == "--check";
  if (count != 2 && !only_check) {
    std::fprintf(stderr, "usage: doc_tables [--check] FOLDER\n");
    return 2;
  }
  bool good = true;
  for (const Page& page : kPages) {
    good = Update(std::string(arguments[count - 1]) + "/" + page.path, page.reference, only_check) && good;
  }
  return good ? 0 : 1;
}
