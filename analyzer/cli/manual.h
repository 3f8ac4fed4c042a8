// SPDX-License-Identifier: Apache-2.0
// The manual page and the completions of shells, made from the table of commands.
//
// Thread safety: none.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace anttracks::analyzer {

// In man(7), for anttracks.1. app: with all commands; exit_codes: as in the help.
std::string ManualPage(const CLI::App& app, std::string_view exit_codes);

// What bash sources, and zsh's function _anttracks.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);

}  // namespace anttracks::analyzer
