// SPDX-License-Identifier: Apache-2.0
// Every report on one file: the first byte chooses the report, the second one META (trace_input.h) or, with its
// upper bit, that the rest are a file's bytes whose checksums are corrected.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>

#include "tests/fuzz/command.h"
#include "tests/fuzz/trace_file.h"
#include "tests/fuzz/trace_input.h"

namespace anttracks::fuzz {
namespace {

using Words = std::vector<std::string>;

// The file that exports write: one for each process that fuzzes.
const std::string kOut =
    (std::filesystem::temp_directory_path() / ("anttracks-fuzz-" + std::to_string(::getpid()))).string();
const struct RemoveOut {
  ~RemoveOut() { std::filesystem::remove(kOut); }
} remove_out;

const Words kReports[] = {
    {"info"},
    {"info", "--json"},
    {"heap", "--top", "0"},
    {"heap", "--end", "--by", "site", "--json"},
    {"heap", "--gc", "1", "--by", "thread"},
    {"heap", "--by", "space"},
    {"heap", "--end", "--by", "age", "--json"},
    {"heap", "--end", "--objects"},
    {"gcs"},
    {"gcs", "--json"},
    {"sites", "--top", "0", "--tiers", "--callers"},
    {"sites", "--live", "--gc", "0"},
    {"sites", "--live", "--callers", "--json"},
    {"classes", "--top", "0"},
    {"classes", "--top", "0", "--layout"},
    {"classes", "--layout", "--json"},
    {"threads"},
    {"threads", "--json"},
    {"quality"},
    {"quality", "--json"},
    {"verify", "--json"},
    {"info", "--csv"},
    {"heap", "--end", "--objects", "--csv"},
    {"sites", "--live", "--callers", "--csv"},
    {"classes", "--layout", "--csv"},
    {"gcs", "--csv"},
    {"threads", "--csv"},
    {"quality", "--csv"},
    {"verify", "--csv"},
    {"heap", "--end", "--objects", "--json"},
    {"lifetimes", "--top", "0"},
    {"lifetimes", "--by", "class", "--json"},
    {"lifetimes", "--csv"},
    {"lifetimes", "--group-by", "package,tier", "--from", "0", "--json"},
    {"heap", "--end", "--group-by", "app-site,space,age,thread", "--json"},
    {"summary", "--from", "0", "--where", "class=*", "--json"},
    {"gcs", "--to", "1", "--json"},
    {"timeline", "--intervals", "1000", "--where", "class=*", "--json"},
    {"timeline", "--from", "0"},
    {"object", "0x10000000"},
    {"object", "0x10000000@0", "--json"},
    {"leaks", "--all"},
    {"leaks", "--history", "--all", "--json"},
    {"summary"},
    {"summary", "--json"},
    {"tree", "--min", "0"},
    {"tree", "--reverse", "--json"},
    {"tree", "--collapsed", "--live"},
    {"report", "-o", "-"},
    {"export", "pprof", "TRACE", kOut, "-f"},
    {"export", "collapsed", "TRACE", kOut, "-f", "--gc", "0"},
    {"export", "perfetto", "TRACE", kOut, "-f"},
    {"export", "dhat", "TRACE", kOut, "-f"},
    {"export", "hprof", "TRACE", kOut, "-f", "--by-site"},
    {"export", "sqlite", "TRACE", kOut, "-f"},
    {"export", "csv", "TRACE", kOut, "-f", "--label", "a=b"},
};

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  if (size < 2) return 0;
  const Words& words = kReports[data[0] % std::size(kReports)];
  const std::span<const uint8_t> rest(data + 2, size - 2);
  if ((data[1] & 0x80) != 0) {
    RunCommand(words, {MemoryFile(WithChecksums(rest)).path()});
    return 0;
  }
  uint64_t sequence = 0;
  const std::string trace = TraceBytes(kMetas[data[1] % std::size(kMetas)], rest, 0, 0, &sequence);
  const MemoryFile file({reinterpret_cast<const uint8_t*>(trace.data()), trace.size()});
  RunCommand(words, {file.path()});
  return 0;
}
