// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/call_tree_of.h"
#include "analyzer/cli/callers.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/flame_graph.h"
#include "analyzer/cli/text.h"
#include "analyzer/export/collapsed.h"

namespace anttracks::analyzer {
namespace {

constexpr double kLeastInText = 1;  // percent

// The rows of the table: nodes with the least share, each after its caller. A node that is all that its caller
// has is not indented more than it, so that long chains of calls stay readable.
class Rows {
 public:
  Rows(const CallTree& tree, bool classes_last, double least_percent, Report* report)
      : tree_(tree),
        classes_last_(classes_last),
        least_(static_cast<double>(tree[CallTree::kRoot].totals.bytes) * least_percent / 100),
        report_(report) {}

  // Returns how many nodes are hidden.
  size_t Add() {
    struct Open {
      uint32_t node;
      uint64_t depth, indent;
    };
    std::vector<Open> open;
    const auto add_children = [&](uint32_t node, uint64_t depth, uint64_t indent) {
      const std::vector<uint32_t>& children = tree_[node].children;
      const auto shown = std::count_if(children.begin(), children.end(), [&](uint32_t c) { return Shown(c); });
      for (size_t i = children.size(); i-- > 0;) {
        if (Shown(children[i])) open.push_back({children[i], depth + 1, indent + (shown > 1)});
      }
      return static_cast<size_t>(shown);
    };
    size_t rows = add_children(CallTree::kRoot, 0, 0);
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      AddRow(next.node, next.depth, next.indent);
      rows += add_children(next.node, next.depth, next.indent);
    }
    return tree_.size() - 1 - rows;
  }

 private:
  bool Shown(uint32_t node) const { return static_cast<double>(tree_[node].totals.bytes) >= least_; }
  void AddRow(uint32_t node, uint64_t depth, uint64_t indent) {
    const CallTree::Node& at = tree_[node];
    const double all = static_cast<double>(tree_[CallTree::kRoot].totals.bytes);
    // The class at the end of a path has no stacks of its own.
    const Cell stacks = classes_last_ && at.children.empty() ? Cell(std::monostate()) : Cell(at.stacks);
    const std::string name(tree_.name(node));
    report_->rows.push_back({depth, at.totals.bytes, all == 0 ? 0 : static_cast<double>(at.totals.bytes) / all,
                             at.totals.objects, stacks, Cell(name, std::string(2 * indent, ' ') + name)});
  }

  const CallTree& tree_;
  const bool classes_last_;
  const double least_;
  Report* report_;
};

std::vector<Column> ColumnsFor(Basis basis) {
  const Accuracy accuracy = basis == Basis::kExact ? Accuracy::kExact : Accuracy::kEstimate;
  std::vector<Column> columns{
      {.key = "depth", .unit = Unit::kCount, .where = Where::kInData},
      {.key = "bytes", .title = "Bytes", .unit = Unit::kRoundedBytes, .accuracy = accuracy},
      {.key = "share", .title = "%", .unit = Unit::kShare},
      {.key = "objects", .title = "Objects", .unit = Unit::kCount, .accuracy = accuracy},
      {.key = "stacks", .title = "Stacks", .unit = Unit::kCount},
      {.key = "call", .title = "Call"}};
  return columns;
}

std::string Note(const Content& content, uint64_t stacks) {
  if (content.live == Basis::kSamples) return content.note;
  if (content.stacks.counts.empty())
    return "no call stacks are in the trace (stacks=0?): callers are known as far as they were inlined";
  if (stacks == 0)
    return "no stack was sampled of what was chosen: callers are known as far as they were inlined";
  return "how the bytes of a site split among its callers is estimated from " +
         StacksText(content.stacks, stacks);
}

Report ReportOf(const Content& content, const TreeArguments& arguments, const CallTree& tree, double least) {
  const Basis basis = arguments.live ? content.live : content.allocated;
  const CallTree::Node& root = tree[CallTree::kRoot];
  Report report;
  report.rows_key = "calls";
  report.head = content.head;
  report.head["order"] = arguments.reverse ? "callees first" : "callers first";
  report.head["live"] = arguments.live;
  report.head["bytes"] = root.totals.bytes;
  report.head["objects"] = root.totals.objects;
  report.head["stacks"] = root.stacks;
  for (const std::string& note :
       {content.live == Basis::kSamples ? "" : content.note, Note(content, root.stacks)}) {
    if (note.empty()) continue;
    report.notes.push_back(note);
    report.heading += note + "\n";
  }
  if (tree.full()) {
    report.notes.push_back(
        "there are too many different calls: those that came last are counted with their callers");
    report.heading += report.notes.back() + "\n";
  }
  ShowSelection(arguments.selection, &report);
  const std::string about = basis == Basis::kExact ? "" : "~";
  report.heading += fmt::format("{}: {}{}, {}{}{}\n\n", arguments.live ? "live " + content.moment : "allocated",
                                about, Plural(root.totals.objects, "object"), about, Bytes(root.totals.bytes),
                                arguments.live ? content.caveat : "");
  report.columns = ColumnsFor(basis);
  const size_t hidden = Rows(tree, !arguments.reverse, least, &report).Add();
  if (hidden != 0)
    report.footing = fmt::format("\n{} below {} % and not shown: give --min, such as --min 0.1\n",
                                 hidden == 1 ? "1 call is" : Count(hidden) + " calls are", least);
  return report;
}

}  // namespace

int RunTree(Session& session, const TreeArguments& arguments) {
  int exit = kExitFine;
  const auto content = ReadSelected(session, {arguments.selection, false, arguments.live, arguments.gc}, &exit);
  if (!content) return exit;
  const std::unique_ptr<CallTree> tree = CallTreeOf(*content, arguments);
  const double least = arguments.least_percent.value_or(session.output == Output::kText ? kLeastInText : 0);
  const Report report = ReportOf(*content, arguments, *tree, least);
  if (arguments.collapsed) {
    session.out << CollapsedText(*tree);
    PrintNotes(session, report.notes);
  } else if (!arguments.flame.empty()) {
    const trace::Status status =
        WriteFlameGraph(*tree, report.heading, arguments.flame, arguments.force ? Replace::kYes : Replace::kNo);
    if (!status.ok()) {
      session.err << "anttracks: " << status.message() << "\n";
      return kExitUsage;
    }
    session.out << "wrote " << arguments.flame << ": open it in a browser\n";
  } else {
    Print(session, report);
  }
  return session.Finish(content->summary, content->problems);
}

}  // namespace anttracks::analyzer
