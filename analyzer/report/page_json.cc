// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyzer/model/labels.h"
#include "analyzer/report/page_rows.h"
#include "analyzer/report/report_page.h"

namespace anttracks::analyzer {
namespace {

using Json = nlohmann::ordered_json;

// What the page has of each kind at most.
struct Limits {
  size_t rows = 500, calls = 6000, gcs = 1000, leaks = 60, lifetimes = 400, text = 4000;

  Limits Halved() const { return {rows / 2, calls / 2, gcs / 2, leaks / 2, lifetimes / 2, text / 2}; }
};
constexpr size_t kLeastRows = 4;

// Each text once.
class Texts {
 public:
  Json Number(const std::string& text) {
    if (text.empty()) return nullptr;
    const auto [known, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  Json Take() { return std::move(texts_); }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  Json texts_ = Json::array();
};

// Cut where a character begins.
std::string Cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t at = most;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) at--;
  return text.substr(0, at) + "...";
}

Json AmountsOf(const std::vector<PageRow>& rows, Amount PageRow::*which, Basis basis) {
  Json json{{"objects", Json::array()}, {"bytes", Json::array()}};
  if (basis != Basis::kExact) json["low"] = json["high"] = Json::array();
  for (const PageRow& row : rows) {
    const Estimated bytes = (row.*which).bytes();
    json["objects"].push_back(Rounded((row.*which).objects().value));
    json["bytes"].push_back(Rounded(bytes.value));
    if (basis == Basis::kExact) continue;
    json["low"].push_back(Rounded(bytes.low));
    json["high"].push_back(Rounded(bytes.high));
  }
  return json;
}

Json RowsJson(const PageContent& content, const PageRows& rows, Texts* texts) {
  Json json{{"site", Json::array()}, {"class", Json::array()}, {"application", Json::array()}};
  for (const PageRow& row : rows.rows()) {
    json["site"].push_back(texts->Number(row.site));
    json["class"].push_back(texts->Number(row.class_name));
    json["application"].push_back(texts->Number(row.application));
  }
  json["sites"] = rows.sites();
  json["others"] = rows.others();
  json["in_classes"] = rows.in_classes();
  if (content.censuses) return json;
  json["allocated"] = AmountsOf(rows.rows(), &PageRow::allocated, content.allocated_basis);
  json["survived"] = AmountsOf(rows.rows(), &PageRow::survived, content.live_basis);
  return json;
}

// Which collections are drawn: those of the moments, and of equal parts of the others the longest ones.
std::vector<size_t> DrawnGcs(const PageContent& content, size_t most) {
  std::vector<bool> drawn(content.gcs.size(), content.gcs.size() <= most);
  for (const PageMoment& moment : content.moments)
    if (moment.gc != PageMoment::kEnd) drawn[moment.gc] = true;
  const auto pause = [&](size_t gc) { return content.gcs[gc].end_ns - content.gcs[gc].begin_ns; };
  for (size_t part = 0; part < most && content.gcs.size() > most; part++) {
    size_t longest = part * content.gcs.size() / most;
    for (size_t i = longest; i < (part + 1) * content.gcs.size() / most; i++)
      if (pause(i) > pause(longest)) longest = i;
    drawn[longest] = true;
  }
  std::vector<size_t> gcs;
  for (size_t i = 0; i < drawn.size(); i++)
    if (drawn[i]) gcs.push_back(i);
  return gcs;
}

Json SpacesJson(const PageContent& content, const std::vector<size_t>& drawn) {
  Json json = Json::array();
  for (size_t kind = 0; kind < kSpaceKinds; kind++) {
    Json before = Json::array(), after = Json::array();
    bool any = false;
    for (const size_t gc : drawn) {
      before.push_back(content.gcs[gc].before[kind]);
      after.push_back(content.gcs[gc].after[kind]);
      any = any || content.gcs[gc].before[kind] != 0 || content.gcs[gc].after[kind] != 0;
    }
    if (any) {
      json.push_back({{"name", SpaceLabel(static_cast<SpaceKind>(kind))},
                      {"before", std::move(before)},
                      {"after", std::move(after)}});
    }
  }
  return json;
}

Json GcsJson(const PageContent& content, const std::vector<size_t>& drawn, Texts* texts) {
  Json json{{"all", content.gcs.size()}};
  for (const char* key : {"id", "kind", "cause", "begin", "end", "moved", "live_bytes", "live_objects"})
    json[key] = Json::array();
  for (const size_t i : drawn) {
    const PageGc& gc = content.gcs[i];
    json["id"].push_back(gc.id);
    json["kind"].push_back(texts->Number(gc.kind));
    json["cause"].push_back(texts->Number(gc.cause));
    json["begin"].push_back(gc.begin_ns);
    json["end"].push_back(gc.end_ns);
    json["moved"].push_back(gc.moved_bytes);
    json["live_bytes"].push_back(gc.live ? Json(gc.live->bytes) : Json());
    json["live_objects"].push_back(gc.live ? Json(gc.live->objects) : Json());
  }
  if (content.censuses) {
    for (const char* key : {"counting", "with_dead"}) json[key] = Json::array();
    for (const size_t i : drawn) {
      json["counting"].push_back(content.gcs[i].count_ns);
      json["with_dead"].push_back(content.gcs[i].with_dead);
    }
  }
  json["spaces"] = SpacesJson(content, drawn);
  return json;
}

Json MomentsJson(const PageContent& content, const PageRows& rows, const std::vector<size_t>& drawn) {
  Json json = Json::array();
  for (const PageMoment& moment : content.moments) {
    Json live = Json::array();
    for (const auto& [row, totals] : rows.LiveAt(moment))
      for (const uint64_t value : {uint64_t{row}, totals.objects, totals.bytes}) live.push_back(value);
    const auto at = std::lower_bound(drawn.begin(), drawn.end(), moment.gc);
    const bool at_end = moment.gc == PageMoment::kEnd;
    json.push_back(
        {{"gc", at_end ? Json() : Json(at - drawn.begin())}, {"text", moment.text}, {"live", std::move(live)}});
  }
  return json;
}

Json CallsJson(const PageContent& content, const PageRows& rows, size_t most, Texts* texts) {
  const PageCalls calls = CallsOf(content, rows, most);
  Json json{{"note", content.stacks_note}, {"parent", Json::array()}, {"name", Json::array()}};
  for (const PageCalls::Node& node : calls.nodes) {
    json["parent"].push_back(node.parent);
    json["name"].push_back(texts->Number(calls.names[node.name]));
  }
  Json& of_rows = json["rows"] = Json::array();
  for (const auto& parts : calls.of_rows) {
    Json list = Json::array();
    for (const PageCalls::Part& part : parts) {
      list.push_back(part.node);
      list.push_back(part.weight);
    }
    of_rows.push_back(std::move(list));
  }
  return json;
}

Json LeaksJson(const PageContent& content, size_t most, Texts* texts) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(most, content.leaks.size()); i++) {
    const PageLeak& leak = content.leaks[i];
    Json history = Json::array();
    for (const PageLeak::Point& point : leak.history)
      history.push_back(
          {point.gc, point.time_ns, point.live.objects, point.live.bytes, point.old_space ? 1 : 0});
    rows.push_back({{"verdict", leak.verdict},
                    {"leaks", leak.leaks},
                    {"site", texts->Number(leak.site)},
                    {"class", texts->Number(leak.class_name)},
                    {"application", texts->Number(leak.application)},
                    {"since_gc", leak.since_gc},
                    {"then", {leak.then.objects, leak.then.bytes}},
                    {"now", {leak.now.objects, leak.now.bytes}},
                    {"bytes_per_gc", leak.bytes_per_gc},
                    {"bytes_per_minute", leak.bytes_per_minute},
                    {"oldest_ns", leak.oldest_ns ? Json(*leak.oldest_ns) : Json()},
                    {"share", leak.share},
                    {"history", std::move(history)}});
  }
  return {{"note", content.leaks_note}, {"rows", std::move(rows)}};
}

constexpr const char* kLifetimeNumbers[] = {"/objects",
                                            "/bytes",
                                            "/died_young/objects",
                                            "/died_young/bytes",
                                            "/died_old/objects",
                                            "/died_old/bytes",
                                            "/live/objects",
                                            "/live/bytes",
                                            "/survived/mean",
                                            "/copied/objects",
                                            "/copied/bytes",
                                            "/promoted/bytes",
                                            "/byte_seconds",
                                            "/promoted_then_dead/bytes",
                                            "/pretenuring_saves/bytes"};

// The first rows, in columns. Those left out are one row, but for the mean.
Json LifetimesJson(const PageContent& content, size_t most, Texts* texts) {
  Json json{{"note", content.lifetimes_note}, {"columns", Json::array()}, {"rows", Json::array()}};
  const auto found = content.lifetimes.find("rows");
  if (!content.lifetimes.is_object() || found == content.lifetimes.end() || !found->is_array()) return json;
  for (const char* key : kLifetimeNumbers) json["columns"].push_back(key + 1);
  std::vector<double> rest(std::size(kLifetimeNumbers));
  size_t left_out = 0;
  for (const Json& row : *found) {
    const bool shown = json["rows"].size() < most;
    Json cells = Json::array();
    for (const char* key : {"site", "class", "application"}) {
      const auto text = row.find(key);
      const bool has = text != row.end() && text->is_string();
      cells.push_back(shown && has ? texts->Number(text->get<std::string>()) : Json());
    }
    for (size_t i = 0; i < rest.size(); i++) {
      const Json::json_pointer key(kLifetimeNumbers[i]);
      const Json value = row.contains(key) && row[key].is_number() ? row[key] : Json();
      if (!shown && value.is_number()) rest[i] += value.get<double>();
      cells.push_back(value);
    }
    if (shown) json["rows"].push_back(std::move(cells));
    left_out += !shown;
  }
  json["others"] = left_out;
  if (left_out == 0) return json;
  Json cells{texts->Number(Plural(left_out, "smaller site")), texts->Number("(other)"), Json()};
  for (size_t i = 0; i < rest.size(); i++)
    cells.push_back(std::string_view(kLifetimeNumbers[i]) == "/survived/mean" ? Json()
                                                                              : Json(Rounded(rest[i])));
  json["rows"].push_back(std::move(cells));
  return json;
}

Json HeadJson(const PageContent& content, size_t most_text) {
  Json head = Json::array();
  for (const auto& [name, text] : content.head)
    if (!text.empty()) head.push_back({name, Cut(Printable(text), most_text)});
  return head;
}

Json PageJson(const PageContent& content, const ApplicationFrames& frames, const Limits& limits) {
  Texts texts;
  const PageRows rows(content, frames, limits.rows);
  const std::vector<size_t> drawn = DrawnGcs(content, limits.gcs);
  Json json{{"head", HeadJson(content, limits.text)}, {"notes", content.notes}};
  json["duration"] = content.summary.duration_ns;
  json["censuses"] = content.censuses;
  json["allocated_estimated"] = content.allocated_basis != Basis::kExact;
  json["live_estimated"] = content.live_basis != Basis::kExact;
  json["gcs"] = GcsJson(content, drawn, &texts);
  json["syncs"] = Json::array();
  for (size_t i = 0; i < std::min(limits.gcs, content.syncs.size()); i++) {
    const PageSync& sync = content.syncs[i];
    json["syncs"].push_back({sync.time_ns, texts.Number(sync.reason), texts.Number(sync.state)});
  }
  Json bytes = Json::array();
  for (const double each : content.rate.bytes()) bytes.push_back(Rounded(each));
  json["rate"] = {{"period", content.rate.period_ns()}, {"bytes", std::move(bytes)}};
  json["rows"] = RowsJson(content, rows, &texts);
  json["moments"] = MomentsJson(content, rows, drawn);
  json["calls"] = CallsJson(content, rows, limits.calls, &texts);
  json["leaks"] = LeaksJson(content, limits.leaks, &texts);
  json["lifetimes"] = LifetimesJson(content, limits.lifetimes, &texts);
  json["texts"] = texts.Take();
  return json;
}

}  // namespace

std::string JsonInScript(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    // Within a text only: JSON has it nowhere else.
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string_view PageBegin() { return kReportPage[0].substr(0, kReportPage[0].find("\n<html")); }

std::string PageText(const PageContent& content, const ApplicationFrames& frames) {
  Limits limits;
  for (;; limits = limits.Halved()) {
    std::string page = std::string(kReportPage[0]) + JsonInScript(PageJson(content, frames, limits));
    page += kReportPage[1];
    if (page.size() <= kMostPageBytes || limits.rows <= kLeastRows) return page;
  }
}

}  // namespace anttracks::analyzer
