// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/grouping.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/pretenure_list.h"

namespace anttracks::analyzer {
namespace {

// What the rows have that are no sites.
constexpr const char* kBeforeTrace = "<before trace>";
constexpr const char* kFiller = "<filler>";

// kProgram: objects whose whole life was seen. The others: what else the trace has.
enum class RowKind { kProgram, kBeforeTrace, kFiller };

using Names = std::vector<std::string>;  // by field

struct LifeRow {
  Names names;
  RowKind kind = RowKind::kProgram;
  LifeSums sums;
  Allocated allocated;     // as sums.born, estimated where a share was read
  HeapTotals saved;        // copies that pretenuring would save
  bool pretenure = false;  // it is worth it
  MainApplicationSite application = MainApplicationSite();

  void Add(const LifeRow& other) {
    sums.Add(other.sums);
    allocated.Add(other.allocated);
    saved.Add(other.saved);
    pretenure = pretenure || other.pretenure;
  }
  bool of_program() const { return kind == RowKind::kProgram; }
  // What is not known of it died young.
  Allocated DiedYoung() const {
    const auto rest = [](const Estimated& all, uint64_t known, uint64_t died) {
      const double others = static_cast<double>(known - died), least = static_cast<double>(died);
      return Estimated{std::max(least, all.value - others), std::max(least, all.low - others),
                       std::max(least, all.high - others)};
    };
    return {sums.died_young, rest(allocated.objects, sums.born.objects, sums.died_young.objects),
            rest(allocated.words, sums.born.words, sums.died_young.words)};
  }
};

std::vector<Field> FieldsOf(const LifetimesArguments& arguments) {
  return arguments.group_by.empty() ? std::vector{Field::kSite, Field::kClass} : arguments.group_by;
}

Allocated Exactly(const HeapTotals& totals) {
  const auto point = [](uint64_t number) {
    const auto value = static_cast<double>(number);
    return Estimated{value, value, value};
  };
  return {totals, point(totals.objects), point(totals.words)};
}

// What was born in stretches that were all read is exact; the rest is as CountByShape estimates it.
Allocated AllocatedOf(const HeapTotals& born, const Allocated* chosen) {
  if (chosen == nullptr) return Exactly(born);
  Allocated all = Exactly({born.objects - chosen->known.objects, born.words - chosen->known.words});
  all.Add(*chosen);
  return all;
}

void Advise(LifeRow* row) {
  const auto promoted = static_cast<double>(row->sums.promoted.words);
  if (!row->of_program() || promoted == 0 || row->sums.copied_young.words == 0) return;
  if (promoted < kPretenureShare * (promoted + row->DiedYoung().words.value)) return;
  row->pretenure = true;
  row->saved = row->sums.copied_young;
}

// Rows of the smallest parts that advice is given on: of each site and class, and what else the fields tell
// apart. What is no object of the program has its name in place of the first field.
class LifeRows {
 public:
  LifeRows(const Definitions& definitions, Lifetimes& lifetimes, const LifetimesArguments& arguments)
      : definitions_(&definitions),
        frames_(arguments.app, arguments.library),
        applications_(definitions, lifetimes.stacks(), frames_),
        fields_(FieldsOf(arguments)) {}

  void Add(uint32_t site_class, RowKind kind, const LifeSums& sums, const Allocated& allocated) {
    if (sums.born.objects == 0 && allocated.known.objects == 0) return;
    const SiteClass& pair = definitions_->site_class(site_class);
    Names names = NamesFor(site_class, kind);
    std::string key;
    const auto add_to_key = [&](const std::string& name) { key.append(name).push_back('\0'); };
    if (kind == RowKind::kProgram) {
      add_to_key(SiteLabel(*definitions_, pair.site));
      add_to_key(ClassLabel(*definitions_, pair.class_id));
    }
    for (const std::string& name : names) add_to_key(name);
    const auto [at, is_new] = index_.try_emplace(std::move(key), rows_.size());
    if (is_new) {
      LifeRow& row = rows_.emplace_back();
      row.names = std::move(names);
      row.kind = kind;
    }
    LifeRow& row = rows_[at->second];
    row.sums.Add(sums);
    row.allocated.Add(allocated);
    if (kind == RowKind::kProgram) row.application.Add(applications_, pair.site, 8 * allocated.words.value);
  }
  std::vector<LifeRow> Take() {
    for (LifeRow& row : rows_) Advise(&row);
    return std::move(rows_);
  }

 private:
  Names NamesFor(uint32_t site_class, RowKind kind) {
    Names names;
    for (const Field field : fields_)
      names.push_back(kind == RowKind::kProgram ? GroupText(applications_, field, {.site_class = site_class})
                                                : "");
    if (kind != RowKind::kProgram) names.front() = kind == RowKind::kFiller ? kFiller : kBeforeTrace;
    return names;
  }

  const Definitions* definitions_;
  const ApplicationFrames frames_;
  ApplicationSites applications_;
  const std::vector<Field> fields_;
  std::vector<LifeRow> rows_;
  std::unordered_map<std::string, size_t> index_;  // by labels and names
};

std::vector<LifeRow> RowsOf(const Definitions& definitions, Lifetimes& lifetimes,
                            const LifetimesArguments& arguments) {
  Chooser chooses(definitions, arguments.selection);
  // The window was chosen while the trace was read.
  const Passed in_window = arguments.selection.from ? 1 : 0;
  const std::map<uint32_t, Allocated> chosen = lifetimes.chosen().BySiteClass();
  LifeRows rows(definitions, lifetimes, arguments);
  for (const auto& [id, traced, present] : lifetimes.BySiteClass()) {
    if (!chooses({.passed = in_window, .site_class = id})) continue;
    rows.Add(id, RowKind::kBeforeTrace, present, Exactly(present.born));
    if (definitions.site_class(id).site == kSiteFiller) {
      rows.Add(id, RowKind::kFiller, traced, Exactly(traced.born));
      continue;
    }
    const auto estimate = chosen.find(id);
    rows.Add(id, RowKind::kProgram, traced,
             AllocatedOf(traced.born, estimate == chosen.end() ? nullptr : &estimate->second));
  }
  return rows.Take();
}

// Rows of the same names become one.
std::vector<LifeRow> Grouped(const std::vector<LifeRow>& rows) {
  std::map<Names, LifeRow> by_names;
  for (const LifeRow& row : rows) {
    const auto [at, is_new] = by_names.try_emplace(row.names, row);
    if (!is_new) at->second.Add(row);
  }
  std::vector<LifeRow> list;
  for (auto& [names, row] : by_names) list.push_back(std::move(row));
  return list;
}

// Numbers of the rows in the order in which they are shown. (A row is large to move.)
std::vector<size_t> Order(const std::vector<LifeRow>& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&rows](size_t i, size_t j) {
    const LifeRow &a = rows[i], &b = rows[j];
    return std::tie(b.sums.copied.words, b.allocated.words.value, a.names) <
           std::tie(a.sums.copied.words, a.allocated.words.value, b.names);
  });
  return order;
}

// NAME.objects and NAME.bytes, both in the table.
void AddPair(std::vector<Column>* columns, const std::string& name, const std::string& title,
             Accuracy accuracy = Accuracy::kExact) {
  columns->push_back({.key = name + ".objects", .title = title, .unit = Unit::kCount, .accuracy = accuracy});
  columns->push_back(
      {.key = name + ".bytes", .title = "Bytes", .unit = Unit::kRoundedBytes, .accuracy = accuracy});
}

// In the table NAME.bytes only.
void AddBytes(std::vector<Column>* columns, const std::string& name, const std::string& title) {
  columns->push_back({.key = name + ".objects", .unit = Unit::kCount, .where = Where::kInData});
  columns->push_back({.key = name + ".bytes", .title = title, .unit = Unit::kRoundedBytes});
}

constexpr const char* kAgeNames[LifeSums::kAges] = {"0", "1", "2_to_3", "4_to_7", "8_to_15", "16_or_more"};

// Not of several sites.
bool ShowsApplication(const std::vector<Field>& fields) {
  return Has(fields, Field::kSite) && Has(fields, Field::kClass) && !Has(fields, Field::kAppSite);
}

std::vector<Column> ColumnsFor(const std::vector<Field>& fields, Basis basis, bool any_lost) {
  const Accuracy accuracy = basis == Basis::kExact ? Accuracy::kExact : Accuracy::kInterval;
  std::vector<Column> columns = FieldColumns(fields, ShowsApplication(fields));
  for (Column& column : AmountColumns(basis)) columns.push_back(std::move(column));
  AddPair(&columns, "died_young", "Died young", accuracy);
  AddPair(&columns, "died_old", "Died old");
  AddPair(&columns, "live", "Live");
  if (any_lost) AddPair(&columns, "lost", "Lost");
  columns.push_back({.key = "survived.mean", .title = "Survived", .unit = Unit::kCount});
  for (const char* age : kAgeNames) {
    columns.push_back({.key = fmt::format("survived.{}", age), .unit = Unit::kCount, .where = Where::kInData});
  }
  AddBytes(&columns, "copied", "Copied");
  AddBytes(&columns, "promoted", "Promoted");
  AddBytes(&columns, "promoted_then_dead", "Promoted, dead");
  columns.push_back({.key = "byte_seconds", .title = "Held", .unit = Unit::kCount});
  AddBytes(&columns, "pretenuring_saves", "Pretenuring saves");
  return columns;
}

void AddCells(Row* cells, const HeapTotals& totals) {
  cells->insert(cells->end(), {totals.objects, totals.bytes()});
}

Cell Mean(const LifeRow& row) {
  if (!row.of_program()) return {nullptr, " "};
  const double mean = static_cast<double>(row.sums.survived) / std::max(1.0, row.allocated.objects.value);
  return {mean, fmt::format("{:.1f}", mean)};
}

// at_least: objects that nobody saw were held, too.
Cell Held(const LifeRow& row, bool at_least) {
  const double held = row.sums.held.byte_seconds();
  return {held, fmt::format("{}{} s", at_least ? ">= " : "", Bytes(Rounded(held)))};
}

Row CellsOf(const LifeRow& row, const std::vector<Field>& fields, Basis basis, bool any_lost) {
  Row cells;
  AddFieldCells(&cells, fields, row.names, ShowsApplication(fields) ? &row.application : nullptr);
  Amount(row.allocated).AddCells(&cells, basis);
  Amount(row.DiedYoung()).AddCells(&cells, basis);
  AddCells(&cells, row.sums.died_old);
  AddCells(&cells, row.sums.live);
  if (any_lost) AddCells(&cells, row.sums.lost);
  cells.push_back(Mean(row));
  for (const uint64_t died : row.sums.died_by_age)
    cells.push_back(row.of_program() ? Cell(died) : Cell(nullptr));
  AddCells(&cells, row.sums.copied);
  if (row.of_program()) {
    AddCells(&cells, row.sums.promoted);
    AddCells(&cells, row.sums.promoted_dead);
  } else {
    cells.insert(cells.end(), 4, Cell(nullptr, " "));
  }
  cells.push_back(row.kind == RowKind::kFiller ? Cell(nullptr, " ") : Held(row, basis != Basis::kExact));
  if (row.pretenure) {
    AddCells(&cells, row.saved);
  } else {
    cells.insert(cells.end(), 2, Cell(nullptr, " "));
  }
  return cells;
}

struct Summary {
  LifeRow program, before;  // all rows of the program's objects, and the one of those before the trace
  HeapTotals saved;
  uint64_t advised = 0;
};

Summary SummaryOf(const std::vector<LifeRow>& rows) {
  Summary all;
  for (const LifeRow& row : rows) {
    if (row.of_program()) {
      all.program.Add(row);
      all.saved.Add(row.saved);
      all.advised += row.pretenure;
    } else if (row.kind == RowKind::kBeforeTrace) {
      all.before.Add(row);
    }
  }
  return all;
}

std::string TotalsText(const HeapTotals& totals) { return Amount(totals).Text(Basis::kExact); }

std::string WhenText(const Imbalance& line) {
  const std::string when = line.at_end ? "at the end" : fmt::format("at collection {}", line.gc);
  return line.since ? fmt::format("{}, since collection {}", when, *line.since) : when;
}

std::string ImbalanceText(const Definitions& definitions, const Imbalance& line) {
  const SiteClass& pair = definitions.site_class(line.site_class);
  const auto four = [&](uint64_t before, uint64_t allocated, uint64_t after, uint64_t died) {
    return fmt::format("{} + {} != {} + {}", Count(before), Count(allocated), Count(after), Count(died));
  };
  return fmt::format(
      "ledger: {} of {} {}: live before + allocated != live after + died: {} objects, {} bytes\n",
      Printable(ClassLabel(definitions, pair.class_id)), Printable(SiteLabel(definitions, pair.site)),
      WhenText(line), four(line.before.objects, line.allocated.objects, line.after.objects, line.died.objects),
      four(line.before.bytes(), line.allocated.bytes(), line.after.bytes(), line.died.bytes()));
}

std::string LedgerText(const Definitions& definitions, const Ledger& ledger) {
  if (ledger.balances()) {
    const std::string unchecked =
        ledger.unchecked == 0
            ? ""
            : fmt::format(", but not checked {} because events are missing", Plural(ledger.unchecked, "time"));
    return fmt::format("ledger: balances ({} of every site and class{})\n", Plural(ledger.checked, "check"),
                       unchecked);
  }
  std::string text;
  for (const Imbalance& line : ledger.first) text += ImbalanceText(definitions, line);
  return text + fmt::format("ledger: does not balance in {}\n", Plural(ledger.imbalances, "place"));
}

nlohmann::ordered_json TotalsJson(const HeapTotals& totals) {
  return {{"objects", totals.objects}, {"bytes", totals.bytes()}};
}

nlohmann::ordered_json LedgerJson(const Definitions& definitions, const Ledger& ledger) {
  nlohmann::ordered_json json{{"balances", ledger.balances()},
                              {"checked", ledger.checked},
                              {"unchecked", ledger.unchecked},
                              {"imbalances", ledger.imbalances},
                              {"first", nlohmann::ordered_json::array()}};
  for (const Imbalance& line : ledger.first) {
    const SiteClass& pair = definitions.site_class(line.site_class);
    json["first"].push_back({{"gc", line.at_end ? nlohmann::ordered_json() : nlohmann::ordered_json(line.gc)},
                             {"site", SiteLabel(definitions, pair.site)},
                             {"class", ClassLabel(definitions, pair.class_id)},
                             {"live_before", TotalsJson(line.before)},
                             {"allocated", TotalsJson(line.allocated)},
                             {"live_after", TotalsJson(line.after)},
                             {"died", TotalsJson(line.died)}});
  }
  return json;
}

void AddHead(Report* report, const Summary& all, Basis basis, const Definitions& definitions,
             const Ledger& ledger) {
  AddAmount(&report->head["allocated"], Amount(all.program.allocated), basis);
  report->head["before_trace"] = TotalsJson(all.before.sums.born);
  report->head["copied"] = TotalsJson({all.program.sums.copied.objects + all.before.sums.copied.objects,
                                       all.program.sums.copied.words + all.before.sums.copied.words});
  report->head["promoted_then_dead"] = TotalsJson(all.program.sums.promoted_dead);
  report->head["pretenuring"] = {{"sites", all.advised},
                                 {"saves_bytes", all.saved.bytes()},
                                 {"of_copied_bytes", all.program.sums.copied_young.bytes()}};
  report->head["ledger"] = LedgerJson(definitions, ledger);
}

std::string HeadingOf(const Summary& all, Basis basis) {
  std::string text = fmt::format("allocated: {}\n", Amount(all.program.allocated).Text(basis));
  if (all.before.sums.born.objects != 0)
    text += fmt::format("before the trace: {}\n", TotalsText(all.before.sums.born));
  HeapTotals copied = all.program.sums.copied;
  copied.Add(all.before.sums.copied);
  text += fmt::format("copied by collections: {}\n", TotalsText(copied));
  text += fmt::format("promoted: {}; dead since: {}\n", TotalsText(all.program.sums.promoted),
                      TotalsText(all.program.sums.promoted_dead));
  if (all.advised == 0) return text;
  return text + fmt::format("pretenuring at {} would save {} of {} that young collections copied\n",
                            Plural(all.advised, "site"), Bytes(all.saved.bytes()),
                            Bytes(all.program.sums.copied_young.bytes()));
}

std::string Notes(Report* report, Lifetimes& lifetimes) {
  std::string text;
  const auto add = [&](const std::string& note) {
    if (note.empty()) return;
    report->notes.push_back(note);
    text += note + "\n";
  };
  add(NoteOf(lifetimes.chosen()));
  if (lifetimes.chosen().estimates())
    add("what was not read and died before a collection saw it is in Died young only, and not in Held");
  const std::string caveat = Caveat(lifetimes.state(), lifetimes.unknown_words());
  if (!caveat.empty()) add("live at the end" + caveat);
  return text;
}

Report ReportOf(const Definitions& definitions, Lifetimes& lifetimes, const LifetimesArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  const Basis basis = BasisOf(lifetimes.chosen());
  std::vector<LifeRow> rows = RowsOf(definitions, lifetimes, arguments);
  const Summary all = SummaryOf(rows);
  if (!arguments.group_by.empty()) rows = Grouped(rows);
  const bool any_lost =
      std::any_of(rows.begin(), rows.end(), [](const LifeRow& row) { return row.sums.lost.objects != 0; });
  Report report;
  AddNote(&report.head, lifetimes.chosen());
  AddHead(&report, all, basis, definitions, lifetimes.ledger());
  report.columns = ColumnsFor(fields, basis, any_lost);
  ShowSelection(arguments.selection, &report);
  report.heading +=
      Notes(&report, lifetimes) + HeadingOf(all, basis) + LedgerText(definitions, lifetimes.ledger()) + "\n";
  if (!lifetimes.ledger().balances()) report.notes.push_back("the ledger does not balance");
  std::vector<size_t> order = Order(rows);
  const size_t count = rows.size();
  report.rows = ReportRows(count, [rows = std::move(rows), order = std::move(order), fields, basis, any_lost](
                                      size_t i) { return CellsOf(rows[order[i]], fields, basis, any_lost); });
  report.text_order = {"objects",
                       "bytes",
                       "died_young.objects",
                       "died_young.bytes",
                       "died_old.objects",
                       "died_old.bytes",
                       "live.objects",
                       "live.bytes",
                       "lost.objects",
                       "lost.bytes",
                       "survived.mean",
                       "copied.bytes",
                       "promoted.bytes",
                       "promoted_then_dead.bytes",
                       "byte_seconds",
                       "pretenuring_saves.bytes"};
  const std::vector<Field> in_text =
      arguments.group_by.empty() ? std::vector{Field::kClass, Field::kSite} : fields;
  for (const Field field : in_text) report.text_order.push_back(NameOf<Field>(kGroupFields, field));
  return report;
}

}  // namespace

int RunLifetimes(Session& session, const LifetimesArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, true)) return *exit;
  Problems problems;
  Definitions definitions(problems);
  Lifetimes lifetimes(definitions, problems, {selection.from, selection.to});
  const PassSummary summary = session.Run(definitions, problems, lifetimes);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (const auto exit = CheckGcs(session, summary, selection, lifetimes.GcIds())) return *exit;
  lifetimes.Finish(summary.duration_ns);
  std::vector<PortionKey> keys;
  for (const auto& row : lifetimes.BySiteClass()) keys.push_back({.site_class = row.site_class});
  TellUnknownNames(session, definitions, keys, selection.where);
  if (arguments.pretenure_list && lifetimes.chosen().estimates()) {
    session.err << "anttracks: the trace has only a share of what died young: for this list, trace without "
                   "budget= and share=\n";
    return kExitUsage;
  }
  if (arguments.pretenure_list) {
    session.out << PretenureText(PretenuredSites(definitions, lifetimes));
  } else {
    Print(session, ReportOf(definitions, lifetimes, arguments));
  }
  const int code = session.Finish(summary, problems);
  return lifetimes.ledger().balances() ? code : kExitErrors;
}

}  // namespace anttracks::analyzer
