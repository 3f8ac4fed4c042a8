// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/pager.h"

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

// Of the terminal, if its output is text to read.
size_t RowsOfText(const std::vector<std::string>& words) {
  for (const char* data : {"--json", "--csv", "top", "report"}) {
    if (std::find(words.begin(), words.end(), data) != words.end()) return 0;
  }
  return anttracks::analyzer::TerminalRows();
}

// Through a pager if it is long. What goes to stderr comes after it.
int ShowText(const std::vector<std::string>& words, size_t rows, bool show_progress, const char* program) {
  std::ostringstream err;
  int code = 0;
  {
    anttracks::analyzer::Pager pager(rows, std::cout);
    std::ostream out(&pager);
    code = anttracks::analyzer::Main(words, out, err, show_progress, program);
  }
  std::cerr << err.str();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ProcessorIsKnown()) return anttracks::analyzer::kExitUnreadable;
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool show_progress = ::isatty(STDERR_FILENO) != 0;
  const char* const program = argc > 0 ? argv[0] : "anttracks";
  const size_t rows = RowsOfText(arguments);
  const int code = rows != 0
                       ? ShowText(arguments, rows, show_progress, program)
                       : anttracks::analyzer::Main(arguments, std::cout, std::cerr, show_progress, program);
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "anttracks: output could not be written\n";
    return code == 0 ? anttracks::analyzer::kExitUnreadable : code;
  }
  return code;
}
