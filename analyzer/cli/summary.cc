// SPDX-License-Identifier: Apache-2.0
// The trace on one screen: what allocates, what stays, what the collections cost, what looks wrong, and the
// command to run next. A finding is only what there is evidence of.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/leak_rows.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kTopSites = 3;
// Pauses are a finding from this share of the time on, of a trace that is long enough to say so.
constexpr double kManyPauses = 0.2;
constexpr uint64_t kLongEnoughNs = 1'000'000'000;

struct Finding {
  std::string kind, text;
  const LeakRow* leak = nullptr;  // which one, of a leak
};

struct Pauses {
  bool known = true;  // of censuses only the count is
  uint64_t count = 0, ns = 0, longest_ns = 0, longest_gc = 0;
  std::optional<uint64_t> copied_bytes;  // not known from samples

  void Add(uint64_t gc, uint64_t begin_ns, uint64_t end_ns) {
    const uint64_t pause = end_ns - begin_ns;
    count++;
    ns += pause;
    if (pause < longest_ns) return;
    longest_ns = pause;
    longest_gc = gc;
  }
};

// What is printed, from whichever trace.
struct Screen {
  std::string program, selection;  // selection: what it is about, if not all
  uint64_t duration_ns = 0;
  std::string note;  // that numbers are estimates
  Report allocates, stays;
  std::string allocated_line, live_line;
  Pauses pauses;
  std::optional<double> copied_share;  // of what was allocated
  std::vector<Finding> findings;
  std::string cannot_tell;  // what no finding can be given on, and why
  std::string growing;      // what grows of late, if there is no leak
  std::string next;
};

// So that a shell takes it as one word.
std::string Quoted(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("/._-+:,@%=").find(c) != std::string::npos;
  };
  if (!word.empty() && word[0] != '-' && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = word[0] == '-' ? "'./" : "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string CommandLine(const Session& session, const std::string& command, const std::string& options = "") {
  std::string line = Quoted(session.program) + " " + command;
  for (const std::string& file : session.files) line += fmt::format(" {}", Quoted(file));
  return line + options;
}

// The rows of one table, by what is given of each site-class pair.
class TopSites {
 public:
  TopSites(ApplicationSites& applications, MainApplicationSite::Of of)
      : definitions_(&applications.definitions()), applications_(&applications), of_(of) {}

  void Add(uint64_t site_class, const Amount& amount) {
    const SiteClass& pair = definitions_->site_class(site_class);
    if (pair.site == kSiteFiller) return;
    Site& site =
        sites_
            .try_emplace({SiteLabel(*definitions_, pair.site), ClassLabel(*definitions_, pair.class_id)},
                         Site{{}, MainApplicationSite(of_)})
            .first->second;
    site.amount.Add(amount);
    all_.Add(amount);
    site.application.Add(*applications_, pair.site, amount.bytes().value);
  }
  const Amount& all() const { return all_; }

  // Takes what was added.
  Report ToReport(const std::string& key, Basis basis) {
    Report report;
    report.rows_key = key;
    report.columns = {{.key = "class", .title = "Class"}, {.key = "site", .title = "Site"}};
    for (Column& column : ApplicationColumns()) report.columns.push_back(std::move(column));
    for (Column& column : AmountColumns(basis)) report.columns.push_back(std::move(column));
    report.text_order = {"samples", "objects", "bytes", "class", "site"};
    const auto sites = std::make_shared<const Sites>(std::move(sites_));
    std::vector<const Sites::value_type*> sorted;
    for (const auto& site : *sites) sorted.push_back(&site);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->second.amount > b->second.amount; });
    const size_t count = sorted.size();
    report.rows = ReportRows(
        count, [sites, sorted = std::move(sorted), basis](size_t i) { return CellsOf(*sorted[i], basis); });
    return report;
  }

 private:
  struct Site {
    Amount amount;
    MainApplicationSite application;
  };
  using Sites = std::map<std::pair<std::string, std::string>, Site>;

  static Row CellsOf(const Sites::value_type& entry, Basis basis) {
    const auto& [names, site] = entry;
    Row row{names.second, names.first};
    AddApplicationCells(&row, site.application, names.first, kNoApplicationFrame);
    site.amount.AddCells(&row, basis);
    return row;
  }

  const Definitions* definitions_;
  ApplicationSites* applications_;
  const MainApplicationSite::Of of_;
  Sites sites_;
  Amount all_;
};

std::string LeakText(const LeakRow& row, size_t more) {
  const std::string line = Printable(row.application.name()), site = Printable(row.site);
  const bool sure = !line.empty() && row.application.all();
  std::string text = fmt::format("leak: {} piles up {}", sure ? line : site, Printable(row.class_name));
  if (sure) text += " (allocated in " + site + ")";
  if (line.empty() && !row.application.itself()) text += fmt::format(" ({})", kNoApplicationFrame);
  if (!line.empty() && !sure) {
    text += fmt::format(" (of what is allocated there ~{:.0f} % comes from {})", 100 * row.application.share(),
                        line);
  }
  text += fmt::format(":\n     {} before GC {}, {} in {} now", Bytes(row.then.bytes()), row.since_gc,
                      Bytes(row.now.bytes()), Plural(row.now.objects, "object"));
  if (row.births_known)
    text += ", the oldest from " + (row.oldest_ns ? Duration(*row.oldest_ns) + " ago" : "before the trace");
  text +=
      fmt::format(";\n     {} per GC, {} per minute, {:.1f} % of the growth",
                  Bytes(Rounded(row.bytes_per_gc())), Bytes(Rounded(row.bytes_per_minute())), 100 * row.share);
  if (more != 0)
    text += fmt::format("\n     {} more {} with it", more, more == 1 ? "site grows" : "sites grow");
  return text;
}

void AddPausesFinding(Screen* screen) {
  const Pauses& pauses = screen->pauses;
  const double share =
      static_cast<double>(pauses.ns) / static_cast<double>(std::max<uint64_t>(1, screen->duration_ns));
  if (screen->duration_ns < kLongEnoughNs || share < kManyPauses) return;
  screen->findings.push_back(
      {"pauses", fmt::format("pauses: collections stop the program for {:.1f} % of the time", 100 * share)});
}

std::string PausesText(const Screen& screen) {
  const Pauses& pauses = screen.pauses;
  if (pauses.count == 0) return "no collection in the trace\n";
  if (!pauses.known) return Count(pauses.count) + ", whose pauses were not recorded\n";
  std::string text =
      fmt::format("{}, {} of pauses, {} of the time; the longest {} (GC {})",
                  Plural(pauses.count, "collection"), Duration(pauses.ns),
                  Percent(pauses.ns, screen.duration_ns), Duration(pauses.longest_ns), pauses.longest_gc);
  if (pauses.copied_bytes) text += fmt::format(";\n  {} copied", Bytes(*pauses.copied_bytes));
  if (screen.copied_share) text += fmt::format(", {:.1f} % of what was allocated", 100 * *screen.copied_share);
  return text + "\n";
}

// Without the line that says how many rows there are more: --top would show them, and summary has none.
std::string TopRows(const Report& report) {
  std::string text = TableText(report, kTopSites);
  text.resize(text.size() - LeftOut(report.rows.size(), Shown(report.rows.size(), kTopSites)).size());
  return text;
}

void PrintText(Session& session, const Screen& screen) {
  session.out << screen.program;
  if (!screen.note.empty()) session.out << screen.note << "\n";
  if (!screen.selection.empty()) session.out << "only " << Printable(screen.selection) << "\n";
  session.out << "\nWhat allocates: " << screen.allocated_line << "\n";
  if (!screen.allocates.rows.empty()) session.out << TopRows(screen.allocates);
  session.out << "\nWhat stays: " << screen.live_line << "\n" << TopRows(screen.stays);
  session.out << "\nCollections: " << PausesText(screen) << "\nFindings:\n";
  size_t number = 0;
  for (const Finding& finding : screen.findings)
    session.out << fmt::format("  {}. {}\n", ++number, finding.text);
  if (number == 0)
    session.out << "  nothing looks wrong"
                << (screen.cannot_tell.empty() ? "\n" : "; but not all was looked at:\n");
  for (const std::string& line : {screen.cannot_tell, screen.growing}) {
    if (!line.empty()) session.out << "  " << line << "\n";
  }
  session.out << "\nNext: " << Printable(screen.next) << "\n";
}

Report FindingsOf(const Screen& screen) {
  Report report;
  report.rows_key = "findings";
  report.columns = {
      {.key = "kind"}, {.key = "site"}, {.key = "application"}, {.key = "class"}, {.key = "text"}};
  for (const Finding& finding : screen.findings) {
    const LeakRow* const leak = finding.leak;
    std::string text = finding.text;
    for (size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;) text.erase(at, 5);
    const auto name = [](const std::string& cell) { return cell.empty() ? Cell(nullptr) : Cell(cell); };
    report.rows.push_back(
        {finding.kind, leak ? Cell(leak->site) : Cell(nullptr),
         leak ? name(leak->application.itself() ? leak->site : leak->application.name()) : Cell(nullptr),
         leak ? Cell(leak->class_name) : Cell(nullptr), std::move(text)});
  }
  return report;
}

void AddCollectionsJson(const Screen& screen, nlohmann::ordered_json* to) {
  nlohmann::ordered_json& gcs = *to;
  gcs["count"] = screen.pauses.count;
  if (!screen.pauses.known) return;
  gcs["pauses_ns"] = screen.pauses.ns;
  gcs["longest_ns"] = screen.pauses.longest_ns;
  gcs["longest_gc"] =
      screen.pauses.count == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(screen.pauses.longest_gc);
  if (screen.pauses.copied_bytes) gcs["copied_bytes"] = *screen.pauses.copied_bytes;
}

void PrintJson(Session& session, const Screen& screen) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["duration_ns"] = screen.duration_ns;
  if (!screen.note.empty()) json["note"] = screen.note;
  if (!screen.selection.empty()) json["selection"] = screen.selection;
  json["allocates"] = ReportJson(screen.allocates, kTopSites);
  json["stays"] = ReportJson(screen.stays, kTopSites);
  AddCollectionsJson(screen, &json["collections"]);
  json["findings"] = ReportJson(FindingsOf(screen), 0)["findings"];
  json["cannot_tell"] =
      screen.cannot_tell.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(screen.cannot_tell);
  json["growing_of_late"] =
      screen.growing.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(screen.growing);
  json["next"] = screen.next;
  session.out << JsonText(json);
}

void PrintScreen(Session& session, const Screen& screen) {
  switch (session.output) {
    case Output::kText:
      return PrintText(session, screen);
    case Output::kJson:
      return PrintJson(session, screen);
    case Output::kCsv:
      session.out << CsvText(FindingsOf(screen), 0);
      PrintNotes(session, {screen.selection.empty() ? "" : "only " + screen.selection, screen.note,
                           screen.cannot_tell, screen.growing});
  }
}

std::string ProgramLine(const PassSummary& summary) {
  return fmt::format("{}: {} of {}\n", Printable(summary.meta.java_command), Duration(summary.duration_ns),
                     Printable(summary.meta.vm_version));
}

void AddLeakFindings(Screen* screen, const Leaks& leaks) {
  screen->cannot_tell = leaks.why_unknown;
  const size_t count = leaks.count();
  if (count == 0) {
    screen->growing = RecentText(leaks);
    return;
  }
  screen->findings.push_back({"leak", LeakText(leaks.rows.front(), count - 1), &leaks.rows.front()});
}

// Of the window. With a condition on objects it is not told what was copied of them: that takes lifetimes.
void SetPauses(Screen* screen, Histories& histories, const Selection& selection) {
  uint64_t copied = 0, allocated_before = 0, allocated = 0;
  for (size_t i = 0; i < histories.gcs().size(); i++) {
    const GcRecord& gc = histories.gcs()[i];
    const uint64_t words =
        histories.allocated_at()[i] - std::exchange(allocated_before, histories.allocated_at()[i]);
    if (!histories.window().Has(static_cast<int64_t>(i))) continue;
    screen->pauses.Add(gc.id, gc.begin_ns, gc.end_ns);
    copied += gc.moved.bytes();
    allocated += words;
  }
  if (!selection.where.empty()) return;
  screen->pauses.copied_bytes = copied;
  if (histories.window().all()) allocated = histories.allocated_words();
  if (allocated != 0)
    screen->copied_share = static_cast<double>(copied) / static_cast<double>(InBytes(allocated));
}

// Of the window, after that collection.
void AddLive(TopSites* live, const Histories& histories, const HistoryPoint& last, Chooser& chosen) {
  const auto add = [&](uint32_t id, const HeapTotals& totals) {
    if (chosen.OfAnyTime({.site_class = id})) live->Add(id, Amount(totals));
  };
  if (!last.old_space || histories.window().all()) {
    for (const Level& level : last.levels) add(level.site_class, {level.objects, level.words});
    return;
  }
  for (const Cohort& cohort : histories.cohorts()) {
    if (histories.window().Has(cohort.before ? -1 : int64_t{cohort.epoch}))
      add(cohort.site_class, {cohort.objects, cohort.words});
  }
}

void SetSites(Screen* screen, Histories& histories, ApplicationSites& applications, const Selection& selection,
              uint64_t end_ns) {
  Chooser chosen(histories.definitions(), selection);
  const Definitions& definitions = histories.definitions();
  TopSites allocated(applications, MainApplicationSite::Of::kAllocated);
  TopSites live(applications, MainApplicationSite::Of::kLive);
  CountByShape& counts = histories.allocated();
  const Basis basis = BasisOf(counts);
  for (const auto& [id, amount] : counts.BySiteClass()) {
    if (chosen.OfAnyTime({.site_class = id})) allocated.Add(id, Amount(amount));
  }
  const HistoryPoint* const last = histories.last();
  if (last != nullptr) {
    AddLive(&live, histories, *last, chosen);
    screen->live_line =
        fmt::format("{} after GC {} at {}", live.all().Text(Basis::kExact), last->gc, Duration(last->time_ns));
  } else {
    const std::vector<uint64_t> by_shape = LiveByShape(histories, [](uint32_t) { return true; });
    for (uint32_t shape = 0; shape < by_shape.size(); shape++) {
      if (by_shape[shape] == 0 || !chosen.OfAnyTime({.site_class = definitions.shapes()[shape].site_class}))
        continue;
      live.Add(definitions.shapes()[shape].site_class,
               Amount(HeapTotals{by_shape[shape], by_shape[shape] * definitions.shapes().words(shape)}));
    }
    screen->live_line = fmt::format("{} {}{}", live.all().Text(Basis::kExact), AtEnd(end_ns),
                                    Caveat(histories.state(), histories.unknown_words()));
  }
  screen->allocated_line = allocated.all().Text(basis);
  screen->allocates = allocated.ToReport("sites", basis);
  screen->stays = live.ToReport("sites", Basis::kExact);
  AddNote(&screen->allocates.head, counts);
  screen->note = NoteOf(counts);
}

}  // namespace

int RunSummary(Session& session, const SummaryArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, true)) return *exit;
  Problems problems;
  Definitions definitions(problems);
  Histories histories(definitions, problems, {.window = {selection.from, selection.to}});
  const PassSummary summary = session.Run(definitions, problems, histories);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (const auto exit = CheckGcs(session, summary, selection, histories.GcIds())) return *exit;
  histories.Finish();
  if (histories.last() != nullptr) histories.FreeHeap();
  std::vector<PortionKey> keys;
  for (const auto& [id, amount] : histories.allocated().BySiteClass()) keys.push_back({.site_class = id});
  TellUnknownNames(session, definitions, keys, selection.where);
  const ApplicationFrames frames(arguments.app, arguments.library);
  Screen screen;
  screen.program = ProgramLine(summary);
  screen.selection = selection.Text();
  screen.duration_ns = summary.duration_ns;
  ApplicationSites applications(definitions, histories.stacks(), frames);
  SetSites(&screen, histories, applications, selection, summary.duration_ns);
  SetPauses(&screen, histories, selection);
  Leaks leaks = FindLeaks(Evidence(histories), applications);
  leaks.Choose(definitions, selection);
  AddLeakFindings(&screen, leaks);
  AddPausesFinding(&screen);
  const std::string kind = screen.findings.empty() ? "" : screen.findings.front().kind;
  screen.next = kind == "leak"           ? CommandLine(session, "leaks")
                : kind == "pauses"       ? CommandLine(session, "gcs")
                : screen.growing.empty() ? CommandLine(session, "sites", " --live --top 10")
                                         : CommandLine(session, "leaks", " --all");
  PrintScreen(session, screen);
  PrintNotes(session, {LeftOutNote(histories.walks_left_out())});
  return session.Finish(summary, problems);
}

int RunSampledSummary(Session& session, const SummaryArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, false)) return *exit;
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (const auto exit = CheckGcs(session, trace.summary, selection, trace.GcIds())) return *exit;
  Chooser chosen(trace.definitions, selection);
  const Marks marks(selection.marks());
  const auto selected = [&](const SampledObject& s) { return chosen(KeyOf(s, marks, false)); };
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;  // the sites of samples are whole stacks
  ApplicationSites applications(trace.definitions, none, frames);
  TopSites allocated(applications, MainApplicationSite::Of::kAllocated);
  TopSites live(applications, MainApplicationSite::Of::kLive);
  const auto pair = [](const SampledObject& sample) -> uint64_t { return sample.site_class; };
  for (const auto& [id, estimate] : trace.sampled.By(pair, selected)) {
    allocated.Add(id, Amount(estimate));
  }
  for (const auto& [id, estimate] : trace.sampled.By(
           pair, [&](const SampledObject& s) { return s.LivesAfter(std::nullopt) && selected(s); })) {
    live.Add(id, Amount(estimate));
  }
  Screen screen;
  screen.program = ProgramLine(trace.summary);
  screen.selection = selection.Text();
  screen.duration_ns = trace.summary.duration_ns;
  screen.note = EstimatesNote(trace.sampled);
  screen.allocated_line = allocated.all().Text(Basis::kSamples);
  screen.live_line = live.all().Text(Basis::kSamples) + " at the end of the trace" + trace.Caveat();
  screen.allocates = allocated.ToReport("sites", Basis::kSamples);
  screen.stays = live.ToReport("sites", Basis::kSamples);
  for (const Sampled::Gc& gc : trace.sampled.gcs()) {
    if (selection.InWindow(marks.OfSample(gc.id, gc.begin_ns)))
      screen.pauses.Add(gc.id, gc.begin_ns, gc.end_ns);
  }
  AddPausesFinding(&screen);
  screen.cannot_tell =
      "leaks: samples do not tell which collections collected the old space, so that none can be found";
  screen.next = CommandLine(session, "sites", " --callers --top 10");
  PrintScreen(session, screen);
  return session.Finish(trace.summary, trace.problems);
}

int RunCensusSummary(Session& session, const SummaryArguments& arguments) {
  if (!arguments.selection.Text().empty())
    return session.NotInCensuses("a summary of censuses is about all that is live; heap takes --where");
  const CensusTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;
  ApplicationSites applications(trace.definitions, none, frames);
  TopSites allocated(applications, MainApplicationSite::Of::kAllocated);
  TopSites live(applications, MainApplicationSite::Of::kLive);
  // One that says what is live, if there is any.
  const Censuses& censuses = trace.censuses;
  const bool live_known = !censuses.old_space_events().empty();
  Screen screen;
  screen.program = ProgramLine(trace.summary);
  screen.duration_ns = trace.summary.duration_ns;
  screen.allocates = allocated.ToReport("sites", Basis::kExact);
  screen.allocated_line = "a census does not tell";
  screen.live_line = kNoCensus;
  screen.pauses.known = false;
  if (!censuses.events().empty()) {
    const CensusEvent& shown = live_known ? censuses.old_space_events().back() : censuses.events().back();
    const HistoryPoint& point = live_known ? censuses.old_space().back() : censuses.others().back();
    for (const Level& level : point.levels)
      live.Add(level.site_class, Amount(HeapTotals{level.objects, level.words}));
    screen.live_line = fmt::format("{} {}{}", live.all().Text(Basis::kExact), AfterGc(shown), Caveat(shown));
    const CensusEvent& last = censuses.events().back();
    screen.allocated_line =
        fmt::format("{} between the first collection and GC {}; a census does not tell where",
                    Bytes(InBytes(last.allocated_words)), last.gc);
    screen.pauses.count = last.collections;
  }
  screen.stays = live.ToReport("sites", Basis::kExact);
  const Evidence evidence(trace.censuses);
  const Leaks leaks = FindLeaks(evidence, applications);
  AddLeakFindings(&screen, leaks);
  screen.next = !screen.findings.empty()  ? CommandLine(session, "leaks")
                : !screen.growing.empty() ? CommandLine(session, "leaks", " --all")
                                          : CommandLine(session, "heap", " --by site --top 10");
  PrintScreen(session, screen);
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
