// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/fault_check.h"

#include "analyzer/passes/pass.h"
#include "analyzer/passes/rebuild.h"
#include "trace/reader.h"

namespace anttracks::core {
namespace {

using analyzer::ProblemKind;

class Checker : public analyzer::Rebuild {
 public:
  using Rebuild::Rebuild;
  void End(const analyzer::EndEvent& event) override { reason = event.reason; }
  std::string reason;
};

}  // namespace

CheckedTrace CheckTrace(const std::string& path) {
  CheckedTrace checked;
  auto reader = trace::TraceReader::Open({path});
  if (!reader.ok()) {
    checked.unreadable = reader.message();
    return checked;
  }
  analyzer::Problems problems(1000);
  analyzer::Definitions definitions(problems);
  Checker checker(definitions, problems, {.check_spaces = true});
  const analyzer::PassSummary summary = analyzer::Pass<Checker>(**reader, definitions, problems, checker,
                                                                {.stop_at_damage = false, .progress = {}})
                                            .Run();
  checked.unreadable = summary.fatal.message();
  checked.losses = problems.count(ProblemKind::kLoss);
  checked.errors = problems.total() - checked.losses - problems.count(ProblemKind::kAfterLoss);
  for (const analyzer::Problem& problem : problems.kept()) {
    if (problem.kind == ProblemKind::kLoss || problem.kind == ProblemKind::kAfterLoss) continue;
    checked.first_error = problem.text;
    break;
  }
  checked.truncated_bytes = summary.truncated_bytes;
  checked.ended = summary.ended;
  checked.end_reason = checker.reason;
  checked.exact = summary.has_meta && checker.exact();
  checked.live = checked.exact ? checker.heap().totals().objects : 0;
  checked.collections = checker.gcs().size();
  checked.syncs = checker.syncs().checked + checker.syncs().taken;
  return checked;
}

}  // namespace anttracks::core
