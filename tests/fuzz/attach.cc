// SPDX-License-Identifier: Apache-2.0
// What a process that is attached to says, and what /proc says of it: the first byte tells which of these texts
// the others are. The terminal must get nothing that drives it, and every answer ends in an exit code that the
// manual has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "analyzer/attach/answer.h"
#include "analyzer/attach/perf_data.h"
#include "analyzer/attach/proc_text.h"
#include "analyzer/cli/attach_report.h"

namespace anttracks::fuzz {
namespace {

using namespace analyzer;
using nlohmann::ordered_json;

void Check(bool good) {
  if (!good) std::abort();
}

void CheckPrinted(std::string_view text) {
  for (const char c : text) Check((static_cast<unsigned char>(c) >= 0x20 || c == '\n') && c != 0x7f);
}

// The socket's bytes up to a NUL, then the agent's file.
void Answers(std::string_view bytes, const std::string& request, bool json) {
  const size_t nul = bytes.find('\0');
  const auto answer = ParseAnswer(bytes.substr(0, nul));
  ordered_json reply;
  Obstacle obstacle{kExitNoAnswer, answer.message()};
  if (answer.ok()) {
    obstacle = ParseReply(request, *answer, nul == std::string_view::npos ? "" : bytes.substr(nul + 1), &reply);
  }
  std::ostringstream out, err;
  Session session{out, err};
  session.output = json ? Output::kJson : Output::kText;
  Target target;
  target.perf["sun.gc.collector.0.name"] = bytes.substr(0, 40);
  const int code = obstacle.none() ? Report(session, request, target, reply) : Refuse(session, obstacle);
  Check(code == kExitFine || code == kExitRefused || (code == kExitNoAnswer && !answer.ok()));
  Check(code == kExitFine || !err.str().empty());
  CheckPrinted(out.str());
  CheckPrinted(err.str());
  if (json && obstacle.none()) Check(ordered_json::accept(out.str()));
}

void Maps(std::string_view text) {
  Target target;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    ReadMapsLine(text.substr(0, end), &target);
    text.remove_prefix(end + 1);
  }
  Check(target.libjvm.empty() || (target.libjvm.front() == '/' && target.libjvm.ends_with("/libjvm.so")));
  Check(target.agent.empty() || (target.agent.front() == '/' && target.agent.ends_with("/libanttracks.so")));
}

void CommandLine(std::string_view text) {
  Target target;
  target.arguments = Strings(text);
  size_t bytes = 0;
  for (const std::string& argument : target.arguments) bytes += argument.size();
  Check(bytes <= text.size());
  ReadEnvironment(text, &target);
  Forbidden(target);
  target.Collector();
}

void Performance(std::string_view text) {
  Target target;
  target.perf = PerfTexts({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  for (const auto& [name, value] : target.perf)
    Check(name.size() <= text.size() && value.size() <= text.size());
  Forbidden(target);
  target.Collector();
}

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  static const std::string kRequests[] = {"attach", "start", "stop", "rotate", "status", "dump-stats"};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Letters, so that the seeds are texts.
  const unsigned which = data[0] - 'a';
  if (which < 12) Answers(text, kRequests[which % 6], which >= 6);
  if (data[0] == 'M') Maps(text);
  if (data[0] == 'C') CommandLine(text);
  if (data[0] == 'P') Performance(text);
  if (data[0] == 'S') {
    anttracks::analyzer::Target target;
    ReadStatus(text, &target);
  }
  return 0;
}
