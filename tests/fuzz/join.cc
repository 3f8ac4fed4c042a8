// SPDX-License-Identifier: Apache-2.0
// A heap dump joined with the unit tests' small trace: the first byte chooses the report, the rest is the dump.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "tests/fuzz/command.h"
#include "tests/fuzz/trace_file.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::fuzz {
namespace {

using Words = std::vector<std::string>;

const Words kReports[] = {
    {"join"},
    {"join", "--json"},
    {"join", "--by", "class", "--csv"},
    {"join", "--by", "thread", "--gc", "0"},
    {"join", "--objects"},
    {"join", "--objects", "--json"},
    {"join", "--path"},
    {"join", "--path", "--where", "class=app.Node", "--json"},
    {"join", "--export", "/dev/full", "-f"},
};

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  if (size < 1) return 0;
  static const std::string bytes = anttracks::testing::SmallTrace().file();
  static const MemoryFile trace({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  const MemoryFile dump(std::span<const uint8_t>(data + 1, size - 1));
  RunCommand(kReports[data[0] % std::size(kReports)], {trace.path(), dump.path()});
  return 0;
}
