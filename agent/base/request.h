// SPDX-License-Identifier: Apache-2.0
// A request from another process (`anttracks attach` and `ctl`). It arrives as the option text of a load of the
// library, and begins with "request=".
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
  kNone,  // no request: the text has only options
  kAttach,
  kStart,
  kStop,
  kRotate,
  kSet,     // budget=, interval= or every= of the running trace
  kCensus,  // one now
  kStatus,
  kDumpStats,
};

struct Request {
  Command command = Command::kNone;
  std::string reply;    // the file for the answer; empty: no answer is wanted
  std::string options;  // of attach, start and set
};

// Error: the text says what is wrong with the request.
trace::Result<Request> ParseRequest(std::string_view text);

}  // namespace anttracks::core
