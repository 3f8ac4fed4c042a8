// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/object_lines.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/heap_at.h"
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
  MainApplicationSite application =
      MainApplicationSite(MainApplicationSite::Of::kLive);  // of rows that are sites
};

struct HeapRow {
  std::string key;
  HeapSum sum;
};

// Rows of the same name become one; the largest first. name: of a number by which sums were made.
// applications: the numbers are sites; otherwise nullptr.
template <class Sums, class Name>
std::vector<HeapRow> RowsOf(const Sums& sums, Name&& name, ApplicationSites* applications = nullptr) {
  std::map<std::string, HeapSum> by_name;
  for (const auto& [number, sum] : sums) {
    const Amount amount(sum);
    HeapSum& row = by_name[name(number)];
    row.amount.Add(amount);
    if (applications != nullptr)
      row.application.Add(*applications, static_cast<uint32_t>(number), amount.bytes().value);
  }
  std::vector<HeapRow> rows;
  for (const auto& [key, sum] : by_name) rows.push_back({key, sum});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const HeapRow& a, const HeapRow& b) { return a.sum.amount > b.sum.amount; });
  return rows;
}

using Sums = std::unordered_map<uint64_t, HeapTotals>;

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

template <class Key>
Sums SumBy(const Chosen& heap, Key&& key) {
  Sums sums;
  heap.ForEach([&](const HeapObject& object) {
    sums[key(object)].Add({1, heap->definitions().shapes().words(object.shape)});
  });
  return sums;
}

std::vector<HeapRow> ByShape(const Chosen& heap, const HeapArguments& arguments) {
  const GroupBy by = arguments.by;
  const Definitions& definitions = heap->definitions();
  std::vector<uint64_t> objects(definitions.shapes().size());
  heap.ForEach([&](const HeapObject& object) { objects[object.shape]++; });
  Sums sums;
  for (uint32_t shape = 0; shape < objects.size(); shape++) {
    if (objects[shape] == 0) continue;
    const SiteClass& pair = definitions.site_class_of_shape(shape);
    sums[by == GroupBy::kSite ? pair.site : pair.class_id].Add(
        {objects[shape], objects[shape] * definitions.shapes().words(shape)});
  }
  const auto class_name = [&](uint64_t id) { return ClassLabel(definitions, static_cast<uint32_t>(id)); };
  if (by == GroupBy::kClass) return RowsOf(sums, class_name);
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(definitions, heap->stacks(), frames);
  const auto site_name = [&](uint64_t id) { return SiteLabel(definitions, static_cast<uint32_t>(id)); };
  return RowsOf(sums, site_name, &applications);
}

std::vector<HeapRow> ByProvenance(const Chosen& heap, GroupBy by) {
  const Sums sums = SumBy(heap, [](const HeapObject& object) { return object.provenance; });
  return RowsOf(sums, [&](uint64_t id) -> std::string {
    const auto number = static_cast<uint32_t>(id);
    if (number == ProvenanceTable::kFiller) return "<filler>";
    if (number == ProvenanceTable::kBeforeTrace) return "<before trace>";
    const Provenance& provenance = heap->provenance_table()[number];
    if (by == GroupBy::kThread) return ThreadLabel(heap->definitions(), provenance.thread);
    return Plural(static_cast<uint64_t>(heap->epoch() - provenance.birth), "GC");
  });
}

std::vector<HeapRow> BySpace(const Chosen& heap) {
  constexpr uint64_t kOutside = UINT64_MAX;
  const std::vector<Space>& spaces = heap->spaces();
  size_t at = 0;
  const Sums sums = SumBy(heap, [&](const HeapObject& object) {
    while (at < spaces.size() && object.word >= spaces[at].end) at++;
    const bool inside = at < spaces.size() && object.word >= spaces[at].bottom;
    return inside ? static_cast<uint64_t>(spaces[at].kind) : kOutside;
  });
  return RowsOf(sums, [](uint64_t kind) -> std::string {
    return kind == kOutside ? "<outside>" : std::string(SpaceLabel(static_cast<SpaceKind>(kind)));
  });
}

std::vector<HeapRow> RowsBy(const Chosen& heap, const HeapArguments& arguments) {
  switch (arguments.by) {
    case GroupBy::kClass:
    case GroupBy::kSite:
      return ByShape(heap, arguments);
    case GroupBy::kThread:
    case GroupBy::kAge:
      return ByProvenance(heap, arguments.by);
    case GroupBy::kSpace:
      return BySpace(heap);
  }
  return {};
}

std::vector<HeapRow> RowsBy(const Sampled& sampled, const HeapArguments& arguments,
                            std::optional<uint64_t> gc) {
  const GroupBy by = arguments.by;
  const Definitions& definitions = sampled.definitions();
  Chooser chosen(definitions, arguments.selection);
  const Marks marks(arguments.selection.marks());
  const auto begun = gc ? *gc + 1 : sampled.gcs().empty() ? 0 : sampled.gcs().back().id + 1;
  const auto key = [&](const SampledObject& sample) -> uint64_t {
    switch (by) {
      case GroupBy::kSite:
        return definitions.site_class(sample.site_class).site;
      case GroupBy::kThread:
        return sample.thread;
      case GroupBy::kAge:
        return begun - std::min<uint64_t>(begun, sample.born);
      default:
        return definitions.site_class(sample.site_class).class_id;
    }
  };
  const auto name = [&](uint64_t id) -> std::string {
    switch (by) {
      case GroupBy::kSite:
        return SiteLabel(definitions, static_cast<uint32_t>(id));
      case GroupBy::kThread:
        return ThreadLabel(definitions, id);
      case GroupBy::kAge:
        return Plural(id, "GC");
      default:
        return ClassLabel(definitions, id);
    }
  };
  const auto wanted = [&](const SampledObject& s) { return s.LivesAfter(gc) && chosen(KeyOf(s, marks, true)); };
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;  // the sites of samples are whole stacks
  ApplicationSites applications(definitions, none, frames);
  return RowsOf(sampled.By(key, wanted), name, by == GroupBy::kSite ? &applications : nullptr);
}

Amount Sum(const std::vector<HeapRow>& rows) {
  Amount all;
  for (const HeapRow& row : rows) all.Add(row.sum.amount);
  return all;
}

// The table; head, heading and notes are the caller's.
Report TableOf(const std::vector<HeapRow>& rows, GroupBy by, Basis basis) {
  Report report;
  const std::string key(NameOf<GroupBy>(kGroupings, by));
  std::string title = key;
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  report.columns = {{.key = key, .title = std::move(title)}};
  if (by == GroupBy::kSite) {
    for (Column& column : ApplicationColumns()) report.columns.push_back(std::move(column));
  }
  for (Column& column : AmountColumns(basis)) report.columns.push_back(std::move(column));
  report.text_order = {"samples", "objects", "bytes", NameOf<GroupBy>(kGroupings, by)};
  for (const HeapRow& row : rows) {
    Row cells{row.key};
    if (by == GroupBy::kSite) AddApplicationCells(&cells, row.sum.application, row.key);
    row.sum.amount.AddCells(&cells, basis);
    report.rows.push_back(std::move(cells));
  }
  return report;
}

// Of JSON: the moment, what is known of it, and the sum.
nlohmann::ordered_json HeadOf(const HeapAt& heap, const Amount& all) {
  nlohmann::ordered_json head;
  head["gc"] = heap.at_end() ? nlohmann::ordered_json() : nlohmann::ordered_json(heap.gcs().back().id);
  head["exact"] = heap.exact() && heap.words_not_known() == 0;
  if (heap.words_not_known() != 0) head["unknown_bytes"] = InBytes(heap.words_not_known());
  head["complete"] = heap.state() != HeapState::kFilling && heap.state() != HeapState::kUnknown;
  AddAmount(&head, all, Basis::kExact);
  return head;
}

std::string MomentOf(const HeapAt& heap, uint64_t end_ns) {
  return heap.at_end() ? AtEnd(end_ns) : AfterGc(heap.gcs().back());
}

std::vector<std::string> NotesOf(const HeapAt& heap, uint64_t end_ns) {
  const std::string caveat = Caveat(heap.state(), heap.words_not_known());
  if (caveat.empty()) return {};
  return {"heap " + MomentOf(heap, end_ns) + caveat};
}

Report ReportOf(const HeapAndStacks& heap, const HeapArguments& arguments, uint64_t end_ns) {
  const GroupBy by = arguments.by;
  const std::vector<HeapRow> rows = RowsBy(Chosen(heap, arguments.selection), arguments);
  const Amount all = Sum(rows);
  Report report = TableOf(rows, by, Basis::kExact);
  report.head = HeadOf(heap, all);
  report.head["by"] = NameOf<GroupBy>(kGroupings, by);
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", MomentOf(heap, end_ns), all.Text(Basis::kExact),
                                Caveat(heap.state(), heap.words_not_known()));
  report.notes = NotesOf(heap, end_ns);
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
  const GroupBy by = arguments.by;
  const std::vector<HeapRow> rows = RowsBy(trace.sampled, arguments, gc);
  const Amount all = Sum(rows);
  Report report = TableOf(rows, by, Basis::kSamples);
  report.head = EstimatesJson(trace.sampled);
  report.head["gc"] = gc ? nlohmann::ordered_json(*gc) : nlohmann::ordered_json();
  report.head["lost"] = trace.sampled.lost();
  AddEstimate(&report.head, all);
  report.head["live_samples"] = all.samples();
  report.head["by"] = NameOf<GroupBy>(kGroupings, by);
  const std::string moment = MomentOf(trace.sampled, gc, trace.summary.duration_ns);
  report.notes = {EstimatesNote(trace.sampled)};
  report.heading = report.notes[0] + "\n";
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", moment, all.Text(Basis::kSamples), trace.Caveat());
  if (!trace.Caveat().empty()) report.notes.push_back("heap " + moment + trace.Caveat());
  return report;
}

Report ReportOf(const CensusTrace& trace, const HeapArguments& arguments) {
  const GroupBy by = arguments.by;
  const Definitions& definitions = trace.definitions;
  const CensusEvent& census = *trace.censuses.latest();
  Chooser chosen(definitions, arguments.selection);
  Sums sums;
  for (const trace::CensusRow& row : census.rows) {
    const SiteClass& pair = definitions.site_class(row.site_class);
    if (chosen({.site_class = static_cast<uint32_t>(row.site_class)}))
      sums[by == GroupBy::kSite ? pair.site : pair.class_id].Add({row.objects, row.words});
  }
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;
  ApplicationSites applications(definitions, none, frames);
  const auto name = [&](uint64_t id) {
    return by == GroupBy::kSite ? SiteLabel(definitions, static_cast<uint32_t>(id))
                                : ClassLabel(definitions, id);
  };
  const std::vector<HeapRow> rows = RowsOf(sums, name, by == GroupBy::kSite ? &applications : nullptr);
  const Amount all = Sum(rows);
  Report report = TableOf(rows, by, Basis::kExact);
  report.head["gc"] = census.gc;
  report.head["old_space"] = census.old_space;
  AddAmount(&report.head, all, Basis::kExact);
  report.head["by"] = NameOf<GroupBy>(kGroupings, by);
  ShowSelection(arguments.selection, &report);
  report.heading += fmt::format("heap {}: {}{}\n\n", AfterGc(census), all.Text(Basis::kExact), Caveat(census));
  if (!Caveat(census).empty()) report.notes.push_back("heap " + AfterGc(census) + Caveat(census));
  return report;
}

// What a census cannot tell, or "".
std::string_view NotCounted(const HeapArguments& arguments) {
  if (arguments.objects) return "--objects lists every object by its address";
  if (arguments.end) return "--end is not possible: only what is live after some collections was counted";
  if (arguments.by != GroupBy::kClass && arguments.by != GroupBy::kSite)
    return "only --by class and --by site are possible";
  if (arguments.selection.threads() || arguments.selection.from || arguments.selection.to)
    return "which thread allocated an object, and when, was not recorded";
  return "";
}

// By address.
void PrintObjects(const Chosen& heap, uint64_t end_ns, Session& session) {
  ObjectLines lines(session, heap->definitions());
  const bool json = session.output == Output::kJson;
  lines.Begin(json ? HeadOf(*heap, Sum(RowsBy(heap, {.by = GroupBy::kClass}))) : nlohmann::ordered_json());
  heap.ForEach([&](const HeapObject& object) { lines.Add(InBytes(object.word), object.shape); });
  lines.End();
  if (session.output == Output::kCsv) PrintNotes(session, NotesOf(*heap, end_ns));
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
  const bool by_provenance = arguments.by == GroupBy::kThread || arguments.by == GroupBy::kAge;
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
    return session.NoSuchGc(*arguments.gc, heap.GcIds());
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (const auto exit = CheckGcs(session, arguments.selection, heap.GcIds())) return *exit;
  Chosen(heap, arguments.selection).TellUnknown(session);
  if (arguments.objects) {
    PrintObjects(Chosen(heap, arguments.selection), summary.duration_ns, session);
  } else {
    Print(session, ReportOf(heap, arguments, summary.duration_ns));
  }
  return session.Finish(summary, problems);
}

int RunSampledHeap(Session& session, const HeapArguments& arguments) {
  if (arguments.objects) return session.NotInSamples("--objects lists every object by its address");
  if (arguments.by == GroupBy::kSpace) return session.NotInSamples("--by space takes the addresses of objects");
  if (const auto exit = CheckWindow(session, arguments.selection, false)) return *exit;
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  const std::vector<uint64_t> ids = trace.GcIds();
  std::optional<uint64_t> gc = arguments.gc;
  if (gc && std::find(ids.begin(), ids.end(), *gc) == ids.end()) return session.NoSuchGc(*gc, ids);
  if (!gc && !arguments.end && !ids.empty()) gc = ids.back();
  if (const auto exit = CheckGcs(session, arguments.selection, ids)) return *exit;
  Print(session, ReportOf(trace, arguments, gc));
  return session.Finish(trace.summary, trace.problems);
}

int RunCensusHeap(Session& session, const HeapArguments& arguments) {
  if (const std::string_view why = NotCounted(arguments); !why.empty()) return session.NotInCensuses(why);
  const CensusTrace trace(session, arguments.gc);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (arguments.gc && !trace.censuses.reached_last())
    return session.NoCensusAfter(*arguments.gc, trace.censuses.GcIds());
  if (trace.censuses.latest() == nullptr) {
    session.err << "anttracks: " << kNoCensus << "\n";
    return kExitErrors;
  }
  std::vector<PortionKey> keys;
  for (const trace::CensusRow& row : trace.censuses.latest()->rows)
    keys.push_back({.site_class = static_cast<uint32_t>(row.site_class)});
  TellUnknownNames(session, trace.definitions, keys, arguments.selection.where);
  Print(session, ReportOf(trace, arguments));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
