// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/census.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/text.h"
#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/sampled.h"

namespace anttracks::analyzer {
namespace {

constexpr auto kKinds = static_cast<size_t>(ProblemKind::kCount);

// How many of each kind.
Report KindsOf(const Problems& problems) {
  Report report;
  report.columns = {{.key = "kind", .title = "Kind"},
                    {.key = "errors", .title = "Errors", .unit = Unit::kCount}};
  report.text_order = {"errors", "kind"};
  for (size_t i = 0; i < kKinds; i++) {
    const auto kind = static_cast<ProblemKind>(i);
    if (problems.count(kind) != 0)
      report.rows.push_back({std::string(ProblemName(kind)), problems.count(kind)});
  }
  return report;
}

std::string FirstProblems(const Session& session, const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems.kept()) text += ProblemText(session, problem) + "\n";
  if (problems.kept().size() == problems.total()) return text;
  return text + fmt::format("... and {} more (--max-errors shows more)\n",
                            Count(problems.total() - problems.kept().size()));
}

std::string ProblemsText(const Session& session, const Problems& problems) {
  if (problems.total() == 0) return "";
  return FirstProblems(session, problems) + "\n" + TableText(KindsOf(problems), 0) + "\n";
}

std::string ErrorsText(const Problems& problems) {
  return problems.total() == 0 ? "no errors" : Plural(problems.total(), "error");
}

std::string ToText(const Session& session, const PassSummary& summary, const Problems& problems,
                   const Rebuild& rebuild) {
  std::string text = ProblemsText(session, problems);
  const HeapTotals live = summary.has_meta ? rebuild.heap().totals() : HeapTotals{};
  const SyncCounts& syncs = rebuild.syncs();
  std::string checked =
      fmt::format("{} and {}", Plural(summary.chunks, "chunk"), Plural(rebuild.gcs().size(), "collection"));
  if (session.reader->files()[0].is_definitions()) {
    checked = fmt::format("{}, {} and {}", Plural(summary.chunks, "chunk"),
                          Plural(rebuild.gcs().size(), "collection"), Plural(syncs.checked, "sync point"));
    text += fmt::format("sync points: {} compared with the heap, {} taken as the heap, {} abandoned\n",
                        Count(syncs.checked), Count(syncs.taken), Count(syncs.abandoned));
  }
  text += fmt::format("{} checked, {} live at the end: {}\n", checked, Plural(live.objects, "object"),
                      ErrorsText(problems));
  return text;
}

uint64_t Living(const Sampled& sampled) {
  uint64_t living = 0;
  for (const SampledObject& sample : sampled.samples()) living += sample.LivesAfter(std::nullopt);
  return living;
}

std::string ToText(const Session& session, const PassSummary& summary, const Problems& problems,
                   const Sampled& sampled) {
  return ProblemsText(session, problems) +
         fmt::format("{}, {} and {} checked, {} live at the end: {}\n", Plural(summary.chunks, "chunk"),
                     Plural(sampled.gcs().size(), "collection"), Plural(sampled.samples().size(), "sample"),
                     Plural(Living(sampled), "sample"), ErrorsText(problems));
}

std::string ToText(const Session& session, const PassSummary& summary, const Problems& problems,
                   const Censuses& censuses) {
  return ProblemsText(session, problems) +
         fmt::format("{} and {} checked: {}\n", Plural(summary.chunks, "chunk"),
                     CensusCount(censuses.events().size()), ErrorsText(problems));
}

nlohmann::ordered_json ProblemsJson(const Session& session, const Problems& problems) {
  nlohmann::ordered_json json;
  json["errors"] = problems.total();
  json["by_kind"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < kKinds; i++) {
    const auto kind = static_cast<ProblemKind>(i);
    if (problems.count(kind) != 0) json["by_kind"][std::string(ProblemName(kind))] = problems.count(kind);
  }
  json["first"] = nlohmann::ordered_json::array();
  for (const Problem& problem : problems.kept()) {
    json["first"].push_back({{"file", session.reader->files()[problem.position.file].path},
                             {"chunk_offset", problem.position.chunk},
                             {"payload_offset", problem.position.payload},
                             {"kind", ProblemName(problem.kind)},
                             {"text", problem.text}});
  }
  return json;
}

nlohmann::ordered_json ToJson(const Session& session, const PassSummary& summary, const Problems& problems,
                              const Sampled& sampled) {
  nlohmann::ordered_json json = ProblemsJson(session, problems);
  json["chunks"] = summary.chunks;
  json["gcs"] = sampled.gcs().size();
  json["samples"] = sampled.samples().size();
  json["live_samples"] = Living(sampled);
  json["truncated_bytes"] = summary.truncated_bytes;
  json["ended_cleanly"] = summary.ended;
  return json;
}

nlohmann::ordered_json ToJson(const Session& session, const PassSummary& summary, const Problems& problems,
                              const Rebuild& rebuild) {
  nlohmann::ordered_json json = ProblemsJson(session, problems);
  json["chunks"] = summary.chunks;
  json["gcs"] = rebuild.gcs().size();
  json["sync_points"] = {{"checked", rebuild.syncs().checked},
                         {"taken", rebuild.syncs().taken},
                         {"abandoned", rebuild.syncs().abandoned}};
  json["truncated_bytes"] = summary.truncated_bytes;
  json["ended_cleanly"] = summary.ended;
  return json;
}

nlohmann::ordered_json ToJson(const Session& session, const PassSummary& summary, const Problems& problems,
                              const Censuses& censuses) {
  nlohmann::ordered_json json = ProblemsJson(session, problems);
  json["chunks"] = summary.chunks;
  json["censuses"] = censuses.events().size();
  json["truncated_bytes"] = summary.truncated_bytes;
  json["ended_cleanly"] = summary.ended;
  return json;
}

template <class Sink>
int Verify(Session& session, Definitions& definitions, Problems& problems, Sink& sink) {
  const PassSummary summary = session.Run(definitions, problems, sink, {.stop_at_damage = false});
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  switch (session.output) {
    case Output::kText:
      session.out << ToText(session, summary, problems, sink);
      if (summary.truncated_bytes != 0)
        session.out << "note: " << TruncationNote(summary.truncated_bytes) << "\n";
      if (!summary.later_files.empty()) session.out << "note: " << LaterFilesNote(summary.later_files) << "\n";
      break;
    case Output::kJson:
      session.out << JsonText(ToJson(session, summary, problems, sink));
      break;
    case Output::kCsv:
      session.out << CsvText(KindsOf(problems), 0);
      session.err << FirstProblems(session, problems);
      break;
  }
  return problems.total() == 0 ? kExitFine : kExitErrors;
}

}  // namespace

int RunVerify(Session& session, const VerifyArguments& arguments) {
  Problems problems(arguments.max_errors);
  Definitions definitions(problems);
  Rebuild rebuild(definitions, problems, {.check_spaces = true});
  return Verify(session, definitions, problems, rebuild);
}

int RunSampledVerify(Session& session, const VerifyArguments& arguments) {
  Problems problems(arguments.max_errors);
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  return Verify(session, definitions, problems, sampled);
}

int RunCensusVerify(Session& session, const VerifyArguments& arguments) {
  Problems problems(arguments.max_errors);
  Definitions definitions(problems);
  Censuses censuses(definitions, problems);
  return Verify(session, definitions, problems, censuses);
}

}  // namespace anttracks::analyzer
