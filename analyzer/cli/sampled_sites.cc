// SPDX-License-Identifier: Apache-2.0
// What was allocated, from samples: `sites`, `classes` and `threads`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/cli/json.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

using Align = Table::Align;

bool Every(const SampledObject&) { return true; }

struct SiteKey {
  std::string site, class_name;
  std::vector<std::string> callers;
  auto operator<=>(const SiteKey&) const = default;
};

struct SiteRow {
  SiteKey key;
  Estimate allocated, live;
};

std::vector<SiteRow> SiteRows(const Sampled& sampled, const SitesArguments& arguments) {
  const Definitions& definitions = sampled.definitions();
  std::map<SiteKey, std::pair<Estimate, Estimate>> by_key;
  const auto add = [&](const std::map<uint64_t, Estimate>& by_site_class, auto&& part) {
    for (const auto& [id, estimate] : by_site_class) {
      const SiteClass& site_class = definitions.site_class(id);
      SiteKey key{SiteLabel(definitions, site_class.site), ClassLabel(definitions, site_class.class_id), {}};
      if (arguments.callers) key.callers = CallerLabels(definitions, site_class.site);
      part(by_key[std::move(key)]).Add(estimate);
    }
  };
  const auto site_class = [](const SampledObject& sample) -> uint64_t { return sample.site_class; };
  add(sampled.By(site_class, Every), [](auto& row) -> Estimate& { return row.first; });
  if (arguments.live) {
    add(sampled.By(site_class, [&](const SampledObject& s) { return s.LivesAfter(arguments.gc); }),
        [](auto& row) -> Estimate& { return row.second; });
  }
  std::vector<SiteRow> rows;
  for (const auto& [key, estimates] : by_key) rows.push_back({key, estimates.first, estimates.second});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SiteRow& a, const SiteRow& b) { return a.allocated.bytes > b.allocated.bytes; });
  return rows;
}

std::string SitesTable(const std::vector<SiteRow>& rows, const Estimate& all, const Estimate& live,
                       const SitesArguments& arguments, size_t top) {
  std::vector<Table::Column> columns{{"Samples"}, {"Est. objects"}, {"Share"}, {"Est. bytes"}, {"Share"}};
  if (arguments.live) {
    for (const char* title : {"Live samples", "Est. live objects", "Est. live bytes", "Share"}) columns.push_back({title});
  }
  columns.push_back({"Class", Align::kLeft});
  columns.push_back({"Site", Align::kLeft});
  const size_t width = columns.size();
  Table table(std::move(columns));
  const size_t shown = Shown(rows.size(), top);
  for (const SiteRow& row : std::span(rows).first(shown)) {
    std::vector<std::string> cells{Count(row.allocated.samples), AboutCount(row.allocated.objects),
                                   AboutShare(row.allocated.objects, all.objects), AboutCount(row.allocated.bytes),
                                   AboutShare(row.allocated.bytes, all.bytes)};
    if (arguments.live) {
      cells.insert(cells.end(), {Count(row.live.samples), AboutCount(row.live.objects), AboutCount(row.live.bytes),
                                 AboutShare(row.live.bytes, live.bytes)});
    }
    cells.push_back(Printable(row.key.class_name));
    cells.push_back(Printable(row.key.site));
    table.Add(std::move(cells));
    for (const std::string& caller : row.key.callers) {
      std::vector<std::string> line(width);
      line.back() = "  <- " + Printable(caller);
      table.Add(std::move(line));
    }
  }
  return table.ToString() + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json SitesJson(const Sampled& sampled, const std::vector<SiteRow>& rows, const Estimate& all,
                                 const Estimate& live, const SitesArguments& arguments, size_t top) {
  auto json = EstimatesJson(sampled);
  json["objects"] = Rounded(all.objects);
  json["bytes"] = Rounded(all.bytes);
  if (arguments.live) {
    json["live"] = {{"gc", nullptr}, {"lost", sampled.lost()}};
    if (arguments.gc) json["live"]["gc"] = *arguments.gc;
    AddEstimate(&json["live"], live);
  }
  json["sites"] = nlohmann::ordered_json::array();
  for (const SiteRow& row : std::span(rows).first(Shown(rows.size(), top))) {
    nlohmann::ordered_json entry{{"site", row.key.site}, {"class", row.key.class_name}};
    if (arguments.callers) entry["callers"] = row.key.callers;
    AddEstimate(&entry, row.allocated);
    if (arguments.live) {
      entry["live_objects"] = Rounded(row.live.objects);
      entry["live_bytes"] = Rounded(row.live.bytes);
      entry["live_samples"] = row.live.samples;
    }
    json["sites"].push_back(std::move(entry));
  }
  return json;
}

// Sizes of the samples of a class.
struct Sizes {
  uint64_t least = UINT64_MAX, most = 0;
};

struct ClassRow {
  uint64_t id = 0;
  const ClassInfo* info = nullptr;
  Estimate estimate;
  Sizes sizes;
};

std::vector<ClassRow> ClassRows(const Sampled& sampled, const std::string& text) {
  const Definitions& definitions = sampled.definitions();
  const auto class_of = [&](const SampledObject& sample) -> uint64_t { return definitions.site_class(sample.site_class).class_id; };
  std::unordered_map<uint64_t, Sizes> sizes;
  for (const SampledObject& sample : sampled.samples()) {
    Sizes& s = sizes[class_of(sample)];
    s = {std::min<uint64_t>(s.least, sample.words), std::max<uint64_t>(s.most, sample.words)};
  }
  std::vector<ClassRow> rows;
  for (const auto& [id, estimate] : sampled.By(class_of, Every)) {
    const ClassInfo& info = definitions.class_info(id);
    if (info.name.find(text) == std::string::npos) continue;
    rows.push_back({id, &info, estimate, sizes[id]});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return std::tie(b.estimate.bytes, a.info->name) < std::tie(a.estimate.bytes, b.info->name);
  });
  return rows;
}

std::string ClassesTable(const std::vector<ClassRow>& rows, const Estimate& all, size_t top) {
  Table table({{"Samples"}, {"Est. objects"}, {"Share"}, {"Est. bytes"}, {"Share"}, {"Sampled sizes"}, {"Class", Align::kLeft}});
  const size_t shown = Shown(rows.size(), top);
  for (const ClassRow& row : std::span(rows).first(shown)) {
    const std::string sizes = row.sizes.least == row.sizes.most
                                  ? Count(row.sizes.least * 8)
                                  : fmt::format("{} to {}", Count(row.sizes.least * 8), Count(row.sizes.most * 8));
    table.Add({Count(row.estimate.samples), AboutCount(row.estimate.objects),
               AboutShare(row.estimate.objects, all.objects), AboutCount(row.estimate.bytes),
               AboutShare(row.estimate.bytes, all.bytes), sizes, Printable(row.info->name)});
  }
  return table.ToString() + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json ClassesJson(const Sampled& sampled, const std::vector<ClassRow>& rows, const Estimate& all,
                                   size_t top) {
  auto json = EstimatesJson(sampled);
  json["objects"] = Rounded(all.objects);
  json["bytes"] = Rounded(all.bytes);
  json["classes"] = nlohmann::ordered_json::array();
  for (const ClassRow& row : std::span(rows).first(Shown(rows.size(), top))) {
    nlohmann::ordered_json entry{{"id", row.id}, {"class", row.info->name}};
    entry["hidden"] = (row.info->flags & trace::kClassHidden) != 0;
    AddEstimate(&entry, row.estimate);
    entry["least_bytes"] = row.sizes.least * 8;
    entry["most_bytes"] = row.sizes.most * 8;
    json["classes"].push_back(std::move(entry));
  }
  return json;
}

struct ThreadRow {
  uint64_t id = 0;
  Estimate estimate;
};

std::vector<ThreadRow> ThreadRows(const Sampled& sampled) {
  std::vector<ThreadRow> rows;
  for (const auto& [id, estimate] : sampled.By([](const SampledObject& s) -> uint64_t { return s.thread; }, Every)) {
    rows.push_back({id, estimate});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ThreadRow& a, const ThreadRow& b) { return a.estimate.bytes > b.estimate.bytes; });
  return rows;
}

template <class Row>
Estimate Sum(const std::vector<Row>& rows) {
  Estimate all;
  for (const Row& row : rows) all.Add(row.estimate);
  return all;
}

std::string ThreadsTable(const Definitions& definitions, const std::vector<ThreadRow>& rows, size_t top) {
  const Estimate all = Sum(rows);
  Table table({{"Id"}, {"Java id"}, {"Samples"}, {"Est. objects"}, {"Est. bytes"}, {"Share"}, {"Name", Align::kLeft}});
  const size_t shown = Shown(rows.size(), top);
  for (const ThreadRow& row : std::span(rows).first(shown)) {
    const ThreadInfo& info = definitions.thread(row.id);
    table.Add({std::to_string(row.id), info.java_id == 0 ? "-" : std::to_string(info.java_id),
               Count(row.estimate.samples), AboutCount(row.estimate.objects), AboutCount(row.estimate.bytes),
               AboutShare(row.estimate.bytes, all.bytes), Printable(info.name)});
  }
  table.AddRule();
  table.Add({"", "", Count(all.samples), AboutCount(all.objects), AboutCount(all.bytes), AboutShare(all.bytes, all.bytes),
             Plural(rows.size(), "thread") + " with samples"});
  return table.ToString();
}

nlohmann::ordered_json ThreadsJson(const Sampled& sampled, const std::vector<ThreadRow>& rows) {
  auto json = EstimatesJson(sampled);
  json["threads"] = nlohmann::ordered_json::array();
  for (const ThreadRow& row : rows) {
    const ThreadInfo& info = sampled.definitions().thread(row.id);
    nlohmann::ordered_json entry{{"id", row.id}, {"java_id", info.java_id}, {"os_id", info.os_id}, {"name", info.name}};
    AddEstimate(&entry, row.estimate);
    json["threads"].push_back(std::move(entry));
  }
  return json;
}

std::string Head(const Sampled& sampled, const std::string& line) {
  return EstimatesLine(sampled) + line;
}

}  // namespace

int RunSampledSites(Session& session, const SitesArguments& arguments) {
  if (arguments.tiers) return session.NotInSamples("--tiers: JVM TI does not tell which compiler made the code that allocates");
  Problems problems;
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  const PassSummary summary = session.Run(definitions, problems, sampled);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (arguments.gc) {
    std::vector<uint64_t> ids;
    for (const Sampled::Gc& gc : sampled.gcs()) ids.push_back(gc.id);
    if (std::find(ids.begin(), ids.end(), *arguments.gc) == ids.end()) return session.NoSuchGc(*arguments.gc, ids);
  }
  const std::vector<SiteRow> rows = SiteRows(sampled, arguments);
  Estimate all, live;
  for (const SiteRow& row : rows) {
    all.Add(row.allocated);
    live.Add(row.live);
  }
  if (session.json) {
    session.out << JsonText(SitesJson(sampled, rows, all, live, arguments, session.top));
  } else {
    session.out << Head(sampled, fmt::format("allocated: {}, {}\n", About(all), Plural(rows.size(), "row")));
    if (arguments.live) {
      const std::string when = arguments.gc ? fmt::format("after GC {}", *arguments.gc) : "at the end of the trace";
      session.out << fmt::format("live {}: {}{}\n", when, About(live), sampled.lost() ? " (events were lost before)" : "");
    }
    session.out << "\n" << SitesTable(rows, all, live, arguments, session.top);
  }
  return session.Finish(summary, problems);
}

int RunSampledClasses(Session& session, const ClassesArguments& arguments) {
  if (arguments.layout) return session.NotInSamples("--layout: the fields of classes are not recorded");
  Problems problems;
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  const PassSummary summary = session.Run(definitions, problems, sampled);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ClassRow> rows = ClassRows(sampled, arguments.name);
  const Estimate all = Sum(rows);
  if (session.json) {
    session.out << JsonText(ClassesJson(sampled, rows, all, session.top));
  } else {
    const std::string classes = rows.size() == 1 ? "1 class" : Count(rows.size()) + " classes";
    session.out << Head(sampled, fmt::format("{}, allocated: {}\n\n", classes, About(all)))
                << ClassesTable(rows, all, session.top);
  }
  return session.Finish(summary, problems);
}

int RunSampledThreads(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  const PassSummary summary = session.Run(definitions, problems, sampled);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ThreadRow> rows = ThreadRows(sampled);
  session.out << (session.json ? JsonText(ThreadsJson(sampled, rows))
                               : Head(sampled, "\n") + ThreadsTable(definitions, rows, session.top));
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
