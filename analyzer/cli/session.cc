// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "analyzer/cli/text.h"
#include "trace/read_ahead.h"

namespace anttracks::analyzer {

namespace {

// Reads as far as the first META.
class FindMeta : public SinkBase {
 public:
  void Configure(uint64_t, uint64_t) override { found_ = true; }
  bool done() const override { return found_; }

 private:
  bool found_ = false;
};

PassSummary ReadFirstMeta(trace::ChunkSource& reader) {
  Problems problems;
  Definitions definitions(problems);
  FindMeta sink;
  Pass<FindMeta> pass(reader, definitions, problems, sink);
  return pass.Run();
}

// What was lost is missing for good; what lives is known again later.
std::string LossNote(uint64_t losses) {
  return fmt::format(
      "the agent lost events {}; totals of what was allocated are without them, and what is live is not exact "
      "until the next sync point",
      Plural(losses, "time"));
}

}  // namespace

std::string ProblemText(const Session& session, const Problem& problem) {
  const Position& at = problem.position;
  return fmt::format("{}: chunk at {}, byte {}: {}: {}", Printable(session.reader->files()[at.file].path),
                     at.chunk, at.payload, ProblemName(problem.kind), Printable(problem.text));
}

std::string TruncationNote(uint64_t bytes) {
  return fmt::format("trace ends in the middle of a chunk (process killed?), {} ignored",
                     Plural(bytes, "byte"));
}

uint64_t Contradictions(const Problems& problems) {
  return problems.total() - problems.count(ProblemKind::kLoss) - problems.count(ProblemKind::kAfterLoss);
}

std::string LaterFilesNote(const std::string& files) {
  return "the trace went on in " + files + ", which this is without";
}

std::vector<std::string> Gaps(const PassSummary& summary, const Problems& problems) {
  std::vector<std::string> gaps;
  if (!summary.later_files.empty()) gaps.push_back(LaterFilesNote(summary.later_files));
  if (const uint64_t losses = problems.count(ProblemKind::kLoss); losses != 0) gaps.push_back(LossNote(losses));
  if (summary.definitions_damaged) {
    gaps.push_back("the trace is damaged, classes, sites or threads may be missing: " +
                   Printable(summary.damage));
  } else if (summary.damaged) {
    gaps.push_back("the trace is damaged, what precedes the damage is covered: " + Printable(summary.damage));
  } else if (const uint64_t others = Contradictions(problems); others != 0) {
    gaps.push_back(
        fmt::format("the trace contradicts itself in {}, numbers may be wrong", Plural(others, "place")));
  }
  return gaps;
}

std::string LeftOutNote(uint64_t walks) {
  if (walks == 0) return "";
  return fmt::format("after {} the heap was not counted: it is large beside what happened between them",
                     Plural(walks, "collection"));
}

std::string EndText(const PassSummary& summary, const std::string& reason) {
  if (summary.ended) return fmt::format("cleanly ({})", reason);
  if (summary.damaged) return "damaged: " + summary.damage;
  if (summary.truncated_bytes != 0) return TruncationNote(summary.truncated_bytes);
  if (!summary.later_files.empty()) return "not known: " + LaterFilesNote(summary.later_files);
  return "without an end record (process killed, or still running?)";
}

bool Session::Open() {
  if (reader) return true;
  auto opened = trace::TraceReader::Open(files);
  if (!opened.ok()) {
    err << "anttracks: " << Printable(opened.message()) << "\n";
    return false;
  }
  for (const std::string& warning : (*opened)->warnings()) err << "warning: " << Printable(warning) << "\n";
  const PassSummary summary = ReadFirstMeta(**opened);
  const Meta& meta = summary.meta;  // as if it were empty, if there is none
  has_meta = summary.has_meta;
  if (meta.sampled) sampled = SampledMeta{meta.interval, meta.depth};
  census = meta.census;
  if (read_ahead) {
    reader = std::make_unique<trace::ReadAhead>(std::move(*opened));
  } else {
    reader = std::move(*opened);
  }
  return true;
}

uint64_t Session::first_file() const {
  const auto& files = reader->files();
  const auto first =
      std::find_if(files.begin(), files.end(), [](const trace::FileInfo& file) { return file.is_data(); });
  return first == files.end() ? 0 : first->index;
}

std::string Session::WithoutFirstFiles() const {
  const uint64_t missing = first_file();
  if (missing == 0) return "";
  if (missing == 1) return "without the first data file, which is not there";
  return fmt::format("without the first {} data files, which are not there", missing);
}

bool Session::names_data_files() const {
  const trace::FileInfo& first = reader->files()[0];
  return first.is_definitions() && (files.size() != 1 || files[0] != first.path);
}

int Session::NotInSamples(std::string_view what) {
  err << "anttracks: " << what << "; this trace holds samples (mode=sample), not every object\n";
  return kExitUsage;
}

int Session::NotInCensuses(std::string_view what) {
  err << "anttracks: this trace holds censuses (mode=census), not every object: " << what << "\n";
  return kExitUsage;
}

int Session::NoCensus() {
  err << "anttracks: " << kNoCensus << "\n";
  return kExitErrors;
}

int Session::Unreadable(const trace::Status& status) {
  err << "anttracks: " << Printable(status.message()) << "\n";
  return kExitUnreadable;
}

int Session::NoSuchGc(uint64_t id, const std::vector<uint64_t>& ids, const PassSummary& summary) {
  if (summary.damaged) {
    err << fmt::format("anttracks: collection {} is not in what precedes the damage of the trace: {}\n", id,
                       Printable(summary.damage));
    return kExitDamaged;
  }
  if (census) {
    err << fmt::format("anttracks: no census follows collection {}; {}\n", id,
                       ids.empty()
                           ? "the trace has none, leave out --gc"
                           : fmt::format("the first follows {}, the last {}; 'anttracks gcs' lists them",
                                         ids.front(), ids.back()));
  } else {
    err << fmt::format("anttracks: there is no collection {} in the trace; {}\n", id,
                       ids.empty() ? "it has none, leave out --gc"
                                   : fmt::format("its collections are {} to {}", ids.front(), ids.back()));
  }
  return kExitUsage;
}

int Session::Finish(const PassSummary& summary, const Problems& problems) {
  if (summary.truncated_bytes != 0) err << "note: " << TruncationNote(summary.truncated_bytes) << "\n";
  if (!summary.later_files.empty()) err << "note: " << LaterFilesNote(summary.later_files) << "\n";
  const uint64_t losses = problems.count(ProblemKind::kLoss);
  if (losses != 0) err << "note: " << LossNote(losses) << "\n";
  if (summary.definitions_damaged) {
    err << "warning: the trace is damaged: " << Printable(summary.damage) << "\n"
        << "         classes, sites or threads may be missing; see 'anttracks verify'\n";
    return kExitDamaged;
  }
  if (summary.damaged) {
    err << "warning: the trace is damaged: " << Printable(summary.damage) << "\n"
        << "         results cover what precedes the damage; 'anttracks verify' goes on after it\n";
    return kExitDamaged;
  }
  const uint64_t others = Contradictions(problems);
  if (others != 0) {
    err << "warning: the trace contradicts itself in " << Plural(others, "place")
        << ", results may be wrong; see 'anttracks verify'\n"
        << "         first: " << ProblemText(*this, *problems.first()) << "\n";
    return kExitDamaged;
  }
  return kExitFine;
}

}  // namespace anttracks::analyzer
