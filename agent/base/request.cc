// SPDX-License-Identifier: Apache-2.0
#include "agent/base/request.h"

namespace anttracks::core {
namespace {

using trace::Status;

constexpr std::string_view kRequest = "request=", kReply = "reply=";

struct Known {
  std::string_view name;
  Command command;
  bool takes_options = false;
};

constexpr Known kKnown[] = {
    {"attach", Command::kAttach, true}, {"start", Command::kStart, true},    {"stop", Command::kStop},
    {"rotate", Command::kRotate},       {"set", Command::kSet, true},        {"status", Command::kStatus},
    {"census", Command::kCensus},       {"dump-stats", Command::kDumpStats},
};

// Removes and returns the text before the next comma, and the comma.
std::string_view Take(std::string_view* text) {
  const size_t comma = text->find(',');
  const std::string_view word = text->substr(0, comma);
  text->remove_prefix(comma == std::string_view::npos ? text->size() : comma + 1);
  return word;
}

}  // namespace

trace::Result<Request> ParseRequest(std::string_view text) {
  Request request;
  if (text.substr(0, kRequest.size()) != kRequest) {
    request.options = text;
    return request;
  }
  const std::string_view name = Take(&text).substr(kRequest.size());
  if (text.substr(0, kReply.size()) == kReply) request.reply = Take(&text).substr(kReply.size());
  request.options = text;
  std::string valid;
  for (const Known& known : kKnown) {
    valid += (valid.empty() ? "" : ", ") + std::string(known.name);
    if (known.name != name) continue;
    request.command = known.command;
    if (known.takes_options || text.empty()) return request;
    return Status::Error("request " + std::string(name) + " takes no options: '" + request.options + "'");
  }
  return Status::Error("unknown request '" + std::string(name) + "'; valid ones: " + valid);
}

}  // namespace anttracks::core
