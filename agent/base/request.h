// SPDX-License-Identifier: Apache-2.0
// What a process that attached asks of the agent (`anttracks attach` and `ctl`): the option text of a load of
// the library that begins with "request=".
//
//     request=COMMAND[,reply=PATH][,OPTIONS of a trace]
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::core {

enum class Command {
  kNone,  // no request: a plain load, of options only
  kAttach,
  kStart,
  kStop,
  kRotate,
  kSet,  // the budget of the trace that runs
  kStatus,
  kDumpStats,
};

struct Request {
  Command command = Command::kNone;
  std::string reply;    // file that the answer goes to; empty: nobody reads it
  std::string options;  // of attach, start and set
};

// The error says what is wrong with it.
trace::Result<Request> ParseRequest(std::string_view text);

}  // namespace anttracks::core
