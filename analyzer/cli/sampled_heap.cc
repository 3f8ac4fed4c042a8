// SPDX-License-Identifier: Apache-2.0
// Samples that live: `heap` and `gcs`; and what the commands on samples share.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <span>
#include <utility>

#include "analyzer/cli/json.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

struct Row {
  std::string key;
  Estimate estimate;
};

// A number by which samples are told apart, and its name.
std::vector<Row> Rows(const Sampled& sampled, const std::string& by, std::optional<uint64_t> gc) {
  const Definitions& definitions = sampled.definitions();
  const auto begun = gc ? *gc + 1 : sampled.gcs().empty() ? 0 : sampled.gcs().back().id + 1;
  const auto key = [&](const SampledObject& sample) -> uint64_t {
    if (by == "site") return definitions.site_class(sample.site_class).site;
    if (by == "thread") return sample.thread;
    if (by == "age") return begun - std::min<uint64_t>(begun, sample.born);
    return definitions.site_class(sample.site_class).class_id;
  };
  const auto name = [&](uint64_t id) -> std::string {
    if (by == "site") return SiteLabel(definitions, static_cast<uint32_t>(id));
    if (by == "thread") return ThreadLabel(definitions, id);
    if (by == "age") return Plural(id, "GC");
    return ClassLabel(definitions, id);
  };
  std::map<std::string, Estimate> by_name;
  for (const auto& [id, estimate] : sampled.By(key, [&](const SampledObject& s) { return s.LivesAfter(gc); })) {
    by_name[name(id)].Add(estimate);
  }
  std::vector<Row> rows;
  for (const auto& [text, estimate] : by_name) rows.push_back({text, estimate});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.estimate.bytes > b.estimate.bytes; });
  return rows;
}

Estimate Sum(const std::vector<Row>& rows) {
  Estimate all;
  for (const Row& row : rows) all.Add(row.estimate);
  return all;
}

std::string HeapText(const std::vector<Row>& rows, const std::string& by, size_t top) {
  std::string title = by;
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  const Estimate all = Sum(rows);
  Table table({{"Samples"}, {"Est. objects"}, {"Share"}, {"Est. bytes"}, {"Share"}, {title, Table::Align::kLeft}});
  const size_t shown = Shown(rows.size(), top);
  for (const Row& row : std::span(rows).first(shown)) {
    table.Add({Count(row.estimate.samples), AboutCount(row.estimate.objects),
               AboutShare(row.estimate.objects, all.objects), AboutCount(row.estimate.bytes),
               AboutShare(row.estimate.bytes, all.bytes), Printable(row.key)});
  }
  return table.ToString() + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json HeapJson(const Sampled& sampled, const std::vector<Row>& rows, const std::string& by,
                                std::optional<uint64_t> gc, size_t top) {
  auto json = EstimatesJson(sampled);
  json["gc"] = gc ? nlohmann::ordered_json(*gc) : nlohmann::ordered_json();
  json["lost"] = sampled.lost();
  const Estimate all = Sum(rows);
  json["objects"] = Rounded(all.objects);
  json["bytes"] = Rounded(all.bytes);
  json["live_samples"] = all.samples;
  json["by"] = by;
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : std::span(rows).first(Shown(rows.size(), top))) {
    nlohmann::ordered_json entry{{by, row.key}};
    AddEstimate(&entry, row.estimate);
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

// What lived after a collection, and what was made and died since the one before.
struct GcRow {
  Sampled::Gc gc;
  Estimate live, died;
};

// Sums of births and deaths by collection: one look at each sample whatever the number of collections.
std::vector<GcRow> GcRows(const Sampled& sampled) {
  std::map<uint64_t, Estimate> born, died;
  for (const SampledObject& sample : sampled.samples()) {
    born[sample.born].Add(sampled.Of(sample));
    if (sample.died == SampledObject::kAlive) continue;
    // One that was recorded only after the collection that freed it had begun never lived after one.
    died[std::max(sample.died, sample.born + 1)].Add(sampled.Of(sample));
  }
  std::vector<GcRow> rows;
  Estimate made, gone;
  auto next_born = born.begin(), next_died = died.begin();
  for (const Sampled::Gc& gc : sampled.gcs()) {
    GcRow row{gc, {}, {}};
    for (; next_born != born.end() && next_born->first <= gc.id; ++next_born) made.Add(next_born->second);
    for (; next_died != died.end() && next_died->first <= gc.id + 1; ++next_died) row.died.Add(next_died->second);
    gone.Add(row.died);
    row.live = {made.samples - std::min(made.samples, gone.samples), std::max(0.0, made.objects - gone.objects),
                std::max(0.0, made.bytes - gone.bytes)};
    rows.push_back(row);
  }
  return rows;
}

nlohmann::ordered_json ToJson(const GcRow& row) {
  nlohmann::ordered_json json{{"id", row.gc.id},
                              {"kind", nullptr},
                              {"cause", nullptr},
                              {"start_ns", row.gc.begin_ns},
                              {"duration_ns", row.gc.end_ns - row.gc.begin_ns}};
  for (const auto& [name, estimate] : {std::pair("live", row.live), std::pair("died", row.died)}) {
    nlohmann::ordered_json part = nlohmann::ordered_json::object();
    AddEstimate(&part, estimate);
    json[name] = std::move(part);
  }
  return json;
}

std::string ToText(const std::vector<GcRow>& rows) {
  Table table({{"GC"}, {"Start"}, {"Duration"}, {"Live samples"}, {"Est. live objects"}, {"Est. live bytes"}, {"Est. died"}});
  for (const GcRow& row : rows) {
    table.Add({std::to_string(row.gc.id), Duration(row.gc.begin_ns), Duration(row.gc.end_ns - row.gc.begin_ns),
               Count(row.live.samples), AboutCount(row.live.objects), AboutBytes(row.live.bytes),
               AboutBytes(row.died.bytes)});
  }
  return table.ToString();
}

std::string Moment(const Sampled& sampled, std::optional<uint64_t> gc, uint64_t end_ns) {
  if (!gc) return fmt::format("at the end of the trace, {}", Duration(end_ns));
  const auto& gcs = sampled.gcs();
  const auto found = std::find_if(gcs.begin(), gcs.end(), [&](const Sampled::Gc& each) { return each.id == *gc; });
  return fmt::format("after GC {}, at {}", *gc, Duration(found->end_ns));
}

}  // namespace

std::string AboutShare(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("~{:.1f} %", 100 * part / whole);
}

std::string About(const Estimate& estimate) {
  return fmt::format("{} objects, {}", AboutCount(estimate.objects), AboutBytes(estimate.bytes));
}

std::string IntervalText(uint64_t least, uint64_t most) {
  constexpr const char* kEvery = "every object that the JVM reported";
  if (most == 0) return kEvery;
  if (least == most) return fmt::format("one per {} on average", Bytes(most));
  if (least == 0) return fmt::format("{} to one per {} on average", kEvery, Bytes(most));
  return fmt::format("one per {} to {} on average", Bytes(least), Bytes(most));
}

std::string EstimatesLine(const Sampled& sampled) {
  return fmt::format("estimates from {}, {}\n", Plural(sampled.samples().size(), "sample"), IntervalText(sampled.least_interval(), sampled.most_interval()));
}

nlohmann::ordered_json EstimatesJson(const Sampled& sampled) {
  return {{"estimated", true},
          {"interval", sampled.interval()},
          {"least_interval", sampled.least_interval()},
          {"most_interval", sampled.most_interval()},
          {"samples", sampled.samples().size()}};
}

void AddEstimate(nlohmann::ordered_json* json, const Estimate& estimate) {
  (*json)["objects"] = Rounded(estimate.objects);
  (*json)["bytes"] = Rounded(estimate.bytes);
  (*json)["samples"] = estimate.samples;
}

int RunSampledHeap(Session& session, const HeapArguments& arguments) {
  if (arguments.objects) return session.NotInSamples("--objects lists every object by its address");
  if (arguments.by == "space") return session.NotInSamples("--by space takes the addresses of objects");
  Problems problems;
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  const PassSummary summary = session.Run(definitions, problems, sampled);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  std::vector<uint64_t> ids;
  for (const Sampled::Gc& gc : sampled.gcs()) ids.push_back(gc.id);
  std::optional<uint64_t> gc = arguments.gc;
  if (gc && std::find(ids.begin(), ids.end(), *gc) == ids.end()) return session.NoSuchGc(*gc, ids);
  if (!gc && !arguments.end && !ids.empty()) gc = ids.back();
  const std::vector<Row> rows = Rows(sampled, arguments.by, gc);
  if (session.json) {
    session.out << JsonText(HeapJson(sampled, rows, arguments.by, gc, session.top));
  } else {
    session.out << EstimatesLine(sampled)
                << fmt::format("heap {}: {}{}\n\n", Moment(sampled, gc, summary.duration_ns), About(Sum(rows)),
                               sampled.lost() ? " (events were lost before)" : "")
                << HeapText(rows, arguments.by, session.top);
  }
  return session.Finish(summary, problems);
}

int RunSampledGcs(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  Sampled sampled(definitions, problems, session.sampled->interval);
  const PassSummary summary = session.Run(definitions, problems, sampled);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<GcRow> rows = GcRows(sampled);
  if (session.json) {
    auto json = EstimatesJson(sampled);
    json["gcs"] = nlohmann::ordered_json::array();
    for (const GcRow& row : rows) json["gcs"].push_back(ToJson(row));
    session.out << JsonText(json);
  } else if (rows.empty()) {
    session.out << "no collection in the trace\n";
  } else {
    session.out << EstimatesLine(sampled) << "\n" << ToText(rows);
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
