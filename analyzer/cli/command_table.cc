// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/command_table.h"

#include <algorithm>

#include "analyzer/cli/command_options.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kRows = 30;

// A command that takes no arguments of its own, or one group of them.
template <int (*kRun)(Session&)>
int Run(Session& session, const Arguments&) {
  return kRun(session);
}
template <auto kRun, auto kMember>
int RunWith(Session& session, const Arguments& arguments) {
  return kRun(session, arguments.*kMember);
}

constexpr Command kCommands[] = {
    {.name = "summary",
     .summary = "The trace on one screen: what allocates, what stays, what looks wrong, what to run next",
     .group = Group::kFirstSteps,
     .example = "summary app.trace",
     .answers = "where to look first",
     .add_options = AddSummary,
     .run = RunWith<RunSummary, &Arguments::summary>,
     .run_on_samples = RunWith<RunSampledSummary, &Arguments::summary>,
     .run_on_censuses = RunWith<RunCensusSummary, &Arguments::summary>},
    {.name = "info",
     .summary = "What the trace holds: program, time span, GCs, objects, bytes, losses",
     .group = Group::kFirstSteps,
     .example = "info app.trace",
     .answers = "what the trace holds",
     .add_options = AddOnlyTrace,
     .run = Run<RunInfo>,
     .run_on_samples = Run<RunSampledInfo>,
     .run_on_censuses = Run<RunCensusInfo>},
    {.name = "sites",
     .summary = "What each allocation site allocated over the whole trace, and what of it is live",
     .group = Group::kFirstSteps,
     .example = "sites app.trace --top 10",
     .answers = "which code allocates most",
     .rows = kRows,
     .add_options = AddSites,
     .run = RunWith<RunSites, &Arguments::sites>,
     .run_on_samples = RunWith<RunSites, &Arguments::sites>,
     .why_not_censuses = "what was allocated was not counted; 'anttracks heap --by site' shows what is live"},
    {.name = "heap",
     .summary = "The live heap after a GC",
     .group = Group::kFirstSteps,
     .example = "heap app.trace --by site",
     .answers = "where the live memory comes from",
     .rows = kRows,
     .add_options = AddHeap,
     .run = RunWith<RunHeap, &Arguments::heap>,
     .run_on_samples = RunWith<RunSampledHeap, &Arguments::heap>,
     .run_on_censuses = RunWith<RunCensusHeap, &Arguments::heap>},
    {.name = "leaks",
     .summary = "What piles up and is never freed: by site, since which GC, how fast",
     .group = Group::kFirstSteps,
     .example = "leaks app.trace",
     .answers = "which code leaks memory",
     .rows = kRows,
     .add_options = AddLeaks,
     .run = RunWith<RunLeaks, &Arguments::leaks>,
     .why_not_samples =
         "a leak is told by which collections collected the old space, which JVM TI does not tell",
     .run_on_censuses = RunWith<RunCensusLeaks, &Arguments::leaks>},
    {.name = "tree",
     .summary = "Who calls the code that allocates: the tree of calls, or a flame graph",
     .group = Group::kFirstSteps,
     .example = "tree app.trace",
     .answers = "which calls lead to it",
     .add_options = AddTree,
     .run = RunWith<RunTree, &Arguments::tree>,
     .run_on_samples = RunWith<RunTree, &Arguments::tree>,
     .why_not_censuses = "call stacks are taken where objects are allocated"},
    {.name = "report",
     .summary = "All of it as one page for a browser, to look at, keep and send; needs no network",
     .group = Group::kFirstSteps,
     .example = "report app.trace -o app.html",
     .answers = "all of it, to look at",
     .add_options = AddReport,
     .run = RunWith<RunReport, &Arguments::report>,
     .run_on_samples = RunWith<RunReport, &Arguments::report>,
     .run_on_censuses = RunWith<RunReport, &Arguments::report>},
    {.name = "gcs",
     .summary = "One line per GC: times, bytes before and after, objects moved, stayed, died; sync points",
     .group = Group::kMore,
     .example = "gcs app.trace",
     .answers = "what each collection did",
     .add_options = AddGcs,
     .run = RunWith<RunGcs, &Arguments::gcs>,
     .run_on_samples = RunWith<RunSampledGcs, &Arguments::gcs>,
     .run_on_censuses = RunWith<RunCensusGcs, &Arguments::gcs>},
    {.name = "timeline",
     .summary =
         "The program over time: what it allocates, its pauses, and what collections leave in each space",
     .group = Group::kMore,
     .example = "timeline app.trace",
     .answers = "when it allocates, and when the heap grows",
     .add_options = AddTimeline,
     .run = RunWith<RunTimeline, &Arguments::timeline>,
     .why_not_samples = "samples do not tell the spaces of the heap, and 'gcs' has pauses and what lived",
     .why_not_censuses = "allocations were not recorded; 'gcs' has the censuses"},
    {.name = "classes",
     .summary = "The classes: size, loader, superclass, what was allocated",
     .group = Group::kMore,
     .example = "classes app.trace --name HashMap --layout",
     .answers = "what the bytes of an object are",
     .rows = kRows,
     .add_options = AddClasses,
     .run = RunWith<RunClasses, &Arguments::classes>,
     .run_on_samples = RunWith<RunSampledClasses, &Arguments::classes>,
     .why_not_censuses = "what was allocated was not counted; 'anttracks heap --by class' shows what is live"},
    {.name = "lifetimes",
     .summary = "How long objects of each site live, and what copying them costs",
     .group = Group::kMore,
     .example = "lifetimes app.trace --top 10",
     .answers = "which objects the collector copies, and in vain",
     .rows = kRows,
     .add_options = AddLifetimes,
     .run = RunWith<RunLifetimes, &Arguments::lifetimes>,
     .why_not_samples = "lifetimes follow every object from its allocation to its death",
     .why_not_censuses = "lifetimes follow every object from its allocation to its death"},
    {.name = "threads",
     .summary = "What each thread allocated over the whole trace",
     .group = Group::kMore,
     .example = "threads app.trace --top 10",
     .answers = "which threads allocate most",
     .add_options = AddThreads,
     .run = RunWith<RunThreads, &Arguments::threads>,
     .run_on_samples = RunWith<RunSampledThreads, &Arguments::threads>,
     .why_not_censuses = "which thread allocated an object was not recorded"},
    {.name = "object",
     .summary = "The life of one object: where it was allocated, each move, and which GC found it dead",
     .group = Group::kMore,
     .example = "object app.trace 0xfeed0008@7",
     .answers = "what became of it",
     .add_options = AddObject,
     .run = RunWith<RunObject, &Arguments::object>,
     .why_not_samples = "an object is named by its address, which samples do not have",
     .why_not_censuses = "an object is named by its address, which a census does not have"},
    {.name = "diff",
     .summary = "What two traces differ in by more than two runs of one program do, by site, class or thread",
     .group = Group::kMore,
     .example = "diff before.trace after.trace",
     .answers = "what a change of the program allocates",
     .rows = kRows,
     .opens = Opens::kItself,
     .add_options = AddDiff,
     .run = RunWith<RunDiff, &Arguments::diff>},
    {.name = "join",
     .summary = "A heap dump of the traced JVM: who allocated each object, how old it is, and who holds it",
     .group = Group::kMore,
     .example = "join app.trace dump.hprof",
     .answers = "who allocated and who holds",
     .rows = kRows,
     .opens = Opens::kItself,
     .add_options = AddJoin,
     .run = RunWith<RunJoin, &Arguments::join>},
    {.name = "assert",
     .summary = "Check what sites and classes may allocate and keep; exit code 1 if it is more, for builds",
     .group = Group::kMore,
     .example = "assert app.trace 'live(class=com.app.Session)==0'",
     .answers = "whether it holds, as exit code",
     .rows = 8,
     .opens = Opens::kItself,
     .add_options = AddAssert,
     .run = RunWith<RunAssert, &Arguments::expected>},
    {.name = "export",
     .summary = "Write what was allocated and what is live for other tools: pprof, SQLite, Perfetto and more",
     .group = Group::kMore,
     .example = "export pprof app.trace app.pb.gz",
     .answers = "a profile for go pprof, Pyroscope, speedscope",
     .add_options = AddExport,
     .run = RunWith<RunExport, &Arguments::exported>,
     .run_on_samples = RunWith<RunExport, &Arguments::exported>,
     .run_on_censuses = RunWith<RunExport, &Arguments::exported>},
    {.name = "quality",
     .summary = "Information quality: the share of live objects with complete information, by GC and by field",
     .group = Group::kMore,
     .example = "quality app.trace",
     .answers = "how much is known of the live objects",
     .add_options = AddOnlyTrace,
     .run = Run<RunQuality>,
     .why_not_samples = "quality is about what is known of every live object",
     .why_not_censuses = "quality is about what is known of every live object"},
    {.name = "verify",
     .summary = "Rebuild the heap and check every invariant of the trace; each rotation, object by object",
     .group = Group::kTraceFiles,
     .example = "verify app.trace",
     .answers = "whether the trace is whole and right",
     .add_options = AddVerify,
     .run = RunWith<RunVerify, &Arguments::verify>,
     .run_on_samples = RunWith<RunSampledVerify, &Arguments::verify>,
     .run_on_censuses = RunWith<RunCensusVerify, &Arguments::verify>},
    {.name = "top",
     .summary = "Watch a trace that is being written: what allocates now, what is live, pauses, losses",
     .group = Group::kRunningJvm,
     .example = "top 4711",
     .answers = "what process 4711 allocates now",
     .opens = Opens::kItself,
     .add_options = AddTop,
     .run = RunWith<RunTop, &Arguments::top>},
    {.name = "attach",
     .summary = "Begin to trace a JVM that runs; what it holds already is the trace's first sync point",
     .group = Group::kRunningJvm,
     .example = "attach 4711 maxsize=8G",
     .answers = "traces process 4711 from now on",
     .opens = Opens::kItself,
     .add_options = AddAttach,
     .run = RunWith<RunAttach, &Arguments::attach>},
    {.name = "ctl",
     .summary = "Control the agent in a JVM: stop, start, rotate, set, census, status, dump-stats",
     .group = Group::kRunningJvm,
     .example = "ctl 4711 status",
     .answers = "what the agent in process 4711 does",
     .opens = Opens::kItself,
     .add_options = AddCtl,
     .run = RunWith<RunCtl, &Arguments::attach>},
};

}  // namespace

std::string_view GroupTitle(Group group) {
  switch (group) {
    case Group::kFirstSteps:
      return "First steps";
    case Group::kMore:
      return "More about the program";
    case Group::kTraceFiles:
      return "The trace's files";
    case Group::kRunningJvm:
      return "A JVM that runs";
  }
  return "";
}

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                   [&](const Command& c) { return c.name == name; });
  return found == std::end(kCommands) ? nullptr : found;
}

std::vector<std::string_view> CommandNames() {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return names;
}

}  // namespace anttracks::analyzer
