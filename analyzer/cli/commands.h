// SPDX-License-Identifier: Apache-2.0
// The commands, one file each, and their arguments. Each prints to the session's streams and returns the exit
// code. The trace is open, unless command_table.h says that the command opens it; that table also says which
// commands work on samples and on censuses.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/choice.h"
#include "analyzer/cli/selection.h"
#include "analyzer/cli/session.h"
#include "analyzer/export/profile.h"

namespace anttracks::analyzer {

struct HeapArguments {
  std::vector<Field> group_by;  // empty: class
  std::optional<uint64_t> gc;
  bool end = false;
  bool objects = false;
  std::vector<std::string> app, library;  // of sites: see ApplicationFrames
  Selection selection;
};

struct SitesArguments {
  bool tiers = false;
  bool callers = false;
  bool live = false;
  std::optional<uint64_t> gc;             // with live: after this collection; none: at the end of the trace
  std::vector<Field> group_by;            // empty: site and class
  std::vector<std::string> app, library;  // see ApplicationFrames
  Selection selection;
};

struct TreeArguments {
  bool reverse = false;  // callees first
  bool methods = false;  // calls are told apart by methods, not by lines
  bool live = false;
  std::optional<uint64_t> gc;           // with live: after this collection; none: at the end of the trace
  std::optional<double> least_percent;  // of the bytes, that a call in the table has
  bool collapsed = false;               // a line for each path instead of a table
  std::string flame;                    // file for a flame graph instead of a table
  bool force = false;                   // replace it if it exists
  Selection selection;
};

// What an export is written as.
enum class ExportFormat { kPprof, kCollapsed, kPerfetto, kDhat, kHprof, kSqlite, kCsv };
inline constexpr Choice<ExportFormat> kExportFormats[] = {{ExportFormat::kPprof, "pprof"},
                                                          {ExportFormat::kCollapsed, "collapsed"},
                                                          {ExportFormat::kPerfetto, "perfetto"},
                                                          {ExportFormat::kDhat, "dhat"},
                                                          {ExportFormat::kHprof, "hprof"},
                                                          {ExportFormat::kSqlite, "sqlite"},
                                                          {ExportFormat::kCsv, "csv"}};

struct ExportArguments {
  ExportFormat format = ExportFormat::kPprof;
  std::string out;
  bool by_site = false;  // of a heap dump: a root for each site instead of each object
  bool force = false;    // replace it if it exists
  std::vector<ExportLabel> labels;
  std::optional<uint64_t> gc;  // what is live after this collection; none: at the end of the trace
  Selection selection;
};

// What the rows of a diff are.
enum class DiffBy { kSite, kClass, kThread };
inline constexpr Choice<DiffBy> kDiffRows[] = {
    {DiffBy::kSite, "site"}, {DiffBy::kClass, "class"}, {DiffBy::kThread, "thread"}};

struct DiffArguments {
  std::string a, b;  // traces
  DiffBy by = DiffBy::kSite;
  bool all = false;                       // also rows whose differences are noise
  std::vector<std::string> app, library;  // by site: see ApplicationFrames
  Selection selection;
};

// What the rows of a joined dump are.
enum class JoinBy { kSite, kClass, kThread };
inline constexpr Choice<JoinBy> kJoinRows[] = {
    {JoinBy::kSite, "site"}, {JoinBy::kClass, "class"}, {JoinBy::kThread, "thread"}};

struct JoinArguments {
  std::string trace, dump;
  JoinBy by = JoinBy::kSite;
  std::optional<uint64_t> gc;             // after which the dump was made; none: it is found
  bool objects = false;                   // a line for each object instead of a table
  bool path = false;                      // the path to a root instead of a table
  std::optional<uint64_t> object;         // with path: of the object at this address
  std::string export_to;                  // file for the dump with allocation stacks instead of a table
  bool force = false;                     // replace it if it exists
  std::vector<std::string> app, library;  // by site: see ApplicationFrames
  Selection selection;
};

struct AssertArguments {
  std::string trace;
  std::vector<std::string> expectations;
  std::string file;  // of more expectations, one a line
};

struct LifetimesArguments {
  std::vector<Field> group_by;            // empty: site and class
  std::vector<std::string> app, library;  // of sites: see ApplicationFrames
  bool pretenure_list = false;            // the sites to make old, for the JVM, instead of a table
  Selection selection;
};

struct LeaksArguments {
  std::vector<std::string> app, library;  // see ApplicationFrames
  std::optional<uint64_t> gc;             // as if the trace ended after this collection
  std::vector<Condition> where;
  bool all = false;      // also what is no leak, and why not
  bool history = false;  // what was live after each collection
};

struct SummaryArguments {
  std::vector<std::string> app, library;
  Selection selection;
};

struct GcsArguments {
  Selection selection;  // its window only
};

struct ObjectArguments {
  std::optional<uint64_t> address;
  std::optional<uint64_t> gc;  // where it was after this collection; none: at the end of the trace
};

struct TimelineArguments {
  size_t intervals = 20;
  Selection selection;
};

struct ReportArguments {
  std::string out;                        // file, or "-" for the standard output
  bool force = false;                     // replace it if it exists
  std::vector<std::string> app, library;  // see ApplicationFrames
};

struct ClassesArguments {
  std::string name;  // only classes with this in their name
  bool layout = false;
  Selection selection;
};

struct ThreadsArguments {
  Selection selection;
};

struct VerifyArguments {
  size_t max_errors = 20;
};

// The requests of ctl, with the names that the agent knows.
enum class CtlAction { kStop, kStart, kRotate, kSet, kCensus, kStatus, kDumpStats };
inline constexpr Choice<CtlAction> kCtlActions[] = {
    {CtlAction::kStop, "stop"},           {CtlAction::kStart, "start"},
    {CtlAction::kRotate, "rotate"},       {CtlAction::kSet, "set"},
    {CtlAction::kCensus, "census"},       {CtlAction::kStatus, "status"},
    {CtlAction::kDumpStats, "dump-stats"}};

struct AttachArguments {
  int pid = 0;
  CtlAction action = CtlAction::kStatus;  // of ctl
  std::string options;                    // of the agent
  std::string library;                    // empty: the loaded one, or the one beside this program
};

struct TopArguments {
  std::string what;     // a process or a trace
  double interval = 1;  // seconds
};

// The arguments of all commands; only those of the command that runs are set.
struct Arguments {
  HeapArguments heap;
  SitesArguments sites;
  TreeArguments tree;
  LifetimesArguments lifetimes;
  LeaksArguments leaks;
  SummaryArguments summary;
  ReportArguments report;
  GcsArguments gcs;
  TimelineArguments timeline;
  ObjectArguments object;
  ClassesArguments classes;
  ThreadsArguments threads;
  DiffArguments diff;
  JoinArguments join;
  ExportArguments exported;
  AssertArguments expected;
  VerifyArguments verify;
  AttachArguments attach;
  TopArguments top;
};

int RunInfo(Session& session);
int RunSampledInfo(Session& session);
int RunCensusInfo(Session& session);
int RunHeap(Session& session, const HeapArguments& arguments);
int RunSampledHeap(Session& session, const HeapArguments& arguments);
int RunCensusHeap(Session& session, const HeapArguments& arguments);
int RunGcs(Session& session, const GcsArguments& arguments);
int RunSampledGcs(Session& session, const GcsArguments& arguments);
int RunCensusGcs(Session& session, const GcsArguments& arguments);
int RunObject(Session& session, const ObjectArguments& arguments);
int RunTimeline(Session& session, const TimelineArguments& arguments);
int RunSites(Session& session, const SitesArguments& arguments);
int RunTree(Session& session, const TreeArguments& arguments);
int RunLifetimes(Session& session, const LifetimesArguments& arguments);
int RunSummary(Session& session, const SummaryArguments& arguments);
int RunSampledSummary(Session& session, const SummaryArguments& arguments);
int RunCensusSummary(Session& session, const SummaryArguments& arguments);
int RunLeaks(Session& session, const LeaksArguments& arguments);
int RunCensusLeaks(Session& session, const LeaksArguments& arguments);
int RunReport(Session& session, const ReportArguments& arguments);
int RunClasses(Session& session, const ClassesArguments& arguments);
int RunSampledClasses(Session& session, const ClassesArguments& arguments);
int RunThreads(Session& session, const ThreadsArguments& arguments);
int RunSampledThreads(Session& session, const ThreadsArguments& arguments);
int RunDiff(Session& session, const DiffArguments& arguments);
int RunJoin(Session& session, const JoinArguments& arguments);
int RunExport(Session& session, const ExportArguments& arguments);
int RunAssert(Session& session, const AssertArguments& arguments);
int RunQuality(Session& session);
int RunVerify(Session& session, const VerifyArguments& arguments);
int RunSampledVerify(Session& session, const VerifyArguments& arguments);
int RunCensusVerify(Session& session, const VerifyArguments& arguments);
int RunAttach(Session& session, const AttachArguments& arguments);
int RunTop(Session& session, const TopArguments& arguments);
int RunCtl(Session& session, const AttachArguments& arguments);

// Parses the arguments (without the program's name) and runs the command. program: as it was started.
int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool show_progress,
         const std::string& program = "anttracks");

}  // namespace anttracks::analyzer
