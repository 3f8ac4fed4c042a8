// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/joined_dump.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/id_map.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

struct JoinRow {
  std::string key;
  uint64_t objects = 0, bytes = 0, retained = 0;
  uint64_t before_trace = 0;
  uint64_t youngest = UINT64_MAX, oldest = 0;  // in collections
  std::map<std::string, uint64_t> threads;     // bytes by the name of who allocated
  std::map<uint32_t, uint64_t> sites;          // bytes
  MainApplicationSite application = MainApplicationSite(MainApplicationSite::Of::kLive);
};

// What the objects of a row have in common: a number by which names are looked up once.
uint64_t Common(const JoinedDump& joined, JoinBy by, uint32_t object) {
  constexpr uint64_t kUnknown = uint64_t{1} << 63;
  if (by == JoinBy::kClass) {
    return joined.known(object) ? joined.pair(object).class_id
                                : kUnknown | joined.dump->objects()[object].class_index;
  }
  if (!joined.known(object)) return kUnknown;
  return by == JoinBy::kSite ? joined.pair(object).site : joined.match->provenance(object);
}

std::string NameOf(const JoinedDump& joined, JoinBy by, uint32_t object) {
  switch (by) {
    case JoinBy::kSite:
      return joined.site_name(object);
    case JoinBy::kClass:
      return joined.class_name(object);
    case JoinBy::kThread:
      return joined.thread_name(object);
  }
  return "";
}

class Rows {
 public:
  Rows(const JoinedDump& joined, const JoinArguments& arguments)
      : joined_(&joined),
        by_(arguments.by),
        chosen_(joined.Chosen(arguments.selection)),
        row_(joined.dump->size()) {
    for (uint32_t object = 0; object < joined.dump->size(); object++) Add(object);
    const auto count = static_cast<uint32_t>(rows_.size());
    const std::vector<uint64_t> retained = joined.retained->ByGroup(
        count, [&](uint32_t object) { return chosen_[object] ? row_[object] : count; });
    for (uint32_t i = 0; i < count; i++) rows_[i].retained = retained[i];
    if (by_ == JoinBy::kSite) FindApplications(arguments);
    std::stable_sort(rows_.begin(), rows_.end(), [](const JoinRow& a, const JoinRow& b) {
      return std::tie(a.retained, a.bytes) > std::tie(b.retained, b.bytes);
    });
  }
  const std::vector<JoinRow>& rows() const { return rows_; }

 private:
  void Add(uint32_t object) {
    if (!chosen_[object]) return;
    const auto [common, is_new] = number_.try_emplace(Common(*joined_, by_, object));
    if (is_new) {
      const std::string name = NameOf(*joined_, by_, object);
      const auto [named, first] = by_name_.try_emplace(name, static_cast<uint32_t>(rows_.size()));
      if (first) rows_.emplace_back().key = name;
      common->second = named->second;
    }
    row_[object] = common->second;
    JoinRow& row = rows_[common->second];
    const uint64_t bytes = joined_->bytes(object);
    row.objects++;
    row.bytes += bytes;
    if (const auto age = joined_->age(object)) {
      row.youngest = std::min(row.youngest, *age);
      row.oldest = std::max(row.oldest, *age);
    } else if (joined_->known(object)) {
      row.before_trace++;
    }
    if (by_ == JoinBy::kSite && joined_->known(object)) row.sites[joined_->pair(object).site] += bytes;
    if (by_ != JoinBy::kThread) row.threads[Thread(object)] += bytes;
  }
  const std::string& Thread(uint32_t object) {
    const uint64_t number = joined_->known(object) ? joined_->match->provenance(object) : UINT64_MAX;
    const auto [at, is_new] = threads_.try_emplace(number);
    if (is_new) at->second = joined_->thread_name(object);
    return at->second;
  }
  void FindApplications(const JoinArguments& arguments) {
    const ApplicationFrames frames(arguments.app, arguments.library);
    ApplicationSites applications(joined_->definitions, joined_->heap->stacks(), frames);
    for (JoinRow& row : rows_) {
      for (const auto& [site, bytes] : row.sites)
        row.application.Add(applications, site, static_cast<double>(bytes));
    }
  }

  const JoinedDump* joined_;
  const JoinBy by_;
  const std::vector<bool> chosen_;
  std::vector<uint32_t> row_;  // by object
  IdMap<uint32_t> number_;
  std::unordered_map<std::string, uint32_t> by_name_;
  IdMap<std::string> threads_;
  std::vector<JoinRow> rows_;
};

// In collections that the objects have seen: "2 to 7", "3", "before trace".
std::string AgeText(const JoinRow& row) {
  if (row.youngest == UINT64_MAX) return row.before_trace == 0 ? "-" : "before trace";
  std::string text = Count(row.youngest);
  if (row.before_trace != 0) return text + " and more";
  if (row.oldest != row.youngest) text += " to " + Count(row.oldest);
  return text;
}

// The thread that allocated most of it: "main (1)", "main (1), 3 more".
Cell ThreadCell(const JoinRow& row) {
  if (row.threads.empty()) return Cell(nullptr);
  const auto most = std::max_element(row.threads.begin(), row.threads.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const size_t others = row.threads.size() - 1;
  return {most->first, others == 0 ? most->first : fmt::format("{}, {} more", most->first, others)};
}

struct HeldTotals {
  uint64_t reached = 0, reached_bytes = 0, weakly = 0, weakly_bytes = 0, unreached = 0, unreached_bytes = 0;
};

HeldTotals TotalsOf(const JoinedDump& joined) {
  HeldTotals totals;
  for (uint32_t object = 0; object < joined.dump->size(); object++) {
    const uint64_t bytes = joined.bytes(object);
    const bool reached = joined.references->reached(object);
    const bool weakly = joined.references->reached_weakly(object);
    (reached ? totals.reached : weakly ? totals.weakly : totals.unreached)++;
    (reached ? totals.reached_bytes : weakly ? totals.weakly_bytes : totals.unreached_bytes) += bytes;
  }
  return totals;
}

std::string HeldText(const HeldTotals& totals) {
  std::string text =
      fmt::format("roots hold {}, {}", Plural(totals.reached, "object"), Bytes(totals.reached_bytes));
  if (totals.weakly != 0)
    text += fmt::format("; soft, weak, final and phantom references alone hold {}, {}", Count(totals.weakly),
                        Bytes(totals.weakly_bytes));
  if (totals.unreached != 0)
    text += fmt::format("; nothing in the dump holds {}, {}", Count(totals.unreached),
                        Bytes(totals.unreached_bytes));
  return text + "\n";
}

std::vector<Column> ColumnsBy(JoinBy by) {
  const std::string key(NameOf<JoinBy>(kJoinRows, by));
  std::string title = key;
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  std::vector<Column> columns{{.key = key, .title = std::move(title)}};
  if (by == JoinBy::kSite) {
    for (Column& column : ApplicationColumns()) columns.push_back(std::move(column));
  }
  columns.insert(columns.end(),
                 {{.key = "retained_bytes", .title = "Retained", .unit = Unit::kBytes},
                  {.key = "retained_share", .title = "Of held", .unit = Unit::kShare},
                  {.key = "objects", .title = "Objects", .unit = Unit::kCount},
                  {.key = "bytes", .title = "Bytes", .unit = Unit::kBytes},
                  {.key = "youngest_gcs", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "oldest_gcs", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "before_trace", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "age", .title = "GCs seen", .where = Where::kInText, .right_aligned = true}});
  if (by != JoinBy::kThread) columns.push_back({.key = "thread", .title = "Thread"});
  return columns;
}

}  // namespace

void PrintJoinTable(Session& session, const JoinedDump& joined, const JoinArguments& arguments) {
  const Rows rows(joined, arguments);
  const HeldTotals totals = TotalsOf(joined);
  Report report;
  report.columns = ColumnsBy(arguments.by);
  report.text_order = {"retained_bytes",
                       "retained_share",
                       "objects",
                       "bytes",
                       "age",
                       "thread",
                       NameOf<JoinBy>(kJoinRows, arguments.by)};
  if (arguments.by == JoinBy::kThread) report.text_order.erase(report.text_order.begin() + 5);
  for (const JoinRow& row : rows.rows()) {
    Row cells{row.key};
    if (arguments.by == JoinBy::kSite) AddApplicationCells(&cells, row.application, row.key);
    const bool ages = row.youngest != UINT64_MAX;
    const double held = static_cast<double>(totals.reached_bytes);
    cells.insert(cells.end(), {row.retained, held == 0 ? 0 : static_cast<double>(row.retained) / held,
                               row.objects, row.bytes, ages ? Cell(row.youngest) : Cell(nullptr),
                               ages ? Cell(row.oldest) : Cell(nullptr), row.before_trace, AgeText(row)});
    if (arguments.by != JoinBy::kThread) cells.push_back(ThreadCell(row));
    report.rows.push_back(std::move(cells));
  }
  report.head = JoinHead(joined);
  report.head["held"] = {{"objects", totals.reached}, {"bytes", totals.reached_bytes}};
  report.head["held_weakly"] = {{"objects", totals.weakly}, {"bytes", totals.weakly_bytes}};
  report.head["not_held"] = {{"objects", totals.unreached}, {"bytes", totals.unreached_bytes}};
  report.head["by"] = NameOf<JoinBy>(kJoinRows, arguments.by);
  ShowSelection(arguments.selection, &report);
  report.heading += JoinHeading(joined) + HeldText(totals) + "\n";
  const JoinReasons& reasons = joined.reasons;
  const uint64_t unknown = reasons.missing + reasons.other_class + reasons.other_size;
  if (unknown != 0) {
    report.notes.push_back(fmt::format("{} of {} are not in the trace {}", Count(unknown),
                                       Plural(joined.match->objects(), "object"), MomentText(joined)));
  }
  Print(session, report);
}

}  // namespace anttracks::analyzer
