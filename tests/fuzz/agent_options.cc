// SPDX-License-Identifier: Apache-2.0
// The agent's option text, from a command line or a request: what is accepted is within its bounds, and means
// the same after attach has made its paths absolute.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/base/options.h"
#include "agent/base/request.h"
#include "analyzer/attach/request.h"

namespace anttracks::fuzz {
namespace {

using core::Options;

constexpr const char* kFolder = "/100% here";

void Check(bool good) {
  if (!good) std::abort();
}

void CheckBounds(const Options& options) {
  Check(options.interval <= 1 << 30 && options.depth >= 1 && options.depth <= 256);
  Check(!options.file.empty());
  Check(options.max_bytes == 0 || options.max_bytes >= 256 << 10);
  Check(options.deviation >= 0.01 && options.deviation <= 0.5);
  Check(options.buffer_bytes >= 1 << 10 && options.buffer_bytes <= 4 << 20);
  Check(options.fuzz >= 0 && options.fuzz <= 0.5 && options.threshold >= 0 && options.threshold <= 1);
  Check(options.stretch_bytes == 0 || (options.stretch_bytes >= 4 << 10 && options.stretch_bytes <= 1 << 30));
  Check(options.walkers <= 16 && options.compressors <= 64);
  Check(options.queue_bytes >= 4 * options.buffer_bytes && options.queue_bytes <= size_t{4} << 30);
  Check(!options.keep_provenance || options.max_bytes != 0);
}

// file is that of the text, absolute or relative to the folder.
void CheckPath(const std::string& file, const std::string& absolute) {
  const std::string path = core::ExpandFile(file, 42);
  Check(core::ExpandFile(absolute, 42) == (path.front() == '/' ? path : std::string(kFolder) + "/" + path));
  Check(core::AbsolutePath(path).front() == '/');
}

void Parse(const std::string& text) {
  const auto options = core::ParseOptions(text.c_str());
  if (!options.ok()) {
    Check(!options.message().empty());
    return;
  }
  CheckBounds(*options);
  const auto absolute = core::ParseOptions(analyzer::WithAbsolutePaths(text, kFolder, true).c_str());
  Check(absolute.ok());
  CheckBounds(*absolute);
  CheckPath(options->file, absolute->file);
  if (!options->stats.empty()) CheckPath(options->stats, absolute->stats);
  Check(options->mode == absolute->mode && options->max_bytes == absolute->max_bytes &&
        options->help == absolute->help);
}

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks;
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(std::min(text.find('\0'), text.size()));  // it is a C string where it comes from
  const auto request = core::ParseRequest(text);
  if (request.ok()) {
    fuzz::Check(request->command != core::Command::kNone || request->options == text);
    fuzz::Check(request->options.size() + request->reply.size() <= text.size());
    fuzz::Parse(request->options);
  }
  fuzz::Parse(text);
  core::ExpandFile(text, 42);
  const std::string once = analyzer::WithAbsolutePaths(text, "/here", true);
  fuzz::Check(analyzer::WithAbsolutePaths(once, "/here", true) == once);
  return 0;
}
