// SPDX-License-Identifier: Apache-2.0
// The life of one object.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/biography.h"
#include "analyzer/passes/heap_at.h"

namespace anttracks::analyzer {
namespace {

std::string AddressText(uint64_t word) { return fmt::format("{:#x}", InBytes(word)); }

const char* EventName(LifeEvent::Kind kind) {
  switch (kind) {
    case LifeEvent::Kind::kAllocated:
      return "allocated";
    case LifeEvent::Kind::kListed:
      return "listed by a sync point";
    case LifeEvent::Kind::kFound:
      return "found and moved";
    case LifeEvent::Kind::kMoved:
      return "moved";
    case LifeEvent::Kind::kStayed:
      return "stayed";
    case LifeEvent::Kind::kDied:
      return "died";
    case LifeEvent::Kind::kLost:
      return "lost from sight";
  }
  return "?";
}

Cell SpaceCell(const std::optional<SpaceKind>& space) {
  return space ? Cell(std::string(SpaceLabel(*space))) : Cell(nullptr, " ");
}

Row CellsOf(const LifeEvent& event) {
  const bool from = event.gc.has_value() || event.kind == LifeEvent::Kind::kLost;
  const bool to = event.kind != LifeEvent::Kind::kDied && event.kind != LifeEvent::Kind::kLost;
  const auto address = [](bool known, uint64_t word) {
    return known ? Cell(AddressText(word)) : Cell(nullptr, " ");
  };
  return {std::string(EventName(event.kind)),
          event.gc ? Cell(*event.gc) : Cell(nullptr, " "),
          event.gc ? Cell(std::string(GcLabel(event.gc_kind))) : Cell(nullptr, " "),
          event.time_ns,
          address(from, event.from),
          SpaceCell(event.from_space),
          address(to, event.to),
          SpaceCell(event.to_space)};
}

// What the first pass tells of the object.
struct Found {
  Biography::Subject subject;
  std::string moment, class_name, site, thread;
  std::vector<std::string> callers;
  uint64_t bytes = 0;
};

Report ReportOf(const Found& found, const std::vector<LifeEvent>& events, uint64_t end_ns) {
  Report report;
  report.rows_key = "events";
  report.columns = {{.key = "event", .title = "Event"}, {.key = "gc", .title = "GC", .unit = Unit::kId},
                    {.key = "kind", .title = "Kind"},   {.key = "time_ns", .title = "At", .unit = Unit::kNs},
                    {.key = "from", .title = "From"},   {.key = "from_space", .title = "Space"},
                    {.key = "to", .title = "To"},       {.key = "to_space", .title = "Space"}};
  report.head["address"] = AddressText(found.subject.word);
  report.head["class"] = found.class_name;
  report.head["bytes"] = found.bytes;
  report.head["site"] = found.site;
  report.head["callers"] = found.callers;
  report.head["thread"] = found.thread;
  std::string site = Printable(found.site);
  for (const std::string& caller : found.callers) site += "\n              <- " + Printable(caller);
  report.heading = fmt::format("{} {}\n  class       {}, {}\n  site        {}\n  thread      {}\n\n",
                               report.head["address"].get<std::string>(), found.moment,
                               Printable(found.class_name), Bytes(found.bytes), site, Printable(found.thread));
  for (const LifeEvent& event : events) report.rows.push_back(CellsOf(event));
  const auto last = events.empty() ? LifeEvent::Kind::kLost : events.back().kind;
  if (last != LifeEvent::Kind::kDied && last != LifeEvent::Kind::kLost) {
    report.rows.push_back({"alive at the end", Cell(nullptr, " "), Cell(nullptr, " "), end_ns,
                           AddressText(events.back().to), SpaceCell(events.back().to_space), Cell(nullptr, " "),
                           Cell(nullptr, " ")});
  }
  return report;
}

// Says why there is none, with the one around the address if there is one.
int NoObject(Session& session, const Definitions& definitions, const HeapAt& heap, uint64_t word,
             const std::string& moment) {
  HeapObject around;
  const bool inside = word < heap.heap().end() &&
                      heap.heap().FindLast(heap.heap().start(), word + 1, &around) &&
                      around.word + definitions.shapes().words(around.shape) > word;
  session.err << fmt::format(
      "anttracks: no object begins at {} {}{}\n", AddressText(word), moment,
      inside ? fmt::format("; the one at {} reaches over it", AddressText(around.word)) : "");
  return kExitUsage;
}

}  // namespace

int RunObject(Session& session, const ObjectArguments& arguments) {
  using Moment = HeapAt::Moment;
  if (!arguments.address) {
    session.err
        << "anttracks: which object? Its address is wanted, as in 0xfeed0008@7 (after GC 7); 'anttracks heap "
           "--objects' lists them\n";
    return kExitUsage;
  }
  Found found;
  found.subject.word = *arguments.address / trace::kWordBytes;
  found.subject.at_end = !arguments.gc;
  {
    Problems problems;
    Definitions definitions(problems);
    HeapAt heap(definitions, problems,
                arguments.gc ? Moment{Moment::Kind::kGc, *arguments.gc} : Moment{Moment::Kind::kEnd, 0});
    const PassSummary summary = session.Run(definitions, problems, heap);
    if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
    if (arguments.gc && !heap.found()) return session.NoSuchGc(*arguments.gc, heap.GcIds(), summary);
    if (!summary.has_meta) return session.Finish(summary, problems);
    found.moment = arguments.gc ? AfterGc(heap.gcs().back()) : AtEnd(summary.duration_ns);
    found.moment += Caveat(heap.state(), heap.words_not_known());
    HeapObject object;
    if (!heap.heap().Find(found.subject.word, &object))
      return NoObject(session, definitions, heap, found.subject.word, found.moment);
    found.subject.epoch = heap.epoch();
    found.subject.shape = object.shape;
    const SiteClass& pair = definitions.site_class_of_shape(object.shape);
    found.class_name = ClassLabel(definitions, pair.class_id);
    found.site = SiteLabel(definitions, pair.site);
    found.callers = CallerLabels(definitions, pair.site);
    found.bytes = InBytes(definitions.shapes().words(object.shape));
    found.thread = "<filler>";
    if (object.provenance == ProvenanceTable::kBeforeTrace) {
      found.thread = "<before trace>";
    } else if (object.provenance != ProvenanceTable::kFiller) {
      found.subject.provenance = heap.provenance_table()[object.provenance];
      found.thread = ThreadLabel(definitions, found.subject.provenance.thread);
    }
  }
  Problems problems;
  Definitions definitions(problems);
  Biography biography(definitions, problems, found.subject);
  const PassSummary summary = session.Run(definitions, problems, biography);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  Report report = ReportOf(found, biography.Finish(), summary.duration_ns);
  if (report.rows.empty()) report.if_empty = report.heading + "its life is not known: events are missing\n";
  Print(session, report);
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
