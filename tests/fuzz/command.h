// SPDX-License-Identifier: Apache-2.0
// Runs anttracks in this process and checks what it promises of its output whatever the trace.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"

namespace anttracks::fuzz {

// The files stand in place of the word TRACE, or behind the command.
inline void RunCommand(std::vector<std::string> words, const std::vector<std::string>& files) {
  const bool json = words.back() == "--json";
  auto at = std::find(words.begin(), words.end(), "TRACE");
  at = at == words.end() ? words.begin() + 1 : words.erase(at);
  words.insert(at, files.begin(), files.end());
  std::ostringstream out, err;
  const int code = analyzer::Main(words, out, err, false);
  const auto check = [&](bool good, const char* what) {
    if (good) return;
    std::cerr << what << ", exit code " << code << "\n" << out.str() << err.str();
    std::abort();
  };
  check(code >= 0 && code <= 4, "an exit code that does not exist");
  // At the start of a line: names in a trace may say anything, but have no line ends.
  check(("\n" + err.str()).find("\nanttracks: internal error") == std::string::npos,
        "an exception ended the command");
  check(analyzer::PrintableLines(out.str()) == out.str() && analyzer::PrintableLines(err.str()) == err.str(),
        "output that a terminal may act on");
  if (json && !out.str().empty()) check(nlohmann::json::accept(out.str()), "invalid JSON");
}

}  // namespace anttracks::fuzz
