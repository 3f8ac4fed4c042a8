// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <utility>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/diff_rows.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// In a name that is made of a thread's and a site's; names have no line ends.
constexpr char kBetween = '\n';

// One of the two traces.
struct Trace {
  const char* name;  // A or B
  Names& names;
  std::ostringstream err = {};
  Session session;
  std::unique_ptr<Content> content = nullptr;
  Sides sides = {};
  Sides sites = {};  // of which the rows are made, if they are no sites themselves
  Side all = {};
  std::map<Place, MainApplicationSite> applications = {};  // of rows that are sites

  Trace(const char* which, const Session& parent, const std::string& file, Names& shared_names)
      : name(which),
        names(shared_names),
        session{.out = parent.out, .err = err, .show_progress = parent.show_progress} {
    session.files = {file};
  }

  // What was said about it, with its name before each line.
  void TellTo(std::ostream& to) {
    std::istringstream lines(err.str());
    err.str("");
    for (std::string line; std::getline(lines, line);) to << name << ": " << line << "\n";
  }
};

Place PlaceOf(const Definitions& definitions, const PortionKey& key, DiffBy by, Names& names) {
  const SiteClass& pair = definitions.site_class(key.site_class);
  Place place;
  if (by == DiffBy::kThread) {
    const ThreadInfo& thread = definitions.thread(key.thread);
    place.method = names.Of(thread.defined ? thread.name : FieldText(definitions, Field::kThread, key));
    return place;
  }
  place.class_name = names.Of(StableName(ClassLabel(definitions, pair.class_id)));
  if (by == DiffBy::kClass) return place;
  const SiteInfo& site = definitions.site(pair.site);
  const MethodInfo& method = definitions.method(site.method);
  if (!site.defined || !method.defined) {
    place.method = names.Of(SiteLabel(definitions, pair.site));
    return place;
  }
  place.method = names.Of(StableName(method.class_name) + "." + method.name);
  place.file = site.bci < 0 ? "Native Method" : names.Of(method.source_file);
  place.line = site.bci < 0 ? -1 : site.line;
  return place;
}

std::string PlaceText(const Place& place) {
  if (place.file.empty()) return std::string(place.method);
  return fmt::format("{}({}{})", place.method, place.file,
                     place.line < 0 ? "" : fmt::format(":{}", place.line));
}

void AddSides(Trace* trace, const DiffArguments& arguments) {
  const Content& content = *trace->content;
  Chooser chosen(content.definitions, arguments.selection);
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(content.definitions, content.stacks, frames, arguments.selection);
  for (const Portion& portion : content.portions) {
    if (!chosen(portion.key)) continue;
    Side side{portion.allocated, portion.live, {}};
    if (FieldText(content.definitions, Field::kTier, portion.key) == "C2") side.optimized = portion.allocated;
    const Place place = PlaceOf(content.definitions, portion.key, arguments.by, trace->names);
    trace->sides[place].Add(side);
    trace->all.Add(side);
    if (arguments.by == DiffBy::kSite) {
      const uint32_t pair_site = content.definitions.site_class(portion.key.site_class).site;
      const double allocated = side.allocated.bytes().value;
      trace->applications[place].Add(applications, pair_site,
                                     allocated != 0 ? allocated : side.live.bytes().value);
      continue;
    }
    Place site = PlaceOf(content.definitions, portion.key, DiffBy::kSite, trace->names);
    if (arguments.by == DiffBy::kThread)
      site.method = trace->names.Of(std::string(place.method) + kBetween + std::string(site.method));
    trace->sites[site].Add(side);
  }
}

// Samples do not tell whether C2's code allocated.
bool OfSamples(const Trace& a, const Trace& b) {
  return a.session.sampled.has_value() && b.session.sampled.has_value();
}

// Tells the rows what of their differences C2 left out in one run only.
void AddOptimized(const Trace& a, const Trace& b, DiffBy by, const NoiseRule& rule,
                  std::vector<DiffRow>* rows) {
  std::map<Place, double> optimized;
  std::vector<DiffRow> sites = MatchRows(a.sites, b.sites);
  AddShifts(&sites);
  for (const DiffRow& row : sites) {
    if (Judge(row, rule) != Difference::kOptimized) continue;
    Place place;
    if (by == DiffBy::kThread) place.method = row.place.method.substr(0, row.place.method.find(kBetween));
    if (by == DiffBy::kClass) place.class_name = row.place.class_name;
    optimized[place] += row.Allocated();
  }
  for (DiffRow& row : *rows) {
    const auto found = optimized.find(row.place);
    if (found != optimized.end()) row.optimized = found->second;
  }
}

// False, with the exit code, if there is nothing to compare.
bool Read(Trace* trace, const DiffArguments& arguments, int* exit) {
  if (!trace->session.Open()) {
    *exit = kExitUnreadable;
    return false;
  }
  const Selection& selection = arguments.selection;
  if (const auto wrong = CheckWindow(trace->session, selection, false)) {
    *exit = *wrong;
    return false;
  }
  if (trace->session.census && arguments.by == DiffBy::kThread) {
    *exit = trace->session.NotInCensuses("which thread allocated an object was not recorded");
    return false;
  }
  const bool threads = arguments.by == DiffBy::kThread || selection.threads();
  trace->content = ReadContent(trace->session, {.portions = {threads, selection.marks()},
                                                .live = selection.times() ? LiveAt::kNever : LiveAt::kLastGc});
  if (!trace->content->summary.fatal.ok()) {
    *exit = trace->session.Unreadable(trace->content->summary.fatal);
    return false;
  }
  if (trace->session.census && trace->content->gc_ids.empty()) {
    *exit = trace->session.NoCensus();
    return false;
  }
  if (const auto wrong = CheckNames(trace->session, *trace->content, selection)) {
    *exit = *wrong;
    return false;
  }
  QualifyLive(selection, trace->content.get());
  AddSides(trace, arguments);
  // So that they are not there beside the other trace's heap.
  trace->content->portions = std::vector<Portion>();
  trace->content->stacks = {};
  trace->content->definitions.Forget();
  return true;
}

NoiseRule::Totals TotalsOf(const Trace& trace) {
  NoiseRule::Totals totals{trace.all.allocated.bytes().value, trace.all.live.bytes().value, 0, 0};
  const std::vector<uint64_t>& live = trace.content->live_bytes;
  if (live.size() > 1) {
    const auto [least, most] =
        std::minmax_element(live.begin() + static_cast<ptrdiff_t>(live.size() / 2), live.end());
    totals.live_range = static_cast<double>(*most - *least);
  }
  totals.unseen = static_cast<double>(trace.content->interval) * PoissonHigh(0);
  return totals;
}

constexpr Choice<Difference> kDifferences[] = {{Difference::kNone, "noise"},
                                               {Difference::kAllocated, "allocated"},
                                               {Difference::kLive, "live"},
                                               {Difference::kOptimized, "optimized"}};

// The four columns of one number: A, B, difference, ratio.
void AddColumns(std::vector<Column>* columns, const std::string& key, const std::string& title, Unit unit,
                Accuracy a, Accuracy b) {
  const Accuracy both = a == Accuracy::kExact && b == Accuracy::kExact ? Accuracy::kExact : Accuracy::kEstimate;
  columns->push_back({.key = key + ".a", .title = title + " A", .unit = unit, .accuracy = a});
  columns->push_back({.key = key + ".b", .title = title + " B", .unit = unit, .accuracy = b});
  columns->push_back({.key = key + ".difference", .title = title + " B - A", .unit = unit, .accuracy = both});
  columns->push_back({.key = key + ".ratio", .title = "Ratio", .unit = Unit::kShare});
}

Cell CellOf(const Estimated& number, Basis basis) {
  return basis == Basis::kExact ? Cell(Rounded(number.value)) : Cell(number);
}

void AddNumbers(Row* row, const Estimated& a, const Estimated& b, std::pair<Basis, Basis> bases) {
  const double difference = b.value - a.value;
  row->push_back(CellOf(a, bases.first));
  row->push_back(CellOf(b, bases.second));
  row->emplace_back(static_cast<int64_t>(std::llround(std::clamp(difference, -0x1p62, 0x1p62))));
  if (a.value == 0) {
    row->push_back(Cell(nullptr, b.value == 0 ? "-" : "new"));
  } else {
    const double ratio = b.value / a.value;
    row->push_back(Cell(std::round(ratio * 1e4) / 1e4, b.value == 0 ? "gone" : fmt::format("{:.2f}", ratio)));
  }
}

// What is compared and how, for the report of both traces.
struct Comparison {
  const DiffArguments& arguments;
  const Trace &a, &b;
  NoiseRule rule;
  bool data;  // JSON or CSV

  bool allocated() const { return a.content->allocations; }
  bool live() const { return !arguments.selection.times(); }
  std::pair<Basis, Basis> Allocated() const { return {a.content->allocated, b.content->allocated}; }
  std::pair<Basis, Basis> Live() const { return {a.content->live, b.content->live}; }
  Accuracy AccuracyOf(Basis basis) const {
    if (basis == Basis::kExact) return Accuracy::kExact;
    return data ? Accuracy::kInterval : Accuracy::kEstimate;
  }
};

void AddKeyColumns(std::vector<Column>* columns, DiffBy by) {
  if (by == DiffBy::kThread) columns->push_back({.key = "thread", .title = "Thread"});
  if (by == DiffBy::kSite) {
    columns->push_back({.key = "site", .title = "Site"});
    columns->push_back({.key = "line_a", .unit = Unit::kId, .where = Where::kInData});
    for (Column& column : ApplicationColumns()) columns->push_back(std::move(column));
  }
  if (by != DiffBy::kThread) columns->push_back({.key = "class", .title = "Class"});
  columns->push_back({.key = "above_noise", .where = Where::kInData});
}

std::vector<Column> ColumnsOf(const Comparison& comparison) {
  std::vector<Column> columns;
  AddKeyColumns(&columns, comparison.arguments.by);
  const auto add = [&](const char* key, const char* title, Unit unit, std::pair<Basis, Basis> bases) {
    AddColumns(&columns, key, title, unit, comparison.AccuracyOf(bases.first),
               comparison.AccuracyOf(bases.second));
  };
  if (comparison.allocated()) {
    add("objects", "Objects", Unit::kCount, comparison.Allocated());
    add("bytes", "Bytes", Unit::kRoundedBytes, comparison.Allocated());
  }
  if (!comparison.live()) return columns;
  add("live_objects", "Live objects", Unit::kCount, comparison.Live());
  add("live_bytes", "Live", Unit::kRoundedBytes, comparison.Live());
  return columns;
}

// "app.List.add(List.java:12)", with the line in A if it is another one.
std::string SiteText(const DiffRow& row) {
  const bool moved = row.in_a && row.in_b && row.line_in_a != row.place.line;
  return PlaceText(row.place) + (moved ? fmt::format(" (A: line {})", row.line_in_a) : "");
}

// Where the row's bytes come from, in B; in A, if B does not have it.
const MainApplicationSite& ApplicationOf(const DiffRow& row, const Comparison& comparison) {
  if (row.in_b) return comparison.b.applications.at(row.place);
  return comparison.a.applications.at(row.place);
}

Row CellsOf(const DiffRow& row, const Comparison& comparison) {
  Row cells;
  const DiffBy by = comparison.arguments.by;
  if (by == DiffBy::kThread) cells.emplace_back(std::string(row.place.method));
  if (by == DiffBy::kSite) {
    cells.push_back(Cell(PlaceText(row.place), Printable(SiteText(row))));
    const bool has_line = row.in_a && row.line_in_a >= 0;
    cells.push_back(has_line ? Cell(static_cast<uint64_t>(row.line_in_a)) : Cell(nullptr));
    AddApplicationCells(&cells, ApplicationOf(row, comparison), PlaceText(row.place));
  }
  if (by != DiffBy::kThread) cells.emplace_back(std::string(row.place.class_name));
  cells.emplace_back(std::string(NameOf<Difference>(kDifferences, Judge(row, comparison.rule))));
  if (comparison.allocated()) {
    AddNumbers(&cells, row.a.allocated.objects(), row.b.allocated.objects(), comparison.Allocated());
    AddNumbers(&cells, row.a.allocated.bytes(), row.b.allocated.bytes(), comparison.Allocated());
  }
  if (!comparison.live()) return cells;
  AddNumbers(&cells, row.a.live.objects(), row.b.live.objects(), comparison.Live());
  AddNumbers(&cells, row.a.live.bytes(), row.b.live.bytes(), comparison.Live());
  return cells;
}

std::string TraceLine(const Trace& trace, bool live) {
  const Content& content = *trace.content;
  std::string text = fmt::format("{}  {}", trace.name, trace.session.files[0]);
  if (content.allocations) text += ": allocated " + trace.all.allocated.Text(content.allocated);
  text += "\n";
  if (live) {
    text +=
        fmt::format("   live {}: {}{}\n", content.moment, trace.all.live.Text(content.live), content.caveat);
  }
  if (!content.note.empty()) text += fmt::format("   {}\n", content.note);
  return text;
}

std::string RuleText(const Comparison& comparison) {
  const NoiseRule& rule = comparison.rule;
  const std::string of_live = fmt::format("less than {} or half", Bytes(Rounded(rule.live_bytes)));
  if (!comparison.allocated()) return "noise: of what is live, " + of_live + " of the row";
  std::string text = fmt::format(
      "noise: less than {} (1 % of the bytes) or 5 % of the row; of rows that one side lacks, {} (0.01 %)",
      Bytes(Rounded(rule.allocated_bytes)), Bytes(Rounded(rule.new_bytes)));
  if (comparison.live()) text += ";\n       of what is live, " + of_live;
  return text;
}

nlohmann::ordered_json NoiseJson(const Comparison& comparison) {
  const NoiseRule& rule = comparison.rule;
  nlohmann::ordered_json json;
  if (comparison.allocated())
    json = {{"bytes", Rounded(rule.allocated_bytes)}, {"new_bytes", Rounded(rule.new_bytes)}};
  json["live_bytes"] = Rounded(rule.live_bytes);
  return json;
}

nlohmann::ordered_json TraceJson(const Trace& trace, bool live) {
  const Content& content = *trace.content;
  nlohmann::ordered_json json{{"file", trace.session.files[0]}};
  json.update(content.head);
  if (content.allocations) AddAmount(&json, trace.all.allocated, content.allocated);
  if (!live) return json;
  nlohmann::ordered_json& at = json["live"];
  at["moment"] = content.moment;
  at["exact"] = content.exact;
  AddAmount(&at, trace.all.live, content.live);
  return json;
}

// Differences that may be chance, for people; they are rows of JSON and CSV.
std::string OptimizedText(const std::vector<DiffRow>& rows, const Comparison& comparison) {
  constexpr size_t kShown = 3;
  size_t count = 0;
  std::string text;
  for (const DiffRow& row : rows) {
    if (Judge(row, comparison.rule) != Difference::kOptimized || count++ >= kShown) continue;
    const auto bytes = static_cast<uint64_t>(std::llround(std::abs(row.Allocated())));
    const std::string place =
        comparison.arguments.by == DiffBy::kSite ? SiteText(row) : std::string(row.place.method);
    text += fmt::format("  {}{}  {}  {}\n", row.Allocated() < 0 ? "-" : "+", Bytes(bytes),
                        Printable(row.place.class_name), Printable(place));
  }
  if (count == 0) return "";
  const std::string more = count > kShown ? fmt::format("  ... and {} more\n", count - kShown) : "";
  const std::string why =
      OfSamples(comparison.a, comparison.b)
          ? fmt::format("Other sites of the class make up for {}, as when a method is compiled sooner",
                        count == 1 ? "a difference" : "differences")
          : fmt::format("C2 left out {} in one run only, or sooner",
                        count == 1 ? "an allocation" : "allocations");
  return fmt::format("\n{}, which may be chance (--all shows all rows):\n{}{}", why, text, more);
}

Report ReportOf(const std::vector<DiffRow>& rows, const Comparison& comparison) {
  Report report;
  report.rows_key = "rows";
  report.columns = ColumnsOf(comparison);
  report.text_order = {"bytes.a",   "bytes.b",      "bytes.difference", "bytes.ratio", "objects.a",
                       "objects.b", "live_bytes.a", "live_bytes.b",     "thread",      "class",
                       "site"};
  if (!comparison.allocated())
    report.text_order = {"live_bytes.a",
                         "live_bytes.b",
                         "live_bytes.difference",
                         "live_bytes.ratio",
                         "live_objects.a",
                         "live_objects.b",
                         "class",
                         "site"};
  const bool everything = comparison.arguments.all;
  size_t above = 0;
  for (const DiffRow& row : rows) {
    const Difference difference = Judge(row, comparison.rule);
    const bool says = difference == Difference::kAllocated || difference == Difference::kLive;
    above += says;
    const bool in_data = comparison.data && difference == Difference::kOptimized;
    if (everything || says || in_data) report.rows.push_back(CellsOf(row, comparison));
  }
  const std::string counts =
      above == 0 ? fmt::format("nothing above noise; {}", Plural(rows.size(), "row"))
                 : fmt::format("{} of {} above noise", Count(above), Plural(rows.size(), "row"));
  const std::string rule = RuleText(comparison);
  const std::string selection = comparison.arguments.selection.Text();
  const std::string traces =
      TraceLine(comparison.a, comparison.live()) + TraceLine(comparison.b, comparison.live()) +
      (selection.empty() ? "" : "only " + Printable(selection) + "\n") + rule + "\n\n" + counts;
  report.if_empty = traces + "\n";
  report.heading = traces + "\n\n";
  report.footing = everything ? "" : OptimizedText(rows, comparison);
  report.if_empty += report.footing;
  report.notes = {counts};
  report.head["a"] = TraceJson(comparison.a, comparison.live());
  report.head["b"] = TraceJson(comparison.b, comparison.live());
  report.head["by"] = NameOf<DiffBy>(kDiffRows, comparison.arguments.by);
  report.head["noise"] = NoiseJson(comparison);
  report.head["above_noise"] = above;
  report.head["all_rows"] = rows.size();
  return report;
}

// Why the two cannot be compared, or "".
std::string WhyNot(const Trace& a, const Trace& b, DiffBy by) {
  if (a.session.census != b.session.census)
    return fmt::format(
        "{} holds censuses, of which only what is live can be compared, with another trace of them",
        a.session.census ? "A" : "B");
  if (by != DiffBy::kSite || a.session.sampled.has_value() == b.session.sampled.has_value()) return "";
  const Trace& sampled = a.session.sampled ? a : b;
  return fmt::format(
      "{} holds samples and {} every object, which name a site differently; compare --by class or --by thread",
      sampled.name, sampled.name[0] == 'A' ? "B" : "A");
}

}  // namespace

int RunDiff(Session& session, const DiffArguments& arguments) {
  Names names;
  Trace a("A", session, arguments.a, names), b("B", session, arguments.b, names);
  int exit = kExitFine;
  if (const auto wrong = CheckWindow(session, arguments.selection, false)) return *wrong;
  for (Trace* trace : {&a, &b}) {
    const bool read = Read(trace, arguments, &exit);
    if (!read) trace->TellTo(session.err);
    if (!read) return exit;
  }
  if (const std::string why = WhyNot(a, b, arguments.by); !why.empty()) {
    session.err << "anttracks: " << why << "\n";
    return kExitUsage;
  }
  const NoiseRule rule = NoiseRule::Of(TotalsOf(a), TotalsOf(b));
  std::vector<DiffRow> rows = MatchRows(a.sides, b.sides);
  AddOptimized(a, b, arguments.by, rule, &rows);
  if (arguments.by == DiffBy::kSite) {
    if (OfSamples(a, b)) {
      AddMadeUp(&rows);
    } else {
      AddShifts(&rows);
    }
  }
  SortRows(&rows, rule);
  Print(session, ReportOf(rows, {arguments, a, b, rule, session.output != Output::kText}));
  for (Trace* trace : {&a, &b}) {
    exit = std::max(exit, trace->session.Finish(trace->content->summary, trace->content->problems));
    trace->TellTo(session.err);
  }
  return exit;
}

}  // namespace anttracks::analyzer
