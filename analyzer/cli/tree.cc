// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_set>

#include "analyzer/cli/call_paths.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/flame_graph.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/call_tree.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr double kLeastInText = 1;  // percent

CallTotals TotalsOf(const Amount& amount) {
  return {Rounded(amount.bytes().value), Rounded(amount.objects().value)};
}

class Builder {
 public:
  Builder(const Content& content, const TreeArguments& arguments)
      : content_(content),
        arguments_(arguments),
        callers_(content.definitions, content.stacks, arguments.selection),
        paths_(content.definitions, callers_,
               {arguments.reverse, arguments.methods, content.live == Basis::kSamples}, tree_.get()) {}

  std::unique_ptr<CallTree> Build() {
    std::unordered_set<uint32_t> sites;
    for (const auto& [id, totals] : Chosen()) {
      if (totals.objects == 0 && totals.bytes == 0) continue;
      const SiteClass& pair = content_.definitions.site_class(id);
      AddPair(pair, totals);
      if (sites.insert(pair.site).second) AddStacks(pair.site);
    }
    tree_->Sort();
    return std::move(tree_);
  }

 private:
  using Path = CallPaths::Path;

  // By site-class pair.
  std::map<uint32_t, CallTotals> Chosen() {
    Chooser chosen(content_.definitions, arguments_.selection);
    std::map<uint32_t, Amount> amounts;
    for (const Portion& portion : content_.portions) {
      if (!chosen(portion.key)) continue;
      amounts[portion.key.site_class].Add(arguments_.live ? portion.live : portion.allocated);
    }
    std::map<uint32_t, CallTotals> totals;
    for (const auto& [id, amount] : amounts) totals.emplace(id, TotalsOf(amount));
    return totals;
  }
  void Add(Path path, const SiteClass& pair, const CallTotals& totals) {
    if (totals.objects == 0 && totals.bytes == 0) return;
    if (!arguments_.reverse) path.push_back(tree_->Name(ClassLabel(content_.definitions, pair.class_id)));
    tree_->Add(path, totals);
  }
  void AddPair(const SiteClass& pair, const CallTotals& totals) {
    const auto& sampled = callers_.Of(pair.site);
    if (sampled.empty()) return Add(paths_.OfSite(pair.site), pair, totals);
    std::vector<CallTotals> parts;
    Split(totals.bytes, sampled, [&](const auto&, uint64_t bytes) { parts.push_back({bytes, 0}); });
    size_t next = 0;
    Split(totals.objects, sampled, [&](const auto& each, uint64_t objects) {
      const CallTotals part{parts[next++].bytes, objects};
      if (part.bytes != 0 || part.objects != 0) Add(paths_.OfStack(each.stack), pair, part);
    });
  }
  void AddStacks(uint32_t site) {
    for (const Callers::Sampled& sampled : callers_.Of(site))
      tree_->AddStacks(paths_.OfStack(sampled.stack), sampled.count);
  }

  const Content& content_;
  const TreeArguments& arguments_;
  const Callers callers_;
  std::unique_ptr<CallTree> tree_ = std::make_unique<CallTree>();
  CallPaths paths_;
};

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

// A line for each path with something of its own: names from the root on, and bytes.
void PrintCollapsed(const CallTree& tree, std::ostream& out) {
  std::vector<uint32_t> path;
  for (uint32_t node = 1; node < tree.size(); node++) {
    uint64_t own = tree[node].totals.bytes;
    for (const uint32_t child : tree[node].children) own -= tree[child].totals.bytes;
    if (own == 0) continue;
    path.clear();
    for (uint32_t at = node; at != CallTree::kRoot; at = tree[at].parent) path.push_back(at);
    for (size_t i = path.size(); i-- > 0;) {
      std::string name = Printable(tree.name(path[i]));
      std::replace(name.begin(), name.end(), ';', ',');
      out << name << (i == 0 ? ' ' : ';');
    }
    out << own << '\n';
  }
}

}  // namespace

int RunTree(Session& session, const TreeArguments& arguments) {
  int exit = kExitFine;
  const auto content = ReadSelected(session, {arguments.selection, false, arguments.live, arguments.gc}, &exit);
  if (!content) return exit;
  Builder builder(*content, arguments);
  const std::unique_ptr<CallTree> tree = builder.Build();
  const double least = arguments.least_percent.value_or(session.output == Output::kText ? kLeastInText : 0);
  const Report report = ReportOf(*content, arguments, *tree, least);
  if (arguments.collapsed) {
    PrintCollapsed(*tree, session.out);
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
