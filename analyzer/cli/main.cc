// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>

#include "analyzer/cli/child.h"
#include "analyzer/cli/commands.h"

int main(int argc, char** argv) {
  anttracks::analyzer::LowerIfAsked({argv, static_cast<size_t>(argc)});
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int code = anttracks::analyzer::Main(arguments, std::cout, std::cerr, ::isatty(STDERR_FILENO) != 0);
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "anttracks: output could not be written\n";
    return code == 0 ? anttracks::analyzer::kExitUnreadable : code;
  }
  return code;
}
