// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/grouping.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/object_lines.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/heap_at.h"
#include "analyzer/passes/shape_tally.h"
#include "analyzer/passes/stack_samples.h"
#include "analyzer/passes/start_file.h"

namespace anttracks::analyzer {
namespace {

using Moment = HeapAt::Moment;

// With the call stacks that were sampled in what was read, of any thread.
class HeapAndStacks : public HeapAt {
 public:
  using HeapAt::HeapAt;
  void Stack(const StackEvent& event) override { stacks_.Add(0, 0, event); }
  const StackSamples& stacks() const { return stacks_; }

 private:
  StackSamples stacks_;
};

struct HeapSum {
  Amount amount;
  MainApplicationSite application = MainApplicationSite(MainApplicationSite::Of::kLive);
};

struct HeapRow {
  std::vector<std::string> names;  // by field
  HeapSum sum;
};

// Objects that no field tells apart. What no field asks for is 0.
struct Part {
  uint32_t site_class = 0, provenance = 0, space = 0;
  auto operator<=>(const Part&) const = default;
};

std::vector<Field> FieldsOf(const HeapArguments& arguments) {
  return arguments.group_by.empty() ? std::vector{Field::kClass} : arguments.group_by;
}

bool AsksForPairs(const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(), [](Field field) {
    return field != Field::kThread && field != Field::kAge && field != Field::kSpace;
  });
}

bool AsksForProvenance(const std::vector<Field>& fields) {
  return Has(fields, Field::kThread) || Has(fields, Field::kAge);
}

bool ShowsApplication(const std::vector<Field>& fields) {
  return Has(fields, Field::kSite) && !Has(fields, Field::kAppSite);
}

// Rows of the same names become one; the largest first.
class HeapRows {
 public:
  void Add(std::vector<std::string> names, ApplicationSites& applications, uint32_t site,
           const Amount& amount) {
    HeapSum& row = by_names_[std::move(names)];
    row.amount.Add(amount);
    if (site != 0) row.application.Add(applications, site, amount.bytes().value);
  }
  std::vector<HeapRow> Sorted() const {
    std::vector<HeapRow> rows;
    for (const auto& [names, sum] : by_names_) rows.push_back({names, sum});
    std::stable_sort(rows.begin(), rows.end(),
                     [](const HeapRow& a, const HeapRow& b) { return a.sum.amount > b.sum.amount; });
    return rows;
  }

 private:
  std::map<std::vector<std::string>, HeapSum> by_names_;
};

// The objects that are selected.
class Chosen {
 public:
  Chosen(const HeapAndStacks& heap, const Selection& selection)
      : heap_(&heap), selection_(&selection), marks_(selection.marks()) {
    for (const GcRecord& gc : heap.gcs()) marks_.GcEnd(gc.id);
  }
  const HeapAndStacks* operator->() const { return heap_; }
  const HeapAndStacks& operator*() const { return *heap_; }

  // Calls visit(const HeapObject&) by address.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    if (selection_->all()) return heap_->ForEach(visit);
    Chooser chosen(heap_->definitions(), *selection_);
    heap_->ForEach([&](const HeapObject& object) {
      if (chosen(KeyOf(object))) visit(object);
    });
  }

  void TellUnknown(Session& session) const {
    if (selection_->where.empty()) return;
    std::set<PortionKey> keys;
    heap_->ForEach([&](const HeapObject& object) { keys.insert(KeyOf(object)); });
    TellUnknownNames(session, heap_->definitions(), {keys.begin(), keys.end()}, selection_->where);
  }

 private:
  PortionKey KeyOf(const HeapObject& object) const {
    PortionKey key = PortionsAndHeap::KeyOfProvenance(*heap_, marks_, true, object.provenance);
    key.site_class = heap_->definitions().shapes()[object.shape].site_class;
    return key;
  }

  const HeapAndStacks* heap_;
  const Selection* selection_;
  Marks marks_;
};

constexpr uint32_t kOutsideSpaces = UINT32_MAX;

std::map<Part, HeapTotals> PartsOf(const Chosen& heap, const std::vector<Field>& fields) {
  const bool pairs = AsksForPairs(fields), by_provenance = AsksForProvenance(fields),
             by_space = Has(fields, Field::kSpace);
  const ObjectShapes& shapes = heap->definitions().shapes();
  const std::vector<Space>& spaces = heap->spaces();
  std::map<Part, HeapTotals> parts;
  ShapeTally neighbours;  // that are told apart by their shapes only
  Part part;
  const auto take = [&] {
    neighbours.Take([&](uint32_t shape, uint64_t objects) {
      part.site_class = pairs ? shapes[shape].site_class : 0;
      parts[part].Add({objects, objects * shapes.words(shape)});
    });
  };
  size_t at = 0;
  heap.ForEach([&](const HeapObject& object) {
    Part next{0, by_provenance ? object.provenance : 0, 0};
    if (by_space) {
      while (at < spaces.size() && object.word >= spaces[at].end) at++;
      const bool inside = at < spaces.size() && object.word >= spaces[at].bottom;
      next.space = inside ? static_cast<uint32_t>(spaces[at].kind) : kOutsideSpaces;
    }
    if (next.provenance != part.provenance || next.space != part.space) {
      take();
      part = next;
    }
    neighbours.Add(object.shape);
  });
  take();
  return parts;
}

std::string PartName(const Chosen& heap, ApplicationSites& applications, Field field, const Part& part) {
  if (field == Field::kSpace) {
    return part.space == kOutsideSpaces ? "<outside>"
                                        : std::string(SpaceLabel(static_cast<SpaceKind>(part.space)));
  }
  if (field != Field::kThread && field != Field::kAge)
    return GroupText(applications, field, {.site_class = part.site_class});
  if (part.provenance == ProvenanceTable::kFiller) return "<filler>";
  if (part.provenance == ProvenanceTable::kBeforeTrace) return "<before trace>";
  const Provenance& provenance = heap->provenance_table()[part.provenance];
  if (field == Field::kThread) return ThreadLabel(heap->definitions(), provenance.thread);
  return Plural(static_cast<uint64_t>(heap->epoch() - provenance.birth), "GC");
}

std::vector<HeapRow> RowsBy(const Chosen& heap, const HeapArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const Definitions& definitions = heap->definitions();
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(definitions, heap->stacks(), frames);
  HeapRows rows;
  for (const auto& [part, totals] : PartsOf(heap, fields)) {
    std::vector<std::string> names;
    for (const Field field : fields) names.push_back(PartName(heap, applications, field, part));
    const uint32_t site = ShowsApplication(fields) ? definitions.site_class(part.site_class).site : 0;
    rows.Add(std::move(names), applications, site, Amount(totals));
  }
  return rows.Sorted();
}

std::vector<HeapRow> RowsBy(const Sampled& sampled, const HeapArguments& arguments,
                            std::optional<uint64_t> gc) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const bool pairs = AsksForPairs(fields);
  const Definitions& definitions = sampled.definitions();
  Chooser chosen(definitions, arguments.selection);
  const Marks marks(arguments.selection.marks());
  const auto begun = gc ? *gc + 1 : sampled.gcs().empty() ? 0 : sampled.gcs().back().id + 1;
  using SampledPart = std::tuple<uint32_t, uint64_t, uint64_t>;  // site-class pair, thread, age
  std::map<SampledPart, Estimate> parts;
  for (const SampledObject& sample : sampled.samples()) {
    if (!sample.LivesAfter(gc) || !chosen(KeyOf(sample, marks, true))) continue;
    parts[{pairs ? sample.site_class : 0, Has(fields, Field::kThread) ? sample.thread : 0,
           Has(fields, Field::kAge) ? begun - std::min<uint64_t>(begun, sample.born) : 0}]
        .Add(Sampled::Of(sample));
  }
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;  // the sites of samples are whole stacks
  ApplicationSites applications(definitions, none, frames);
  HeapRows rows;
  for (const auto& [part, estimate] : parts) {
    const auto& [site_class, thread, age] = part;
    std::vector<std::string> names;
    for (const Field field : fields) {
      names.push_back(field == Field::kAge ? Plural(age, "GC")
                                           : GroupText(applications, field, {0, thread, site_class}));
    }
    const uint32_t site = ShowsApplication(fields) ? definitions.site_class(site_class).site : 0;
    rows.Add(std::move(names), applications, site, Amount(estimate));
  }
  return rows.Sorted();
}

Amount Sum(const std::vector<HeapRow>& rows) {
  Amount all;
  for (const HeapRow& row : rows) all.Add(row.sum.amount);
  return all;
}

// The table; head, heading and notes are the caller's.
Report TableOf(const std::vector<HeapRow>& rows, const std::vector<Field>& fields, Basis basis) {
  Report report;
  const bool application = ShowsApplication(fields);
  report.columns = FieldColumns(fields, application);
  for (Column& column : AmountColumns(basis)) report.columns.push_back(std::move(column));
  report.text_order = {"samples", "objects", "bytes"};
  for (const Field field : fields) report.text_order.push_back(NameOf<Field>(kGroupFields, field));
  for (const HeapRow& row : rows) {
    Row cells;
    AddFieldCells(&cells, fields, row.names, application ? &row.sum.application : nullptr);
    row.sum.amount.AddCells(&cells, basis);
    report.rows.push_back(std::move(cells));
  }
  return report;
}

// Why what is selected is not exact; empty: it is.
std::string CaveatOf(const HeapAt& heap, const Selection& selection) {
  const bool births = selection.births() && !heap.knows_births();
  return Caveat(heap.state(), heap.words_not_known()) + (births ? kBirthsNotKnown : "");
}

// Of JSON: the moment, what is known of it, and the sum.
nlohmann::ordered_json HeadOf(const HeapAt& heap, const Selection& selection, const Amount& all) {
  nlohmann::ordered_json head;
  head["gc"] = heap.at_end() ? nlohmann::ordered_json() : nlohmann::ordered_json(heap.gcs().back().id);
  head["exact"] = heap.exact() && CaveatOf(heap, selection).empty();
  if (heap.words_not_known() != 0) head["unknown_bytes"] = InBytes(heap.words_not_known());
  head["complete"] = heap.state() != HeapState::kFilling && heap.state() != HeapState::kUnknown;
  AddAmount(&head, all, Basis::kExact);
  return head;
}

std::string MomentOf(const HeapAt& heap, uint64_t end_ns) {
  return heap.at_end() ? AtEnd(end_ns) : AfterGc(heap.gcs().back());
}

std::vector<std::string> NotesOf(const HeapAt& heap, const Selection& selection, uint64_t end_ns) {
  const std::string caveat = CaveatOf(heap, selection);
  if (caveat.empty()) return {};
  return {"heap " + MomentOf(heap, end_ns) + caveat};
}

Report ReportOf(const HeapAndStacks& heap, const HeapArguments& arguments, uint64_t end_ns) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const std::vector<HeapRow> rows = RowsBy(Chosen(heap, arguments.selection), arguments);
  const Amount all = Sum(rows);
  Report report = TableOf(rows, fields, Basis::kExact);
  report.head = HeadOf(heap, arguments.selection, all);
  report.head["by"] = NamesOf(fields);
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", MomentOf(heap, end_ns), all.Text(Basis::kExact),
                                CaveatOf(heap, arguments.selection));
  report.notes = NotesOf(heap, arguments.selection, end_ns);
  return report;
}

std::string MomentOf(const Sampled& sampled, std::optional<uint64_t> gc, uint64_t end_ns) {
  if (!gc) return AtEnd(end_ns);
  const auto& gcs = sampled.gcs();
  const auto found =
      std::find_if(gcs.begin(), gcs.end(), [&](const Sampled::Gc& each) { return each.id == *gc; });
  return fmt::format("after GC {}, at {}", *gc, Duration(found->end_ns));
}

Report ReportOf(const SampledTrace& trace, const HeapArguments& arguments, std::optional<uint64_t> gc) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const std::vector<HeapRow> rows = RowsBy(trace.sampled, arguments, gc);
  const Amount all = Sum(rows);
  Report report = TableOf(rows, fields, Basis::kSamples);
  report.head = EstimatesJson(trace.sampled);
  report.head["gc"] = gc ? nlohmann::ordered_json(*gc) : nlohmann::ordered_json();
  report.head["lost"] = trace.sampled.lost();
  AddEstimate(&report.head, all);
  report.head["live_samples"] = all.samples();
  report.head["by"] = NamesOf(fields);
  const std::string moment = MomentOf(trace.sampled, gc, trace.summary.duration_ns);
  report.notes = {EstimatesNote(trace.sampled)};
  report.heading = report.notes[0] + "\n";
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", moment, all.Text(Basis::kSamples), trace.Caveat());
  if (!trace.Caveat().empty()) report.notes.push_back("heap " + moment + trace.Caveat());
  return report;
}

Report ReportOf(const CensusTrace& trace, const HeapArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const Definitions& definitions = trace.definitions;
  const CensusEvent& census = *trace.censuses.latest();
  Chooser chosen(definitions, arguments.selection);
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;
  ApplicationSites applications(definitions, none, frames);
  HeapRows by_names;
  for (const trace::CensusRow& row : census.rows) {
    const PortionKey key{.site_class = static_cast<uint32_t>(row.site_class)};
    if (!chosen(key)) continue;
    std::vector<std::string> names;
    for (const Field field : fields) names.push_back(GroupText(applications, field, key));
    const uint32_t site = ShowsApplication(fields) ? definitions.site_class(key.site_class).site : 0;
    by_names.Add(std::move(names), applications, site, Amount(HeapTotals{row.objects, row.words}));
  }
  const std::vector<HeapRow> rows = by_names.Sorted();
  const Amount all = Sum(rows);
  Report report = TableOf(rows, fields, Basis::kExact);
  report.head["gc"] = census.gc;
  report.head["old_space"] = census.old_space;
  AddAmount(&report.head, all, Basis::kExact);
  report.head["by"] = NamesOf(fields);
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", AfterGc(census), all.Text(Basis::kExact), Caveat(census));
  if (!Caveat(census).empty()) report.notes.push_back("heap " + AfterGc(census) + Caveat(census));
  return report;
}

// What a census cannot tell, or "".
std::string_view NotCounted(const HeapArguments& arguments) {
  if (arguments.objects) return "--objects lists every object by its address";
  if (arguments.end) return "--end is not possible: only what is live after some collections was counted";
  const std::vector<Field> fields = FieldsOf(arguments);
  if (AsksForProvenance(fields) || Has(fields, Field::kSpace))
    return "rows by thread, age or space are not possible: class and site were counted";
  return "";
}

// By address.
void PrintObjects(const Chosen& heap, const Selection& selection, uint64_t end_ns, Session& session) {
  ObjectLines lines(session, heap->definitions());
  const bool json = session.output == Output::kJson;
  lines.Begin(json ? HeadOf(*heap, selection, Sum(RowsBy(heap, {}))) : nlohmann::ordered_json());
  heap.ForEach([&](const HeapObject& object) { lines.Add(InBytes(object.word), object.shape); });
  lines.End();
  if (session.output == Output::kCsv) PrintNotes(session, NotesOf(*heap, selection, end_ns));
}

// What is to be read, and where to stop.
struct Plan {
  Moment moment;
  std::vector<bool> files;  // empty: all
};

Plan PlanFor(Session& session, const HeapArguments& arguments) {
  if (arguments.end) return {{Moment::Kind::kEnd}, {}};
  if (!arguments.gc) return {{Moment::Kind::kLastGc}, {}};
  const Selection& selection = arguments.selection;
  const bool by_provenance = AsksForProvenance(FieldsOf(arguments));
  const bool selected = selection.threads() || selection.from || selection.to;
  if (!selected && (arguments.objects || !by_provenance)) {  // otherwise older files know more
    if (std::optional<StartFile> start = FindStartFile(*session.reader, *arguments.gc)) {
      return {{Moment::Kind::kGcs, start->collections}, std::move(start->files)};
    }
  }
  return {{Moment::Kind::kGc, *arguments.gc}, {}};
}

// A pass over a trace.
struct Reading {
  Problems problems;
  Definitions definitions{problems};
  HeapAndStacks heap;
  PassSummary summary;

  Reading(Session& session, const Plan& plan)
      : heap(definitions, problems, plan.moment),
        summary(session.Run(definitions, problems, heap, {.files = plan.files})) {}
};

std::unique_ptr<Reading> Read(Session& session, const Plan& plan) {
  auto reading = std::make_unique<Reading>(session, plan);
  if (!reading->summary.fatal.ok() || !reading->heap.overrun()) return reading;
  const uint64_t gcs = reading->heap.gcs().size();
  const bool damaged = reading->summary.damaged;
  std::string damage = std::move(reading->summary.damage);
  reading.reset();  // first, for its memory
  reading = std::make_unique<Reading>(session, Plan{{Moment::Kind::kGcs, gcs}, {}});
  if (!damaged) return reading;  // the last collection is only the last one before the damage
  reading->summary.damaged = true;
  reading->summary.damage = std::move(damage);
  return reading;
}

}  // namespace

int RunHeap(Session& session, const HeapArguments& arguments) {
  if (const auto exit = CheckWindow(session, arguments.selection, true)) return *exit;
  const Plan plan = PlanFor(session, arguments);
  const std::unique_ptr<Reading> reading = Read(session, plan);
  const auto& [problems, definitions, heap, summary] = *reading;
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (plan.moment.kind == Moment::Kind::kGc && !heap.found())
    return session.NoSuchGc(*arguments.gc, heap.GcIds(), summary);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (const auto exit = CheckGcs(session, summary, arguments.selection, heap.GcIds())) return *exit;
  Chosen(heap, arguments.selection).TellUnknown(session);
  if (arguments.objects) {
    PrintObjects(Chosen(heap, arguments.selection), arguments.selection, summary.duration_ns, session);
  } else {
    Print(session, ReportOf(heap, arguments, summary.duration_ns));
  }
  return session.Finish(summary, problems);
}

int RunSampledHeap(Session& session, const HeapArguments& arguments) {
  if (arguments.objects) return session.NotInSamples("--objects lists every object by its address");
  if (Has(arguments.group_by, Field::kSpace))
    return session.NotInSamples("--by space takes the addresses of objects");
  if (Has(arguments.group_by, Field::kTier)) {
    return session.NotInSamples(
        "--group-by tier: JVM TI does not tell which compiler made the code that allocates");
  }
  if (const auto exit = CheckWindow(session, arguments.selection, false)) return *exit;
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  const std::vector<uint64_t> ids = trace.GcIds();
  std::optional<uint64_t> gc = arguments.gc;
  if (gc && std::find(ids.begin(), ids.end(), *gc) == ids.end())
    return session.NoSuchGc(*gc, ids, trace.summary);
  if (!gc && !arguments.end && !ids.empty()) gc = ids.back();
  if (const auto exit = CheckGcs(session, trace.summary, arguments.selection, ids)) return *exit;
  Print(session, ReportOf(trace, arguments, gc));
  return session.Finish(trace.summary, trace.problems);
}

int RunCensusHeap(Session& session, const HeapArguments& arguments) {
  if (const std::string_view why = NotCounted(arguments); !why.empty()) return session.NotInCensuses(why);
  if (const auto exit = CheckWindow(session, arguments.selection, false)) return *exit;
  const CensusTrace trace(session, arguments.gc);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (arguments.gc && !trace.censuses.reached_last())
    return session.NoSuchGc(*arguments.gc, trace.censuses.GcIds(), trace.summary);
  if (trace.censuses.latest() == nullptr) return session.NoCensus();
  std::vector<PortionKey> keys;
  for (const trace::CensusRow& row : trace.censuses.latest()->rows)
    keys.push_back({.site_class = static_cast<uint32_t>(row.site_class)});
  TellUnknownNames(session, trace.definitions, keys, arguments.selection.where);
  Print(session, ReportOf(trace, arguments));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
