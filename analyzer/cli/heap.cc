// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <unordered_map>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"
#include "analyzer/passes/live.h"
#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/start_file.h"

namespace anttracks::analyzer {
namespace {

struct Row {
  std::string key;
  HeapTotals totals;
};

// Sums by a number first and makes names of the numbers at the end.
class Sums {
 public:
  Sums() = default;
  explicit Sums(std::unordered_map<uint64_t, HeapTotals> sums) : by_number_(std::move(sums)) {}

  void Add(uint64_t key, uint64_t words) { by_number_[key].Add({1, words}); }
  // Rows of the same name become one; the largest first.
  template <class Name>
  std::vector<Row> Rows(Name&& name) const {
    std::map<std::string, HeapTotals> by_name;
    for (const auto& [key, totals] : by_number_) {
      by_name[name(key)].Add(totals);
    }
    std::vector<Row> rows;
    for (const auto& [key, totals] : by_name) rows.push_back({key, totals});
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::pair(a.totals.words, a.totals.objects) > std::pair(b.totals.words, b.totals.objects);
    });
    return rows;
  }

 private:
  std::unordered_map<uint64_t, HeapTotals> by_number_;
};

std::vector<Row> ByShape(const Rebuild& rebuild, bool site) {
  const Definitions& definitions = rebuild.definitions();
  const std::vector<uint64_t> objects = LiveByShape(rebuild);
  std::unordered_map<uint64_t, HeapTotals> totals;
  for (uint32_t shape = 0; shape < objects.size(); shape++) {
    if (objects[shape] == 0) continue;
    const SiteClass& site_class = definitions.site_class_of_shape(shape);
    totals[site ? site_class.site : site_class.class_id].Add(
        {objects[shape], objects[shape] * definitions.shapes().words(shape)});
  }
  return Sums(std::move(totals)).Rows([&](uint64_t id) {
    const auto number = static_cast<uint32_t>(id);
    return site ? SiteLabel(definitions, number) : ClassLabel(definitions, number);
  });
}

std::vector<Row> ByOrigin(const Rebuild& rebuild, bool thread) {
  const Definitions& definitions = rebuild.definitions();
  Sums sums;
  rebuild.heap().ForEach([&](const HeapObject& object, bool) {
    sums.Add(object.origin, definitions.shapes().words(object.shape));
  });
  return sums.Rows([&](uint64_t id) -> std::string {
    const auto number = static_cast<uint32_t>(id);
    if (number == Origins::kFiller) return "<filler>";
    if (number == Origins::kBeforeTrace) return "<before trace>";
    const Origin& origin = rebuild.origins()[number];
    return thread ? ThreadLabel(definitions, origin.thread) : Plural(static_cast<uint64_t>(rebuild.epoch() - origin.birth), "GC");
  });
}

std::vector<Row> BySpace(const Rebuild& rebuild) {
  const Definitions& definitions = rebuild.definitions();
  const std::vector<Space>& spaces = rebuild.spaces();
  Sums sums;
  size_t at = 0;
  rebuild.heap().ForEach([&](const HeapObject& object, bool) {
    while (at < spaces.size() && object.word >= spaces[at].end) at++;
    const bool inside = at < spaces.size() && object.word >= spaces[at].bottom;
    sums.Add(inside ? static_cast<uint64_t>(spaces[at].kind) : UINT64_MAX, definitions.shapes().words(object.shape));
  });
  return sums.Rows([](uint64_t kind) -> std::string {
    return kind == UINT64_MAX ? "<outside>" : std::string(SpaceLabel(static_cast<SpaceKind>(kind)));
  });
}

std::vector<Row> Rows(const Rebuild& rebuild, const std::string& by) {
  if (by == "site") return ByShape(rebuild, true);
  if (by == "thread") return ByOrigin(rebuild, true);
  if (by == "age") return ByOrigin(rebuild, false);
  if (by == "space") return BySpace(rebuild);
  return ByShape(rebuild, false);
}

void PrintObjects(const Rebuild& rebuild, std::ostream& out) {
  const Definitions& definitions = rebuild.definitions();
  std::unordered_map<uint32_t, std::string> tails;  // by site-class pair
  fmt::memory_buffer buffer;
  rebuild.heap().ForEach([&](const HeapObject& object, bool) {
    const ObjectShape& shape = definitions.shapes()[object.shape];
    std::string& site = tails[shape.site_class];
    const SiteClass& site_class = definitions.site_class(shape.site_class);
    if (site.empty()) site = Printable(SiteLabel(definitions, site_class.site));
    fmt::format_to(std::back_inserter(buffer), "{:#x}\t{}\t{}\t{}\n", object.word * 8,
                   Printable(definitions.class_info(site_class.class_id).name), uint64_t{shape.words} * 8, site);
    if (buffer.size() > 1 << 20) {
      out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
      buffer.clear();
    }
  });
  out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
}

std::string Moment(const Rebuild& rebuild, bool end, uint64_t end_ns) {
  return end || rebuild.gcs().empty() ? AtEnd(end_ns) : AfterGc(rebuild.gcs().back());
}

std::string ToText(const std::vector<Row>& rows, const std::string& by, const HeapTotals& all, size_t top) {
  std::string title = by;
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  Table table({{"Objects"}, {"Share"}, {"Bytes"}, {"Share"}, {title, Table::Align::kLeft}});
  const size_t shown = Shown(rows.size(), top);
  for (const Row& row : std::span(rows).first(shown)) {
    table.Add({Count(row.totals.objects), Percent(row.totals.objects, all.objects), Count(row.totals.words * 8),
               Percent(row.totals.words, all.words), Printable(row.key)});
  }
  return table.ToString() + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json ToJson(const std::vector<Row>& rows, const Rebuild& rebuild, const HeapArguments& arguments,
                              size_t top) {
  const HeapTotals all = rebuild.heap().totals();
  nlohmann::ordered_json json;
  if (arguments.end || rebuild.gcs().empty()) {
    json["gc"] = nullptr;
  } else {
    json["gc"] = rebuild.gcs().back().id;
  }
  json["exact"] = rebuild.exact() && rebuild.unknown_words() == 0;
  if (rebuild.unknown_words() != 0) json["unknown_bytes"] = rebuild.unknown_words() * 8;
  json["complete"] = rebuild.state() != HeapState::kFilling && rebuild.state() != HeapState::kUnknown;
  json["objects"] = all.objects;
  json["bytes"] = all.words * 8;
  json["by"] = arguments.by;
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : std::span(rows).first(Shown(rows.size(), top))) {
    list.push_back({{arguments.by, row.key}, {"objects", row.totals.objects}, {"bytes", row.totals.words * 8}});
  }
  json["rows"] = std::move(list);
  return json;
}

// Where to start and to stop: found by a first run that only lists the collections.
struct Stop {
  int exit = kExitFine;  // otherwise there is nothing to show
  std::vector<bool> files;  // to be read; empty: all
  uint64_t after = UINT64_MAX;
  PassSummary scan;
};

Stop FindStop(Session& session, const HeapArguments& arguments) {
  Stop stop;
  if (arguments.end) return stop;
  const bool needs_origins = !arguments.objects && (arguments.by == "thread" || arguments.by == "age");
  if (arguments.gc && !needs_origins) {
    if (std::optional<StartFile> start = FindStartFile(*session.reader, *arguments.gc)) {
      stop.files = std::move(start->files);
      stop.after = start->collections;
      return stop;
    }
  }
  Problems problems;
  Definitions definitions(problems);
  ListGcs list;
  stop.scan = session.Run(definitions, problems, list);
  const std::vector<uint64_t>& ids = list.ids();
  if (!stop.scan.fatal.ok()) {
    stop.exit = session.Unreadable(stop.scan.fatal);
  } else if (!arguments.gc) {
    if (!ids.empty()) stop.after = ids.size();
  } else if (const auto at = std::find(ids.begin(), ids.end(), *arguments.gc); at != ids.end()) {
    stop.after = static_cast<uint64_t>(at - ids.begin()) + 1;
  } else {
    stop.exit = session.NoSuchGc(*arguments.gc, ids);
  }
  return stop;
}

}  // namespace

int RunHeap(Session& session, const HeapArguments& arguments) {
  if (!session.Open()) return kExitUnreadable;
  const Stop stop = FindStop(session, arguments);
  if (stop.exit != kExitFine) return stop.exit;
  Problems problems;
  Definitions definitions(problems);
  Rebuild rebuild(definitions, problems, {.stop_after = stop.after});
  PassSummary summary = session.Run(definitions, problems, rebuild, true, stop.files);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!arguments.gc && stop.scan.damaged) {  // the last collection is only the last one before the damage
    summary.damaged = true;
    summary.damage = stop.scan.damage;
  }
  if (!summary.has_meta) return session.Finish(summary, problems);
  const HeapTotals all = rebuild.heap().totals();
  if (arguments.objects) {
    PrintObjects(rebuild, session.out);
  } else if (session.json) {
    session.out << JsonText(ToJson(Rows(rebuild, arguments.by), rebuild, arguments, session.top));
  } else {
    session.out << fmt::format("heap {}: {}, {}{}\n\n", Moment(rebuild, arguments.end, summary.duration_ns),
                               Plural(all.objects, "object"), Bytes(all.words * 8),
                               Caveat(rebuild.state(), rebuild.unknown_words()));
    session.out << ToText(Rows(rebuild, arguments.by), arguments.by, all, session.top);
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
