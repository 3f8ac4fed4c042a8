// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/joined_dump.h"
#include "analyzer/cli/report.h"
#include "analyzer/hprof/explain.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// The object, what refers to it, and so on to the root.
std::vector<uint32_t> PathOf(const hprof::References& references, uint32_t object) {
  std::vector<uint32_t> path{object};
  while (references.nearest(path.back()) != hprof::References::kRoot)
    path.push_back(references.nearest(path.back()));
  return path;
}

// The one of the selection that retains most; kNone: it has none that a root reaches.
uint32_t Largest(const JoinedDump& joined, const Selection& selection) {
  const std::vector<bool> chosen = joined.Chosen(selection);
  uint32_t largest = hprof::kNone;
  for (uint32_t object = 0; object < joined.dump->size(); object++) {
    if (!chosen[object] || !joined.references->reached(object)) continue;
    if (largest == hprof::kNone || joined.retained->bytes(object) > joined.retained->bytes(largest))
      largest = object;
  }
  return largest;
}

std::string ClassText(const JoinedDump& joined, uint32_t object) {
  if (!joined.dump->is_mirror(object)) return joined.class_name(object);
  return "class " + joined.dump->classes()[joined.dump->objects()[object].length].name;
}

Row CellsOf(const JoinedDump& joined, ApplicationSites& applications, uint32_t object, std::string field) {
  MainApplicationSite application(MainApplicationSite::Of::kLive);
  if (joined.known(object))
    application.Add(applications, joined.pair(object).site, static_cast<double>(joined.bytes(object)));
  const std::optional<uint64_t> age = joined.age(object);
  Row cells{std::move(field),
            ClassText(joined, object),
            fmt::format("{:#x}", joined.dump->objects()[object].address),
            joined.bytes(object),
            joined.retained->bytes(object),
            age ? Cell(*age) : Cell(nullptr, joined.known(object) ? "before trace" : "-"),
            joined.thread_name(object),
            joined.site_name(object)};
  AddApplicationCells(&cells, application, joined.site_name(object));
  return cells;
}

}  // namespace

int PrintPath(Session& session, const JoinedDump& joined, const JoinArguments& arguments) {
  uint32_t object = hprof::kNone;
  if (arguments.object) {
    object = joined.dump->Find(*arguments.object);
    if (object == hprof::kNone || !joined.references->reached(object)) {
      session.err << fmt::format("anttracks: {} {:#x}\n",
                                 object == hprof::kNone ? "the dump has no object at"
                                 : joined.references->reached_weakly(object)
                                     ? "only soft, weak, final or phantom references hold"
                                     : "no root holds",
                                 *arguments.object);
      return kExitUsage;
    }
  } else {
    object = Largest(joined, arguments.selection);
    if (object == hprof::kNone) {
      session.err << "anttracks: no object that a root holds is selected\n";
      return kExitUsage;
    }
  }
  const std::vector<uint32_t> path = PathOf(*joined.references, object);
  std::vector<std::pair<uint32_t, uint32_t>> steps;
  for (size_t i = 1; i < path.size(); i++) steps.emplace_back(path[i], path[i - 1]);
  std::vector<std::string> fields = hprof::ExplainReferences(*joined.reader, *joined.dump, steps);
  fields.insert(fields.begin(), "");
  const std::string root = hprof::ExplainRoot(*joined.reader, *joined.dump, *joined.references, path.back());
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(joined.definitions, joined.heap->stacks(), frames);
  Report report;
  report.rows_key = "path";
  report.columns = {{.key = "field", .title = "Held by"},
                    {.key = "class", .title = "Class"},
                    {.key = "address", .title = "Address"},
                    {.key = "bytes", .title = "Bytes", .unit = Unit::kBytes},
                    {.key = "retained_bytes", .title = "Retained", .unit = Unit::kBytes},
                    {.key = "gcs", .title = "GCs seen", .unit = Unit::kCount},
                    {.key = "thread", .title = "Thread"},
                    {.key = "site", .title = "Site"}};
  for (Column& column : ApplicationColumns()) report.columns.push_back(std::move(column));
  report.text_order = {"retained_bytes", "gcs", "address", "thread", "field", "class", "site"};
  for (size_t i = 0; i < path.size(); i++) {
    report.rows.push_back(CellsOf(joined, applications, path[i], std::move(fields[i])));
  }
  report.head = JoinHead(joined);
  report.head["root"] = root;
  ShowSelection(arguments.selection, &report);
  report.heading += JoinHeading(joined) +
                    fmt::format("a shortest path from a root, {}; the object first\n\n", Printable(root));
  Print(session, report);
  return kExitFine;
}

}  // namespace anttracks::analyzer
