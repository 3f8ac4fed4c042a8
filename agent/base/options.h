// SPDX-License-Identifier: Apache-2.0
// The agent's options: "name=value,name=value" after the library's path. option_table.h has a row for each.
//
// Thread safety: none needed. Units: bytes; shares from 0 to 1.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/log.h"
#include "agent/base/policies.h"
#include "trace/status.h"

namespace anttracks::core {

struct Options {
  static constexpr uint64_t kAutomatic = UINT64_MAX;  // the word auto

  Mode mode = Mode::kAuto;
  uint64_t interval =
      512 << 10;  // bytes of allocation between two samples, on average; 0: every object that JVM TI reports
  unsigned depth = 16;                      // frames of a sample's stack
  std::chrono::seconds every{300};          // between two censuses; 0: one after each old-space collection
  std::string file = "anttracks-%p.trace";  // as given; see ExpandFile
  bool overwrite = false;
  uint64_t max_bytes = 0;  // of the whole trace; 0: one file without bound
  double deviation = 0.1;  // share of max_bytes that one data file may take
  bool keep_provenance =
      false;          // option keep=: save the provenance of live objects before a data file is deleted
  std::string stats;  // file for the agent's counters; empty: none; see ExpandFile
  uint64_t buffer_bytes = 64 << 10;
  double fuzz = 0.1;                  // share of buffer_bytes by which buffer sizes vary
  uint64_t stretch_bytes = 64 << 10;  // size of a TLAB stretch; 0: whole TLABs
  // Bytes that a thread allocates between two sample points; 0: no stacks; kAutomatic: what the agent chooses.
  uint64_t stack_bytes = kAutomatic;
  double budget_percent = 0;  // of the program's CPU time; 0: no budget
  double share = 1;           // of the TLAB stretches, which are read if there is no budget
  unsigned walkers = 1;       // threads that read what others have allocated
  uint64_t queue_bytes = 32 << 20;
  WhenFull when_full = WhenFull::kBlock;
  Compression compression = Compression::kFull;
  double threshold = 0.2;    // fill of the queue above which partial compression compresses
  unsigned compressors = 0;  // 0: as many as there are processors
  LogLevel log = LogLevel::kWarn;
  bool help = false;
  // Names of the given options that have no effect with mode=sample.
  std::vector<std::string> not_of_samples;
  // Notes for the user about old names of options.
  std::vector<std::string> notes;

  bool operator==(const Options&) const = default;
};

// Error: the text names the option and the valid values. text may be nullptr: no options.
trace::Result<Options> ParseOptions(const char* text);

// What can be changed while a trace runs: budget=, with mode=sample interval=, with mode=census every=. One of
// them is set.
struct Change {
  std::optional<double> budget_percent = {};
  std::optional<uint64_t> interval = {};
  std::optional<std::chrono::seconds> every = {};
};
trace::Result<Change> ParseChange(const std::string& text);

// What the option `help` prints.
std::string HelpText();

// %p becomes the process id, %% a percent sign.
std::string ExpandFile(std::string_view pattern, long process_id);

// The path made absolute, so that it stays valid when the host changes its working directory.
std::string AbsolutePath(const std::string& path);

}  // namespace anttracks::core
