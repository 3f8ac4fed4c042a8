// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/export_hprof.h"

#include <fmt/format.h>

#include <ostream>
#include <string>

#include "analyzer/cli/moment.h"
#include "analyzer/hprof/write_heap.h"
#include "analyzer/passes/heap_at.h"

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;  // ns

int Refused(Session& session, const std::string& why) {
  session.err << "anttracks: " << why << "\n";
  return kExitUsage;
}

}  // namespace

int ExportHprof(Session& session, const ExportArguments& arguments) {
  if (session.sampled) return session.NotInSamples("a heap dump has every object");
  if (!arguments.selection.all())
    return Refused(session, "hprof has the whole heap: --where, --from and --to choose nothing of it");
  if (!arguments.labels.empty()) return Refused(session, "hprof has no place for labels");
  using Kind = HeapAt::Moment::Kind;
  Problems problems;
  Definitions definitions(problems);
  HeapAt heap(definitions, problems, {arguments.gc ? Kind::kGc : Kind::kEnd, arguments.gc.value_or(0)});
  const PassSummary summary = session.Run(definitions, problems, heap);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (arguments.gc && !heap.found()) return session.NoSuchGc(*arguments.gc, heap.GcIds(), summary);
  if (!summary.has_meta) return session.Finish(summary, problems);
  const uint64_t time = heap.at_end() ? summary.duration_ns : heap.gcs().back().end_ns;
  const auto written =
      hprof::WriteHprof(arguments.out, arguments.force,
                        {.definitions = definitions,
                         .for_each = [&](const auto& visit) { heap.ForEach(visit); },
                         .heap_end = InBytes(heap.heap().end()),
                         .milliseconds = (session.reader->files()[0].wall_clock_ns + time) / kMillisecond},
                        arguments.by_site ? hprof::Held::kSites : hprof::Held::kRoots);
  if (!written.ok()) return Refused(session, written.message());
  const std::string caveat = Caveat(heap.state(), heap.words_not_known());
  const std::string moment = heap.at_end() ? AtEnd(time) : AfterGc(heap.gcs().back());
  if (!caveat.empty()) session.err << "note: heap " << moment << caveat << "\n";
  session.out << fmt::format("wrote {}: heap {}: {}, {}\n", arguments.out, moment,
                             Plural(written->objects, "object"), Bytes(written->bytes));
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
