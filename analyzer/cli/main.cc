// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>

#include "analyzer/cli/child.h"
#include "analyzer/cli/commands.h"

namespace {

// True: what the analyzer is compiled for is there.
bool ProcessorIsKnown() {
#ifdef __POPCNT__
  if (__builtin_cpu_supports("popcnt") == 0) {
    std::cerr << "anttracks: this processor cannot count bits (POPCNT, x86-64 since 2008); read the trace on "
                 "another machine\n";
    return false;
  }
#endif
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ProcessorIsKnown()) return anttracks::analyzer::kExitUnreadable;
  anttracks::analyzer::LowerIfAsked({argv, static_cast<size_t>(argc)});
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool show_progress = ::isatty(STDERR_FILENO) != 0;
  const int code = anttracks::analyzer::Main(arguments, std::cout, std::cerr, show_progress,
                                             argc > 0 ? argv[0] : "anttracks");
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "anttracks: output could not be written\n";
    return code == 0 ? anttracks::analyzer::kExitUnreadable : code;
  }
  return code;
}
