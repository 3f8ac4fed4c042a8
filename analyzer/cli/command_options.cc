// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/command_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "analyzer/cli/export_labels.h"
#include "analyzer/cli/selection_options.h"

namespace anttracks::analyzer {
namespace {

// Decimal, or with 0x hexadecimal.
bool ParseNumber(std::string_view text, uint64_t* number) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, hex ? 16 : 10);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

template <class Enum>
CLI::Option* AddChoice(CLI::App& app, const char* name, std::span<const Choice<Enum>> choices, Enum* value,
                       const std::string& description) {
  const auto parse = [name, choices, value](const std::string& word) {
    std::string why;
    const std::optional<Enum> chosen = Choose(choices, word, &why);
    if (!chosen) throw CLI::ValidationError(name, why);
    *value = *chosen;
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name("WORD");
}

// "0x7f0012345678"
std::optional<uint64_t> ParseAddress(std::string_view text) {
  uint64_t address = 0;
  if (text.substr(0, 2) != "0x") return std::nullopt;
  text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return address;
}

void AddOutput(CLI::App& app, Session& session) {
  app.add_flag_callback(
      "--json", [&session] { session.output = Output::kJson; }, "Print JSON");
}

void AddTableOutput(CLI::App& app, Session& session) {
  AddOutput(app, session);
  app.add_flag_callback(
         "--csv", [&session] { session.output = Output::kCsv; }, "Print the table as CSV")
      ->excludes("--json");
}

void AddTraceOnly(CLI::App& app, Session& session) {
  app.add_option(
         "TRACE", session.files,
         "A trace. Of a rotated one its definitions file (app.trace), or some of its data files (app.trace.3)")
      ->required();
}

void AddTrace(CLI::App& app, Session& session) {
  AddTraceOnly(app, session);
  AddTableOutput(app, session);
}

void AddTop(CLI::App& app, Session& session, const char* description) {
  app.add_option("--top", session.top, description);
}

constexpr const char* kTopText = "Rows of the table, 0 for all (default 30; with --json and --csv all)";

// Prefixes of classes: what is the application's own code.
void AddFrames(CLI::App& app, std::vector<std::string>* own, std::vector<std::string>* library) {
  app.add_option("--app", *own,
                 "Only classes that begin with PREFIX are application code; may be given several times")
      ->type_name("PREFIX")
      ->allow_extra_args(false);
  app.add_option(
         "--library", *library,
         "Classes that begin with PREFIX are library code, as those of the JDK are; may be given several "
         "times")
      ->type_name("PREFIX")
      ->allow_extra_args(false);
}

void AddLabels(CLI::App& app, std::vector<ExportLabel>* labels) {
  const auto parse = [labels](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string wrong = AddLabel(text, labels);
      if (!wrong.empty()) throw CLI::ValidationError("--label", wrong);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--label", parse, "What the process is, such as service=web; may be given several times")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddProcess(CLI::App& app, Session& session, Arguments& arguments) {
  app.add_option("PID", arguments.attach.pid, "The process")->required()->check(CLI::PositiveNumber);
  AddOutput(app, session);
  app.add_option(
      "--lib", arguments.attach.library,
      "The agent, as the process names it (default: the one that it has, or the one beside anttracks)");
}

}  // namespace

void AddOnlyTrace(CLI::App& app, Session& session, Arguments&) { AddTrace(app, session); }

void AddHeap(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  HeapArguments& heap = arguments.heap;
  auto* group_by = AddGroupBy(app, &heap.group_by, "class");
  AddBy(app, kHeapRows, "The same of one field: " + Joined(NamesOf<Field>(kHeapRows)), group_by,
        [&heap](Field field) { heap.group_by = {field}; });
  auto* gc = app.add_option("--gc", heap.gc, "Id of the GC (default: the last one)");
  app.add_flag("--end", heap.end, "At the end of the trace, with what was allocated since the last GC")
      ->excludes(gc);
  AddFrames(app, &heap.app, &heap.library);
  AddWhere(app, &heap.selection.where, Threads::kTold);
  AddGcWindow(app, &heap.selection);
  AddTop(app, session, kTopText);
  app.add_flag(
      "--objects", heap.objects,
      "Print every object by address: address, class, bytes, site, separated by tabs; or as JSON or CSV");
}

void AddSites(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  SitesArguments& sites = arguments.sites;
  AddTop(app, session, kTopText);
  app.add_flag("--tiers", sites.tiers, "A row for each of interpreter, C1, C2 and native code");
  app.add_flag("--callers", sites.callers, "A row for each chain of inlined callers, and the chain");
  auto* live = app.add_flag("--live", sites.live,
                            "Also what is live at the end of the trace; takes longer, as the heap is rebuilt");
  app.add_option("--gc", sites.gc, "With --live: what is live after the GC with this id")->needs(live);
  AddGroupBy(app, &sites.group_by, "site,class",
             {{Field::kAge, Field::kSpace}, "only live objects have an age and a space, see 'anttracks heap'"});
  AddFrames(app, &sites.app, &sites.library);
  AddSelection(app, &sites.selection);
}

void AddTree(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  TreeArguments& tree = arguments.tree;
  app.add_flag("--reverse", tree.reverse, "From the code that allocates to its callers");
  app.add_flag("--methods", tree.methods, "Calls are told apart by methods, not by lines");
  app.add_option("--min", tree.least_percent,
                 "Calls with at least so many percent of the bytes (default 1; with --json and --csv 0)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  auto* live = app.add_flag("--live", tree.live, "What is live instead of what was allocated");
  app.add_option("--gc", tree.gc, "With --live: after the GC with this id (default: at the end)")->needs(live);
  auto* collapsed = app.add_flag("--collapsed", tree.collapsed,
                                 "A line for each path of calls, with its bytes: for other tools");
  auto* flame = app.add_option("--flame", tree.flame, "Write a flame graph, as a page for a browser")
                    ->type_name("FILE.html");
  app.add_flag("-f,--force", tree.force, "Replace that page if it exists")->needs(flame);
  flame->excludes(collapsed);
  for (auto* each : {collapsed, flame}) each->excludes("--json")->excludes("--csv");
  AddSelection(app, &tree.selection);
  AddTop(app, session, "Rows of the table, 0 for all (default: all)");
}

void AddLifetimes(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  LifetimesArguments& lifetimes = arguments.lifetimes;
  auto* group_by = AddGroupBy(
      app, &lifetimes.group_by, "site,class",
      {{Field::kThread, Field::kAge, Field::kSpace},
       "lifetimes tell apart where objects are allocated; who allocates them is in 'anttracks sites', and "
       "age and space of what lives in 'anttracks heap'"});
  AddBy(app, kLifetimesRows, "class: the same as --group-by class; site: site,class", group_by,
        [&lifetimes](Field field) {
          if (field == Field::kClass) lifetimes.group_by = {field};
        });
  AddFrames(app, &lifetimes.app, &lifetimes.library);
  AddWhere(app, &lifetimes.selection.where, Threads::kNotTold);
  AddGcWindow(app, &lifetimes.selection);
  AddTop(app, session, kTopText);
  auto* list =
      app.add_flag("--pretenure-list", lifetimes.pretenure_list,
                   "The sites whose objects are promoted anyway, as a file for -XX:AntTracksPretenure");
  for (const char* const other : {"--json", "--csv", "--group-by", "--by", "--where", "--top"})
    list->excludes(other);
}

void AddSummary(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  AddFrames(app, &arguments.summary.app, &arguments.summary.library);
  AddWhere(app, &arguments.summary.selection.where, Threads::kNotTold);
  AddGcWindow(app, &arguments.summary.selection);
}

void AddGcs(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  AddWindow(app, &arguments.gcs.selection,
            "Only collections after this one (7), or that begin after a time (12.5s)",
            "Only collections up to this one, or that begin before a time");
  AddTop(app, session, "Rows of the table, 0 for all (default: all)");
}

void AddObject(CLI::App& app, Session& session, Arguments& arguments) {
  const auto parse = [&arguments](const std::string& text) {
    const size_t at = std::min(text.find('@'), text.size());
    uint64_t address = 0, gc = 0;
    const bool parsed = ParseNumber(std::string_view(text).substr(0, at), &address) &&
                        (at == text.size() || ParseNumber(std::string_view(text).substr(at + 1), &gc));
    if (!parsed || address % trace::kWordBytes != 0) {
      throw CLI::ValidationError("OBJECT",
                                 "'" + text +
                                     "' is no address of an object, such as 0xfeed0008@7 (after GC 7) or "
                                     "0xfeed0008 (at the end)");
    }
    arguments.object.address = address;
    if (at != text.size()) arguments.object.gc = gc;
  };
  const auto trace = [&session](const std::string& file) { session.files = {file}; };
  app.add_option_function<std::string>("TRACE", trace, "A trace; of a rotated one its definitions file")
      ->required();
  AddTableOutput(app, session);
  app.add_option_function<std::string>(
         "OBJECT", parse, "Its address after a GC: 0xfeed0008@7, or without @7 at the end of the trace")
      ->type_name("ADDRESS[@GC]");
}

void AddTimeline(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  app.add_option("--intervals", arguments.timeline.intervals, "Rows of the table, 1 to 1000 (default 20)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  AddWhere(app, &arguments.timeline.selection.where, Threads::kNotTold);
  AddWindow(app, &arguments.timeline.selection, "Only the time after this GC (7), or from a time on (12.5s)",
            "Only the time up to this GC, or time");
}

void AddLeaks(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  LeaksArguments& leaks = arguments.leaks;
  AddTop(app, session, kTopText);
  AddFrames(app, &leaks.app, &leaks.library);
  AddWhere(app, &leaks.where, Threads::kNotTold);
  app.add_option("--gc", leaks.gc, "As if the trace ended after the GC with this id");
  app.add_flag("--all", leaks.all, "Also sites that are no leak, each with the reason why not");
  app.add_flag("--history", leaks.history, "What was live of each site after each GC instead");
}

void AddReport(CLI::App& app, Session& session, Arguments& arguments) {
  AddTraceOnly(app, session);
  ReportArguments& report = arguments.report;
  app.add_option("-o,--out", report.out, "The page to write; -: print it")->type_name("FILE.html")->required();
  app.add_flag("-f,--force", report.force, "Replace that page if it exists");
  AddFrames(app, &report.app, &report.library);
}

void AddClasses(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  app.add_option("--name", arguments.classes.name, "Only classes with this text in their name");
  app.add_flag("--layout", arguments.classes.layout,
               "The fields of each class, inherited ones too, and padding");
  AddSelection(app, &arguments.classes.selection);
  AddTop(app, session, "Classes to show, 0 for all (default 30; with --json and --csv all)");
}

void AddDiff(CLI::App& app, Session& session, Arguments& arguments) {
  DiffArguments& diff = arguments.diff;
  app.add_option("A", diff.a, "A trace")->required();
  app.add_option("B", diff.b, "Another one, of the same program or of a changed one")->required();
  AddTableOutput(app, session);
  AddChoice<DiffBy>(app, "--by", kDiffRows, &diff.by,
                    "Rows of the table: " + Joined(NamesOf<DiffBy>(kDiffRows)) + " (default site)");
  app.add_flag("--all", diff.all,
               "All rows, also those that differ by no more than two runs of one program do");
  AddFrames(app, &diff.app, &diff.library);
  AddSelection(app, &diff.selection);
  AddTop(app, session, kTopText);
}

void AddJoin(CLI::App& app, Session& session, Arguments& arguments) {
  JoinArguments& join = arguments.join;
  app.add_option("TRACE", join.trace, "A trace of every object; of a rotated one its definitions file")
      ->required();
  app.add_option("DUMP", join.dump, "A heap dump (hprof) that the JVM made while it was traced")->required();
  AddTableOutput(app, session);
  AddChoice<JoinBy>(app, "--by", kJoinRows, &join.by,
                    "Rows of the table: " + Joined(NamesOf<JoinBy>(kJoinRows)) + " (default site)");
  app.add_option("--gc", join.gc, "The dump was made after the GC with this id (default: it is found)");
  auto* path = app.add_flag("--path", join.path,
                            "The shortest path from a root to the object that retains most instead");
  const auto address = [&join](const std::string& text) {
    join.object = ParseAddress(text);
    if (!join.object) throw CLI::ValidationError("--object", text + " is no address such as 0x7f0012345678");
    join.path = true;
  };
  auto* object =
      app.add_option_function<std::string>("--object", address, "The path to the object at this address")
          ->type_name("ADDRESS");
  auto* objects = app.add_flag("--objects", join.objects, "A line for each object instead, by address");
  auto* to = app.add_option("--export", join.export_to, "Write the dump with the objects' allocation stacks")
                 ->type_name("OUT.hprof");
  app.add_flag("-f,--force", join.force, "Replace that file if it is a heap dump")->needs(to);
  path->excludes(objects)->excludes(to);
  objects->excludes(to);
  object->excludes(objects)->excludes(to);
  AddFrames(app, &join.app, &join.library);
  AddWhere(app, &join.selection.where, Threads::kTold);
  AddTop(app, session, kTopText);
}

void AddAssert(CLI::App& app, Session& session, Arguments& arguments) {
  app.add_option("TRACE", arguments.expected.trace, "A trace; of a rotated one its definitions file")
      ->required();
  app.add_option(
      "EXPECTED", arguments.expected.expectations,
      "objects, bytes, live or live_bytes of what has FIELD=PATTERN, a comparison, and from when on: "
      "'bytes(site=com.app.Parser.parse) <= 10MB after 3 gcs'");
  AddTableOutput(app, session);
  app.add_option("--file", arguments.expected.file, "A file with one expectation per line; # begins a comment");
  AddTop(app, session, "Rows of the table, 0 for all (default 8, those that fail first)");
}

void AddExport(CLI::App& app, Session& session, Arguments& arguments) {
  ExportArguments& exported = arguments.exported;
  AddChoice<ExportFormat>(app, "FORMAT", kExportFormats, &exported.format,
                          Joined(NamesOf<ExportFormat>(kExportFormats)) + " (docs/exports.md)")
      ->required();
  app.add_option_function<std::string>(
         "TRACE", [&session](const std::string& file) { session.files = {file}; },
         "A trace; of a rotated one its definitions file")
      ->required();
  app.add_option("OUT", exported.out, "The file to write")->required();
  app.add_flag("-f,--force", exported.force, "Replace OUT if it exists");
  AddLabels(app, &exported.labels);
  app.add_option("--gc", exported.gc, "What is live after the GC with this id (default: at the end)");
  app.add_flag(
      "--by-site", exported.by_site,
      "With hprof: a root for each site, which holds what was allocated there, instead of each object");
  AddSelection(app, &exported.selection);
}

void AddThreads(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  AddSelection(app, &arguments.threads.selection);
  AddTop(app, session, "Rows of the table, 0 for all (default: all)");
}

void AddVerify(CLI::App& app, Session& session, Arguments& arguments) {
  AddTrace(app, session);
  app.add_option("--max-errors", arguments.verify.max_errors, "Errors to print; all are counted (default 20)");
}

void AddAttach(CLI::App& app, Session& session, Arguments& arguments) {
  AddProcess(app, session, arguments);
  app.add_option("OPTIONS", arguments.attach.options,
                 "Options of the agent, such as maxsize=8G,dev=0.1 (docs/agent.md). file= is relative to this "
                 "folder, by default "
                 "anttracks-PID.trace in it");
}

void AddCtl(CLI::App& app, Session& session, Arguments& arguments) {
  AddProcess(app, session, arguments);
  AddChoice<CtlAction>(
      app, "ACTION", kCtlActions, &arguments.attach.action,
      "stop: end the trace; start: begin another one; rotate: begin the next data file; "
      "set: change the budget (budget=3%), the interval of samples (interval=64K), or of censuses (every=1m); "
      "census: make one now; status; dump-stats: the counters as JSON")
      ->required();
  app.add_option("OPTIONS", arguments.attach.options,
                 "For start (default: those of the trace before, with the next free name), or what to set");
}

void AddTop(CLI::App& app, Session&, Arguments& arguments) {
  TopArguments& top = arguments.top;
  app.add_option("PID", top.what, "A process that writes a trace, or a trace that is written")->required();
  app.add_option("--interval", top.interval, "Seconds between two looks (default 1)")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
}

}  // namespace anttracks::analyzer
