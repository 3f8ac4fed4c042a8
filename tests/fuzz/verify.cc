// SPDX-License-Identifier: Apache-2.0
// `anttracks verify` on one file: the heap is rebuilt with all checks. First byte: META (trace_input.h).
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "tests/fuzz/command.h"
#include "tests/fuzz/trace_file.h"
#include "tests/fuzz/trace_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  if (size == 0) return 0;
  uint64_t sequence = 0;
  const std::string trace =
      TraceBytes(kMetas[data[0] % std::size(kMetas)], std::span(data + 1, size - 1), 0, 0, &sequence);
  const MemoryFile file({reinterpret_cast<const uint8_t*>(trace.data()), trace.size()});
  RunCommand({"verify", "--max-errors", "100"}, {file.path()});
  return 0;
}
