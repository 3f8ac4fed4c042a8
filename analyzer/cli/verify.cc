// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {
namespace {

constexpr auto kKinds = static_cast<size_t>(ProblemKind::kCount);

std::string ToText(const Session& session, const PassSummary& summary, const Problems& problems,
                   const Rebuild& rebuild) {
  std::string text;
  for (const Problem& problem : problems.kept()) {
    const Position& at = problem.position;
    text += fmt::format("{}: chunk at {}, byte {}: {}: {}\n", session.reader->files()[at.file].path, at.chunk,
                        at.payload, ProblemName(problem.kind), Printable(problem.text));
  }
  if (problems.total() != 0) {
    if (problems.kept().size() < problems.total()) {
      text += fmt::format("... and {} more (--max-errors shows more)\n",
                          Count(problems.total() - problems.kept().size()));
    }
    Table table({{"Errors"}, {"Kind", Table::Align::kLeft}});
    for (size_t i = 0; i < kKinds; i++) {
      const auto kind = static_cast<ProblemKind>(i);
      if (problems.count(kind) != 0) table.Add({Count(problems.count(kind)), std::string(ProblemName(kind))});
    }
    text += "\n" + table.ToString() + "\n";
  }
  const HeapTotals live = summary.has_meta ? rebuild.heap().totals() : HeapTotals{};
  const SyncCounts& syncs = rebuild.syncs();
  std::string checked = fmt::format("{} and {}", Plural(summary.chunks, "chunk"),
                                    Plural(rebuild.gcs().size(), "collection"));
  if (session.reader->files()[0].is_symbols()) {
    checked = fmt::format("{}, {} and {}", Plural(summary.chunks, "chunk"),
                          Plural(rebuild.gcs().size(), "collection"), Plural(syncs.checked, "sync point"));
    text += fmt::format("sync points: {} compared with the heap, {} taken as the heap, {} abandoned\n",
                        Count(syncs.checked), Count(syncs.taken), Count(syncs.abandoned));
  }
  text += fmt::format("{} checked, {} live at the end: {}\n", checked, Plural(live.objects, "object"),
                      problems.total() == 0 ? "no errors" : Plural(problems.total(), "error"));
  return text;
}

nlohmann::ordered_json ToJson(const Session& session, const PassSummary& summary, const Problems& problems,
                              const Rebuild& rebuild) {
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
  json["chunks"] = summary.chunks;
  json["gcs"] = rebuild.gcs().size();
  json["sync_points"] = {{"checked", rebuild.syncs().checked},
                         {"taken", rebuild.syncs().taken},
                         {"abandoned", rebuild.syncs().abandoned}};
  json["truncated_bytes"] = summary.truncated_bytes;
  json["ended_cleanly"] = summary.ended;
  return json;
}

}  // namespace

int RunVerify(Session& session, size_t max_errors) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems(max_errors);
  Symbols symbols(problems);
  Rebuild rebuild(symbols, problems, {.check_spaces = true});
  const PassSummary summary = session.Run(symbols, problems, rebuild, /*stop_at_damage=*/false);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  session.out << (session.json ? JsonText(ToJson(session, summary, problems, rebuild))
                               : ToText(session, summary, problems, rebuild));
  if (!session.json && summary.truncated_bytes != 0) {
    session.out << "note: " << TruncationNote(summary.truncated_bytes) << "\n";
  }
  return problems.total() == 0 ? kExitFine : kExitErrors;
}

}  // namespace anttracks::analyzer
