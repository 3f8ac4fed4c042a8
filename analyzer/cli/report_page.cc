// SPDX-License-Identifier: Apache-2.0
// The trace as one page for a browser.
#include <fmt/format.h>

#include <ostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/page_content.h"
#include "analyzer/report/page_file.h"
#include "analyzer/report/page_json.h"

namespace anttracks::analyzer {
namespace {

bool IsReport(std::span<const uint8_t> start) { return BeginsWith(start, PageBegin()); }

}  // namespace

int RunReport(Session& session, const ReportArguments& arguments) {
  const trace::FileSort sort{"a report of a trace", &IsReport};
  const Replace replace = arguments.force ? Replace::kYes : Replace::kNo;
  const bool to_file = arguments.out != "-";
  const auto refused = [&](const trace::Status& status) {
    session.err << "anttracks: " << status.message() << "\n";
    return kExitUsage;
  };
  // A large trace is not read in vain.
  trace::Status status = to_file ? trace::MayWrite(arguments.out, sort, replace) : trace::Status();
  if (!status.ok()) return refused(status);
  const ApplicationFrames frames(arguments.app, arguments.library);
  const auto content = ReadPageContent(session, frames);
  if (!content->summary.fatal.ok()) return session.Unreadable(content->summary.fatal);
  if (!content->summary.has_meta) return session.Finish(content->summary, content->problems);
  const std::string page = PageText(*content, frames);
  if (!to_file) {
    session.out << page;
    return session.Finish(content->summary, content->problems);
  }
  status = WritePage(page, sort, arguments.out, replace);
  if (!status.ok()) return refused(status);
  session.out << fmt::format("wrote {}, {}: open it in a browser\n", arguments.out, Bytes(page.size()));
  return session.Finish(content->summary, content->problems);
}

}  // namespace anttracks::analyzer
