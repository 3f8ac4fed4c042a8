// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/printable_stream.h"
#include "analyzer/cli/sampled.h"

namespace anttracks::analyzer {
namespace {

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0  fine; a trace that ends in the middle of a chunk (killed process) is fine too\n"
    "  1  verify found errors\n"
    "  2  wrong usage\n"
    "  3  a file cannot be read or is not a trace\n"
    "  4  damaged trace; the results cover what precedes the damage\n"
    "  attach and ctl:\n"
    "  5  no such process                     6  it is no HotSpot JVM\n"
    "  7  it belongs to another user          8  it is in another namespace (a container), out of reach\n"
    "  9  it forbids to attach               10  mode=full, but it is not the patched JDK\n"
    " 11  it does not answer                 12  the agent refused: options, files, or traced already\n"
    " 13  no agent: none in the process (ctl), or none to load (attach)\n"
    "\n"
    "First steps:\n"
    "  anttracks info app.trace               what the trace holds\n"
    "  anttracks sites app.trace --top 10     which code allocates most\n"
    "  anttracks heap app.trace --by site     where the memory of the last GC comes from\n"
    "  anttracks classes app.trace --name HashMap --layout   what an object's bytes are\n"
    "  anttracks attach 4711 maxsize=8G       begins to trace a program that runs\n";

struct Arguments {
  HeapArguments heap;
  SitesArguments sites;
  ClassesArguments classes;
  FoldArguments fold;
  AttachArguments attach;
  uint64_t gc = 0;
  size_t max_errors = 20;
  size_t top = 0;
};

CLI::App* AddCommand(CLI::App& app, Session& session, const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("TRACE", session.files, "A trace; of a rotated one its definitions file (app.trace), or some of its data files (app.trace.3)")->required();
  command->add_flag("--json", session.json, "Print JSON");
  return command;
}

void AddAttachCommands(CLI::App& app, Session& session, AttachArguments& arguments) {
  CLI::App* attach = app.add_subcommand("attach", "Begin to trace a JVM that runs; what it holds already is the trace's first sync point");
  CLI::App* ctl = app.add_subcommand("ctl", "Control the agent in a JVM: stop, start, rotate, set, status, dump-stats");
  for (CLI::App* command : {attach, ctl}) {
    command->add_option("PID", arguments.pid, "The process")->required()->check(CLI::PositiveNumber);
    command->add_flag("--json", session.json, "Print JSON");
    command->add_option("--lib", arguments.library,
                        "The agent, as the process names it (default: the one that it has, or the one beside anttracks)");
  }
  attach->add_option("OPTIONS", arguments.options,
                     "Options of the agent, such as maxsize=8G,dev=0.1 (docs/agent.md); file= is relative to this folder, by default "
                     "anttracks-PID.trace in it");
  ctl->add_option("ACTION", arguments.action,
                  "stop: end the trace, nothing of it stays; start: begin another one; rotate: begin the next data file; "
                  "set: change the budget, budget=3%, or of samples the interval, interval=64K; status; "
                  "dump-stats: the counters, JSON")
      ->required()
      ->check(CLI::IsMember({"stop", "start", "rotate", "set", "status", "dump-stats"}));
  ctl->add_option("OPTIONS", arguments.options, "Of start (default: those of the trace before, with the next free name), or what to set");
}

void AddCommands(CLI::App& app, Session& session, Arguments& arguments) {
  AddCommand(app, session, "info", "What the trace holds: program, time span, GCs, objects, bytes, losses");

  CLI::App* heap = AddCommand(app, session, "heap", "The live heap after a GC");
  heap->add_option("--by", arguments.heap.by, "Rows of the table (default class)")
      ->check(CLI::IsMember({"class", "site", "thread", "space", "age"}));
  auto* gc = heap->add_option("--gc", arguments.gc, "Id of the GC (default: the last one)");
  heap->add_flag("--end", arguments.heap.end, "At the end of the trace, with what was allocated since the last GC")
      ->excludes(gc);
  heap->add_option("--top", arguments.top, "Rows of the table, 0 for all (default 30; with --json all)");
  heap->add_flag("--objects", arguments.heap.objects,
                 "Print every object by address: address, class, bytes, site, separated by tabs");

  AddCommand(app, session, "gcs", "One line a GC: times, bytes before and after, objects moved, stayed, died; sync points");

  CLI::App* sites = AddCommand(app, session, "sites", "What each allocation site allocated over the whole trace");
  sites->add_option("--top", arguments.top, "Rows of the table, 0 for all (default 30; with --json all)");
  sites->add_flag("--tiers", arguments.sites.tiers, "A row for each of interpreter, C1, C2 and native code");
  sites->add_flag("--callers", arguments.sites.callers, "A row for each chain of inlined callers, and the chain");

  auto* live = sites->add_flag("--live", arguments.sites.live,
                               "Also what is live at the end of the trace; takes longer, the heap is rebuilt");
  sites->add_option("--gc", arguments.gc, "With --live: what is live after the GC of this id")->needs(live);

  CLI::App* classes =
      AddCommand(app, session, "classes", "The classes: size, loader, superclass, what was allocated");
  classes->add_option("--name", arguments.classes.name, "Only classes with this text in their name");
  classes->add_flag("--layout", arguments.classes.layout,
                    "The fields of each class, inherited ones too, and padding");
  classes->add_option("--top", arguments.top, "Classes to show, 0 for all (default 30; with --json all)");

  CLI::App* threads = AddCommand(app, session, "threads", "What each thread allocated over the whole trace");
  threads->add_option("--top", arguments.top, "Rows of the table, 0 for all (default: all)");

  AddCommand(app, session, "quality",
             "Information quality: the share of live objects with complete information, by GC and by field");

  CLI::App* fold = app.add_subcommand(
      "fold", "Before a data file is deleted: write what it knows about live objects beside its successor (keep=yes does it)");
  fold->add_option("FILE", session.files, "A data file of a rotated trace (app.trace.3)")->required()->expected(1);
  fold->add_option("--max-bytes", arguments.fold.max_bytes, "Write nothing if it would be more");
  fold->add_flag("-f,--force", arguments.fold.force, "Replace the file of origins if it exists");

  // For the agent: main has done what it asks for.
  fold->add_option("--as-child", arguments.fold.memory_bytes)->group("");

  AddAttachCommands(app, session, arguments.attach);

  CLI::App* verify = AddCommand(app, session, "verify", "Rebuild the heap and check every invariant of the trace; each rotation, object by object");
  verify->add_option("--max-errors", arguments.max_errors, "Errors to print; all are counted (default 20)");
}

int RunOnSamples(Session& session, const std::string& name, const Arguments& arguments) {
  if (name == "gcs") return RunSampledGcs(session);
  if (name == "classes") return RunSampledClasses(session, arguments.classes);
  if (name == "threads") return RunSampledThreads(session);
  if (name == "heap") return RunSampledHeap(session, arguments.heap);
  if (name == "sites") return RunSampledSites(session, arguments.sites);
  return session.NotInSamples("quality is about what is known of every live object");
}

int Run(CLI::App& app, Session& session, Arguments& arguments) {
  CLI::App* command = app.get_subcommands().front();
  const std::string name = command->get_name();
  const bool top_given = command->get_option_no_throw("--top") != nullptr && command->count("--top") != 0;
  session.top = top_given ? arguments.top : session.json || name == "threads" ? 0 : 30;
  if (command->get_option_no_throw("--gc") != nullptr && command->count("--gc") != 0) {
    arguments.heap.gc = arguments.sites.gc = arguments.gc;
  }
  if (name == "attach") return RunAttach(session, arguments.attach);
  if (name == "ctl") return RunCtl(session, arguments.attach);
  if (name == "fold") return RunFold(session, arguments.fold);
  if (!session.Open()) return kExitUnreadable;
  if (name == "info") return RunInfo(session);
  if (name == "verify") return RunVerify(session, arguments.max_errors);
  if (session.sampled) return RunOnSamples(session, name, arguments);
  if (name == "gcs") return RunGcs(session);
  if (name == "classes") return RunClasses(session, arguments.classes);
  if (name == "threads") return RunThreads(session);
  if (name == "quality") return RunQuality(session);
  if (name == "sites") return RunSites(session, arguments.sites);
  return RunHeap(session, arguments.heap);
}

}  // namespace

int Main(const std::vector<std::string>& arguments, std::ostream& raw_out, std::ostream& raw_err, bool show_progress) {
  PrintableStream out(raw_out), err(raw_err);
  CLI::App app("anttracks: rebuilds the heap of a Java program from its trace and shows where the memory comes from",
               "anttracks");
  app.set_version_flag("--version", "anttracks " ANTTRACKS_VERSION ", trace format 1.0");
  app.require_subcommand(1);
  app.footer(kFooter);
  Session session{out, err, show_progress, {}, false, 0, nullptr};
  Arguments values;
  try {
    AddCommands(app, session, values);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
    return Run(app, session, values);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);
    app.exit(error, out, err);
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    err << "anttracks: not enough memory\n";
    return kExitUnreadable;
  } catch (const std::exception& error) {
    err << "anttracks: internal error: " << error.what() << "\n";
    return kExitUnreadable;
  }
}

}  // namespace anttracks::analyzer
