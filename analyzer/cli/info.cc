// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"
#include "analyzer/passes/sampled.h"
#include "trace/json_text.h"

namespace anttracks::analyzer {
namespace {

constexpr GcKind kTracedKinds[] = {GcKind::kYoung, GcKind::kMixed, GcKind::kFull, GcKind::kRemark};

// For a trace of samples: the same, and the estimates.
class SampledOverview : public Overview {
 public:
  SampledOverview(const Definitions& definitions, Problems& problems, uint64_t interval)
      : Overview(definitions), sampled_(definitions, problems, interval) {}

  void set_position(const Position& position) override { sampled_.set_position(position); }
  void Sample(const SampleEvent& event) override { sampled_.Sample(event); }
  void SampleDied(uint64_t number, uint64_t collections) override { sampled_.SampleDied(number, collections); }
  void GcBegin(const GcEvent& event) override {
    Overview::GcBegin(event);
    sampled_.GcBegin(event);
  }
  void GcEnd(const GcEvent& event) override {
    Overview::GcEnd(event);
    sampled_.GcEnd(event);
  }
  void Loss(const LossEvent& event) override {
    Overview::Loss(event);
    sampled_.Loss(event);
  }
  void End(const EndEvent& event) override {
    Overview::End(event);
    sampled_.End(event);
  }
  void Gap() override { sampled_.Gap(); }

  const Sampled& sampled() const { return sampled_; }

 private:
  Sampled sampled_;
};

// For a trace of censuses: the same, and the censuses.
class CensusOverview : public Overview {
 public:
  CensusOverview(const Definitions& definitions, Problems& problems)
      : Overview(definitions), censuses_(definitions, problems) {}

  void set_position(const Position& position) override { censuses_.set_position(position); }
  void Census(const CensusEvent& event) override { censuses_.Census(event); }

  const Censuses& censuses() const { return censuses_; }

 private:
  Censuses censuses_;
};

// All of them, and those that live at the end.
struct SampleTotals {
  Amount allocated, live;
};

SampleTotals TotalsOf(const Sampled& sampled) {
  SampleTotals totals;
  for (const SampledObject& sample : sampled.samples()) {
    const Amount amount(sampled.Of(sample));
    totals.allocated.Add(amount);
    if (sample.LivesAfter(std::nullopt)) totals.live.Add(amount);
  }
  return totals;
}

std::string_view RoleLabel(const trace::FileInfo& file) {
  if (file.is_definitions()) return "definitions";
  if (file.is_provenance()) return "origins";
  return file.is_data() ? "data" : "trace";
}

std::string_view SyncReasonLabel(SyncReason reason) {
  switch (reason) {
    case SyncReason::kStart:
      return "start";
    case SyncReason::kAttach:
      return "attach";
    case SyncReason::kRotation:
      return "rotation";
  }
  return "?";
}

uint64_t FileBytes(const trace::ChunkSource& reader) { return reader.total_bytes(); }

std::string PerObject(uint64_t bytes, uint64_t objects) {
  if (objects == 0) return "-";
  return fmt::format("{:.2f} B", static_cast<double>(bytes) / static_cast<double>(objects));
}

double Ratio(uint64_t bytes, uint64_t objects) {
  return objects == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(objects);
}

nlohmann::ordered_json Totals(const HeapTotals& totals) {
  return {{"objects", totals.objects}, {"bytes", totals.bytes()}};
}

// Empty for a file that was not read.
FileOverview OverviewOf(const Overview& overview, size_t file) {
  return file < overview.files().size() ? overview.files()[file] : FileOverview{};
}

nlohmann::ordered_json SyncsJson(const FileOverview& file) {
  auto list = nlohmann::ordered_json::array();
  for (const FileOverview::Sync& sync : file.syncs) {
    list.push_back({{"reason", SyncReasonLabel(sync.reason)},
                    {"time_ns", sync.time},
                    {"state", SyncLabel(sync.state)},
                    {"objects", sync.objects.objects},
                    {"bytes", sync.objects.bytes()}});
  }
  return list;
}

nlohmann::ordered_json FilesJson(const trace::ChunkSource& reader, const Overview& overview) {
  auto list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < reader.files().size(); i++) {
    const trace::FileInfo& file = reader.files()[i];
    nlohmann::ordered_json json{{"path", file.path}, {"role", RoleLabel(file)}};
    if (!file.is_definitions()) json["index"] = file.index;
    json["bytes"] = file.bytes;
    json["format"] = fmt::format("{}.{}", file.major, file.minor);
    json["truncated_bytes"] = file.truncated_bytes;
    if (file.has_events()) {
      const FileOverview contents = OverviewOf(overview, i);
      json["gcs"] = contents.gcs;
      json["first_gc"] =
          contents.gcs == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(contents.first_gc);
      json["last_gc"] = contents.gcs == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(contents.last_gc);
      json["sync_points"] = SyncsJson(contents);
    }
    list.push_back(std::move(json));
  }
  return list;
}

nlohmann::ordered_json SegmentsJson(const PassSummary& summary) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (size_t i = 0; i < summary.segments.size(); i++) {
    const SegmentCount& count = summary.segments[i];
    if (count.segments == 0) continue;
    json[trace::kSegments[i].name] = {{"segments", count.segments}, {"bytes", count.bytes}};
  }
  return json;
}

nlohmann::ordered_json LossesJson(const Overview& overview) {
  auto list = nlohmann::ordered_json::array();
  for (const LossEvent& loss : overview.losses()) {
    list.push_back(
        {{"time_ns", loss.time}, {"segments", loss.segments}, {"bytes", loss.bytes}, {"reason", loss.reason}});
  }
  return list;
}

nlohmann::ordered_json ProgramJson(const trace::ChunkSource& reader, const PassSummary& summary,
                                   const Overview& overview) {
  const Meta& meta = summary.meta;
  const trace::FileInfo& first = reader.files()[0];
  nlohmann::ordered_json json;
  json["files"] = FilesJson(reader, overview);
  json["trace_id"] = fmt::format("{:016x}", first.trace_id);
  json["process_id"] = first.process_id;
  json["wall_clock_ns"] = first.wall_clock_ns;
  json["agent_version"] = meta.agent_version;
  json["vm_version"] = meta.vm_version;
  json["java_command"] = meta.java_command;
  json["vm_flags"] = meta.vm_flags;
  if (!meta.sites.empty()) json["sites"] = meta.sites;
  json["options"] = meta.options;
  return json;
}

void AddOutputJson(nlohmann::ordered_json* to, const PassSummary& summary, const Overview& overview) {
  nlohmann::ordered_json& json = *to;
  json["losses"] = LossesJson(overview);
  json["ended_cleanly"] = summary.ended;
  json["end_reason"] = overview.end().reason;
  auto counters = trace::ParseOrderedJson(overview.end().counters);
  json["counters"] = counters.is_discarded() ? nlohmann::ordered_json() : std::move(counters);
  json["truncated_bytes"] = summary.truncated_bytes;
  json["damage"] = summary.damage;
}

nlohmann::ordered_json ToJson(const trace::ChunkSource& reader, const PassSummary& summary,
                              const SampledOverview& overview) {
  const Sampled& sampled = overview.sampled();
  const SampleTotals totals = TotalsOf(sampled);
  nlohmann::ordered_json json = ProgramJson(reader, summary, overview);
  json["mode"] = "sample";
  json.update(EstimatesJson(sampled));
  json["depth"] = summary.meta.depth;
  json["duration_ns"] = summary.duration_ns;
  json["gcs"] = sampled.gcs().size();
  json["gc_ns"] = overview.gc_ns();
  AddAmount(&json["allocated"], totals.allocated, Basis::kSamples);
  AddAmount(&json["live_at_end"], totals.live, Basis::kSamples);
  json["segments"] = SegmentsJson(summary);
  json["chunks"] = summary.chunks;
  json["raw_bytes"] = summary.raw_bytes;
  json["stored_bytes"] = summary.stored_bytes;
  AddOutputJson(&json, summary, overview);
  return json;
}

nlohmann::ordered_json ToJson(const trace::ChunkSource& reader, const PassSummary& summary,
                              const CensusOverview& overview) {
  const Censuses& censuses = overview.censuses();
  nlohmann::ordered_json json = ProgramJson(reader, summary, overview);
  json["mode"] = "census";
  json["object_alignment"] = summary.meta.object_alignment;
  json["heap_start"] = summary.meta.heap_start;
  json["heap_end"] = summary.meta.heap_end;
  json["duration_ns"] = summary.duration_ns;
  json["censuses"] = censuses.events().size();
  json["old_space_censuses"] = censuses.old_space_events().size();
  const CensusEvent* const latest = censuses.latest();
  json["live"] = latest == nullptr ? nlohmann::ordered_json() : Totals({latest->objects, latest->words});
  json["segments"] = SegmentsJson(summary);
  json["chunks"] = summary.chunks;
  json["raw_bytes"] = summary.raw_bytes;
  json["stored_bytes"] = summary.stored_bytes;
  AddOutputJson(&json, summary, overview);
  return json;
}

void AddSkippedJson(nlohmann::ordered_json* json, const Overview& overview) {
  (*json)["skipped_bytes"] = InBytes(overview.skipped_words());
  (*json)["found"] = Totals(overview.found());
  auto shares = nlohmann::ordered_json::array();
  const ShareOverTime& over_time = overview.shares();
  for (size_t i = 0; i < over_time.periods().size(); i++) {
    if (over_time.periods()[i].segments == 0) continue;
    shares.push_back({{"time_ns", i * over_time.period_ns()}, {"share", over_time.periods()[i].mean()}});
  }
  (*json)["share_over_time"] = std::move(shares);
}

nlohmann::ordered_json ToJson(const trace::ChunkSource& reader, const PassSummary& summary,
                              const Overview& overview) {
  const Meta& meta = summary.meta;
  const uint64_t objects = overview.tlab().objects + overview.outside().objects;
  nlohmann::ordered_json json = ProgramJson(reader, summary, overview);
  json["object_alignment"] = meta.object_alignment;
  json["heap_start"] = meta.heap_start;
  json["heap_end"] = meta.heap_end;
  json["duration_ns"] = summary.duration_ns;
  for (const GcKind kind : kTracedKinds) json[fmt::format("{}_gcs", GcLabel(kind))] = overview.gcs(kind);
  json["gc_ns"] = overview.gc_ns();
  json["sync_points"] = overview.syncs(SyncState::kNone);
  json["abandoned_sync_points"] = overview.syncs(SyncState::kAbandoned);
  json["incomplete_sync_points"] = overview.syncs(SyncState::kIncomplete);
  json["in_tlabs"] = Totals(overview.tlab());
  json["outside_tlabs"] = Totals(overview.outside());
  json["in_sync_points"] = Totals(overview.sync());
  json["fillers"] = Totals(overview.fillers());
  if (overview.skipped_words() != 0) AddSkippedJson(&json, overview);
  json["segments"] = SegmentsJson(summary);
  json["chunks"] = summary.chunks;
  json["raw_bytes"] = summary.raw_bytes;
  json["stored_bytes"] = summary.stored_bytes;
  json["raw_bytes_per_object"] = Ratio(summary.raw_bytes, objects);
  json["file_bytes_per_object"] = Ratio(FileBytes(reader), objects);
  AddOutputJson(&json, summary, overview);
  return json;
}

class Lines {
 public:
  void Add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<16}{}\n", name, value.empty() ? "-" : Printable(value));
  }
  void Blank() { text_ += "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string TotalsText(const HeapTotals& totals) {
  return fmt::format("{}, {}", Plural(totals.objects, "object"), Bytes(totals.bytes()));
}

std::string GcRange(uint64_t first, uint64_t last) {
  return first == last ? fmt::format("GC {}", first) : fmt::format("GC {} to {}", first, last);
}

std::string ContentsText(const FileOverview& file) {
  if (!file.read) return "not read";
  std::string text = file.gcs == 0 ? "no GC" : GcRange(file.first_gc, file.last_gc);
  for (const FileOverview::Sync& sync : file.syncs)
    text += fmt::format(", sync point {}", SyncLabel(sync.state));
  return text;
}

std::string FileLabel(const trace::FileInfo& file) {
  if (file.is_data()) return fmt::format("file {}", file.index);
  if (file.is_provenance()) return "provenance";
  return file.has_events() ? "file" : "definitions";
}

void AddFiles(Lines* lines, const trace::ChunkSource& reader, const Overview& overview) {
  for (size_t i = 0; i < reader.files().size(); i++) {
    const trace::FileInfo& file = reader.files()[i];
    std::string text =
        fmt::format("{}, {}, format {}.{}", file.path, Bytes(file.bytes), file.major, file.minor);
    if (file.is_data()) text += ", " + ContentsText(OverviewOf(overview, i));
    lines->Add(FileLabel(file), text);
  }
}

// For a rotated trace: what the remaining data files cover.
void AddPeriod(Lines* lines, const trace::ChunkSource& reader, const PassSummary& summary,
               const Overview& overview) {
  const size_t first_file = reader.files()[1].is_provenance() ? 2 : 1;
  const trace::FileInfo& first = reader.files()[first_file];
  uint64_t begin = 0;
  uint64_t first_gc = 0, last_gc = 0, gcs = 0;
  for (size_t i = first_file; i < overview.files().size(); i++) {
    const FileOverview& file = overview.files()[i];
    if (i == first_file && first.index != 0 && !file.syncs.empty()) begin = file.syncs[0].time;
    if (file.gcs == 0) continue;
    if (gcs == 0) first_gc = file.first_gc;
    last_gc = file.last_gc;
    gcs += file.gcs;
  }
  std::string text = fmt::format("{} to {}", Duration(begin), Duration(std::max(begin, summary.duration_ns)));
  if (gcs != 0) text += ", " + GcRange(first_gc, last_gc);
  if (first.index == 1) text += "; file 0 is not there";
  if (first.index > 1) text += fmt::format("; files 0 to {} are not there", first.index - 1);
  lines->Add("period", text);
}

// What a scheme of the VM is.
std::string SitesText(std::string_view scheme) {
  if (scheme == "mark") return "unused bits of the mark word (mark)";
  if (scheme == "hash") return "the identity hash, which every object has from the start (hash)";
  if (scheme == "ash") return "the identity hash, as an id once that is asked for (ash)";
  return std::string(scheme);
}

void AddProgram(Lines* lines, const trace::ChunkSource& reader, const PassSummary& summary,
                const Overview& overview) {
  AddFiles(lines, reader, overview);
  const trace::FileInfo& first = reader.files()[0];
  lines->Add("trace", fmt::format("{:016x}, process {}, agent {}", first.trace_id, first.process_id,
                                  summary.meta.agent_version));
  lines->Add("VM", summary.meta.vm_version);
  lines->Add("command", summary.meta.java_command);
  lines->Add("VM flags", summary.meta.vm_flags);
  if (!summary.meta.sites.empty()) lines->Add("sites in", SitesText(summary.meta.sites));
  lines->Add("options", summary.meta.options);
  lines->Add("started", DateText(first.wall_clock_ns / 1'000'000));
  lines->Add("time span", Duration(summary.duration_ns));
  if (reader.files()[0].is_definitions()) AddPeriod(lines, reader, summary, overview);
}

std::string SyncsText(const Overview& overview) {
  std::string text =
      fmt::format("{} with {}", Count(overview.syncs(SyncState::kNone)), TotalsText(overview.sync()));
  const uint64_t abandoned = overview.syncs(SyncState::kAbandoned);
  const uint64_t incomplete = overview.syncs(SyncState::kIncomplete);
  if (abandoned != 0) text += fmt::format(", {} abandoned", Count(abandoned));
  if (incomplete != 0) text += fmt::format(", {} incomplete", Count(incomplete));
  return text;
}

void AddEnd(Lines* lines, const PassSummary& summary, const Overview& overview) {
  uint64_t lost = 0;
  for (const LossEvent& loss : overview.losses()) lost += loss.bytes;
  lines->Add("losses", overview.losses().empty() ? "none"
                                                 : fmt::format("{}, {} of events: {}",
                                                               Plural(overview.losses().size(), "loss record"),
                                                               Bytes(lost), overview.losses()[0].reason));
  lines->Add("ended", EndText(summary, overview.end().reason));
}

// Young and full ones always, others where there are any: only G1 has them.
std::string CollectionsText(const Overview& overview) {
  std::string text;
  for (const GcKind kind : kTracedKinds) {
    const bool always = kind == GcKind::kYoung || kind == GcKind::kFull;
    if (!always && overview.gcs(kind) == 0) continue;
    text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", Count(overview.gcs(kind)), GcLabel(kind),
                        Duration(overview.gc_ns(kind)));
  }
  return text;
}

// "25 % 6.3 % 4.1 %", at most ten means, each of as many periods.
std::string SharesText(const ShareOverTime& shares) {
  constexpr size_t kMost = 10;
  const size_t each = (shares.periods().size() + kMost - 1) / kMost;
  std::string text;
  for (size_t i = 0; i < shares.periods().size(); i += each) {
    ShareOverTime::Period sum;
    for (size_t k = i; k < std::min(i + each, shares.periods().size()); k++) {
      sum.segments += shares.periods()[k].segments;
      sum.shares += shares.periods()[k].shares;
    }
    text += sum.segments == 0 ? "- " : fmt::format("{:.1f} % ", 100 * sum.mean());
  }
  return text + fmt::format("(each {})", Duration(each * shares.period_ns()));
}

// For a trace with a budget or a fixed share.
void AddSkipped(Lines* lines, const Overview& overview) {
  const uint64_t all = overview.tlab().words + overview.skipped_words();
  lines->Add("allocated", Bytes(InBytes(all + overview.outside().words)) + ", read or not");
  lines->Add("  skipped",
             fmt::format("{}, {} of what was allocated in TLABs; {} of it were found alive",
                         Bytes(InBytes(overview.skipped_words())), Percent(overview.skipped_words(), all),
                         Plural(overview.found().objects, "object")));
  lines->Add("share read", SharesText(overview.shares()));
}

void AddEvents(Lines* lines, const trace::ChunkSource& reader, const PassSummary& summary,
               const Overview& overview) {
  const HeapTotals all{overview.tlab().objects + overview.outside().objects,
                       overview.tlab().words + overview.outside().words};
  lines->Add("collections", CollectionsText(overview));
  lines->Add("sync points", SyncsText(overview));
  const bool skipped = overview.skipped_words() != 0;
  lines->Add(skipped ? "read" : "allocated", TotalsText(all));
  lines->Add("  in TLABs", TotalsText(overview.tlab()));
  lines->Add("  outside", TotalsText(overview.outside()));
  if (skipped) AddSkipped(lines, overview);
  lines->Blank();
  lines->Add("raw", fmt::format("{}, {} per object", Bytes(summary.raw_bytes),
                                PerObject(summary.raw_bytes, all.objects)));
  lines->Add("on disk", fmt::format("{}, {} per object", Bytes(FileBytes(reader)),
                                    PerObject(FileBytes(reader), all.objects)));
  AddEnd(lines, summary, overview);
}

void AddEvents(Lines* lines, const trace::ChunkSource& reader, const PassSummary& summary,
               const SampledOverview& overview) {
  const Sampled& sampled = overview.sampled();
  const SampleTotals totals = TotalsOf(sampled);
  lines->Add("mode", fmt::format("sample, {}, stacks of up to {}",
                                 IntervalText(sampled.least_interval(), sampled.most_interval()),
                                 Plural(summary.meta.depth, "frame")));
  lines->Add("collections",
             fmt::format("{} in {}", Plural(sampled.gcs().size(), "pause"), Duration(overview.gc_ns())));
  lines->Add("samples", fmt::format("{}, {} live at the end", Count(totals.allocated.samples()),
                                    Count(totals.live.samples())));
  lines->Add("est. allocated", totals.allocated.Text(Basis::kSamples));
  lines->Add("est. live", totals.live.Text(Basis::kSamples) + " at the end");
  lines->Blank();
  const uint64_t samples = totals.allocated.samples();
  lines->Add("raw",
             fmt::format("{}, {} per sample", Bytes(summary.raw_bytes), PerObject(summary.raw_bytes, samples)));
  lines->Add("on disk",
             fmt::format("{}, {} per sample", Bytes(FileBytes(reader)), PerObject(FileBytes(reader), samples)));
  AddEnd(lines, summary, overview);
}

void AddEvents(Lines* lines, const trace::ChunkSource& reader, const PassSummary& summary,
               const CensusOverview& overview) {
  const Censuses& censuses = overview.censuses();
  const uint64_t count = censuses.events().size();
  lines->Add("mode", "census: how much is live, by site and class, after some collections");
  lines->Add("censuses", fmt::format("{}, {} of them after a collection of the old space", Count(count),
                                     Count(censuses.old_space_events().size())));
  if (const CensusEvent* const latest = censuses.latest(); latest != nullptr) {
    lines->Add("latest", fmt::format("{} {}{}", TotalsText({latest->objects, latest->words}), AfterGc(*latest),
                                     Caveat(*latest)));
    lines->Add("collections", Count(latest->collections) + " until then");
    lines->Add("allocated",
               Bytes(InBytes(latest->allocated_words)) + " between the first and the last of them");
  }
  lines->Blank();
  const uint64_t each = std::max<uint64_t>(1, count);
  lines->Add("raw",
             fmt::format("{}, {} per census", Bytes(summary.raw_bytes), Bytes(summary.raw_bytes / each)));
  lines->Add("on disk",
             fmt::format("{}, {} per census", Bytes(FileBytes(reader)), Bytes(FileBytes(reader) / each)));
  AddEnd(lines, summary, overview);
}

Report SegmentsOf(const PassSummary& summary) {
  Report report;
  report.columns = {{.key = "segment", .title = "Segments"},
                    {.key = "segments", .title = "Count", .unit = Unit::kCount},
                    {.key = "bytes", .title = "Raw bytes", .unit = Unit::kBytes}};
  report.columns.push_back({.key = "share", .title = "Share", .unit = Unit::kShare, .where = Where::kInText});
  for (size_t i = 0; i < summary.segments.size(); i++) {
    const SegmentCount& count = summary.segments[i];
    if (count.segments == 0) continue;
    report.rows.push_back({trace::kSegments[i].name, count.segments, count.bytes,
                           Cell(Value(), Percent(count.bytes, summary.raw_bytes))});
  }
  return report;
}

template <class Sink>
int Info(Session& session, Definitions& definitions, Problems& problems, Sink& overview) {
  const PassSummary summary = session.Run(definitions, problems, overview);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (session.output == Output::kJson) {
    session.out << JsonText(ToJson(*session.reader, summary, overview));
    return session.Finish(summary, problems);
  }
  Lines lines;
  AddProgram(&lines, *session.reader, summary, overview);
  AddEvents(&lines, *session.reader, summary, overview);
  Report segments = SegmentsOf(summary);
  segments.heading = lines.text() + "\n";
  segments.if_empty = lines.text();
  Print(session, segments);
  return session.Finish(summary, problems);
}

}  // namespace

int RunInfo(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  Overview overview(definitions);
  return Info(session, definitions, problems, overview);
}

int RunCensusInfo(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  CensusOverview overview(definitions, problems);
  return Info(session, definitions, problems, overview);
}

int RunSampledInfo(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  SampledOverview overview(definitions, problems, session.sampled->interval);
  return Info(session, definitions, problems, overview);
}

}  // namespace anttracks::analyzer
