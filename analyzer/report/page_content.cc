// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "analyzer/cli/callers.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/leak_rows.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kMostLeakRows = 60, kMostLeakPoints = 128;

CallTotals TotalsOf(const HeapTotals& totals) { return {totals.bytes(), totals.objects}; }
CallTotals TotalsOf(const Amount& amount) {
  return {Rounded(amount.bytes().value), Rounded(amount.objects().value)};
}

// At most that many of them, evenly, the first and the last among them.
template <class T>
std::vector<T> Evenly(const std::vector<T>& all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> chosen;
  for (size_t i = 0; i < most; i++) chosen.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return chosen;
}

std::string LossesText(const std::vector<LossEvent>& losses) {
  if (losses.empty()) return "none";
  uint64_t bytes = 0;
  for (const LossEvent& loss : losses) bytes += loss.bytes;
  return fmt::format(
      "{}, {} of events; they are in no total, and what is live is not known until the next sync point",
      Plural(losses.size(), "time"), Bytes(bytes));
}

// The lines that all traces have.
void AddHead(const Session& session, std::string coverage, const std::string& losses, const std::string& end,
             PageContent* content) {
  for (const std::string& gap : Gaps(content->summary, content->problems)) coverage += "; " + gap;
  if (const std::string without = session.WithoutFirstFiles(); !without.empty()) coverage += "; " + without;
  const Meta& meta = content->summary.meta;
  const trace::FileInfo& first = session.reader->files()[0];
  std::string files = first.path;
  if (session.reader->files().size() > 1)
    files += fmt::format(" and {} beside it", Plural(session.reader->files().size() - 1, "file"));
  content->head = {{"Program", meta.java_command},
                   {"JVM", meta.vm_version},
                   {"JVM flags", meta.vm_flags},
                   {"Started", DateText(first.wall_clock_ns / 1'000'000)},
                   {"Traced for", Duration(content->summary.duration_ns)},
                   {"Collections", Count(content->gcs.size())},
                   {"Coverage", coverage},
                   {"Losses", losses},
                   {"Ended", end},
                   {"Files", fmt::format("{}, {}", files, Bytes(session.reader->total_bytes()))},
                   {"Agent options", meta.options}};
}

PageMoment MomentOf(size_t gc, std::string text, const HistoryPoint& point) {
  PageMoment moment{gc, std::move(text), {}};
  for (const Level& level : point.levels)
    moment.live[level.site_class].Add(TotalsOf(HeapTotals{level.objects, level.words}));
  return moment;
}

void AddMoments(PageSink& sink, const Evidence& evidence, PageContent* content) {
  for (const HistoryPoint* point : Evenly(evidence.points(), kMostMoments)) {
    const size_t gc = point->epoch - size_t{1};
    content->moments.push_back(MomentOf(gc, AfterGc(sink.gcs()[gc]), *point));
  }
  if (!content->moments.empty()) return;
  PageMoment end{PageMoment::kEnd, AtEnd(content->summary.duration_ns), {}};
  const std::vector<uint64_t> by_shape = LiveByShape(sink, [](uint32_t) { return true; });
  const ObjectShapes& shapes = content->definitions.shapes();
  for (uint32_t shape = 0; shape < by_shape.size(); shape++) {
    if (by_shape[shape] == 0 || content->definitions.site_class_of_shape(shape).site == kSiteFiller) continue;
    end.live[shapes[shape].site_class].Add(
        TotalsOf(HeapTotals{by_shape[shape], by_shape[shape] * shapes.words(shape)}));
  }
  content->moments.push_back(std::move(end));
}

void AddGcs(PageSink& sink, PageContent* content) {
  for (size_t i = 0; i < sink.gcs().size(); i++) {
    const GcRecord& gc = sink.gcs()[i];
    PageGc row{gc.id, gc.begin_ns, gc.end_ns, std::string(GcLabel(gc.kind)), gc.cause};
    if (i < sink.used().size()) {
      row.before = sink.used()[i].before;
      row.after = sink.used()[i].after;
    }
    row.moved_bytes = gc.moved.bytes();
    if (gc.exact) row.live = TotalsOf(gc.live);
    content->gcs.push_back(std::move(row));
  }
  for (const PageSink::Sync& sync : sink.syncs()) {
    constexpr const char* kReasons[] = {"start", "attach", "rotation"};
    content->syncs.push_back({kReasons[std::min<size_t>(static_cast<size_t>(sync.reason), 2)],
                              std::string(SyncLabel(sync.state)), sync.time_ns});
  }
}

std::vector<PageLeak::Point> HistoryOf(const std::vector<const HistoryPoint*>& points, const LeakRow& row) {
  std::vector<PageLeak::Point> history;
  for (const HistoryPoint* point : points)
    history.push_back(
        {point->gc, point->time_ns, point->old_space, TotalsOf(LiveAt(*point, row.site_classes))});
  return history;
}

void AddLeaks(const Evidence& evidence, const ApplicationFrames& frames, PageContent* content) {
  ApplicationSites applications(content->definitions, content->stacks, frames);
  const Leaks leaks = FindLeaks(evidence, applications);
  content->leaks_note = leaks.why_unknown;
  if (leaks.why_unknown.empty()) {
    content->leaks_note =
        leaks.count() == 0
            ? "no leak: nothing piles up that is never freed"
            : fmt::format("{} up what is never freed",
                          leaks.count() == 1 ? "1 site piles" : Count(leaks.count()) + " sites pile");
    content->leaks_note +=
        "; judged by " + (leaks.censuses
                              ? CensusCount(leaks.old_space_collections) + " after collections of the old space"
                              : Plural(leaks.old_space_collections, "old-space collection"));
    if (leaks.Recent() != nullptr) content->leaks_note += "; " + RecentText(leaks);
  }
  const std::vector<const HistoryPoint*> points = Evenly(evidence.points(), kMostLeakPoints);
  for (const LeakRow& row : leaks.rows) {
    if (row.growth.objects == 0) continue;
    if (content->leaks.size() == kMostLeakRows) break;
    PageLeak leak{row.site,
                  row.class_name,
                  row.application.itself() ? row.site : row.application.name(),
                  std::string(VerdictName(row.growth.verdict)),
                  row.growth.verdict == Verdict::kLeak,
                  row.since_gc,
                  TotalsOf(row.then),
                  TotalsOf(row.now),
                  Rounded(row.bytes_per_gc()),
                  Rounded(row.bytes_per_minute()),
                  row.oldest_ns,
                  row.share,
                  HistoryOf(points, row)};
    content->leaks.push_back(std::move(leak));
  }
}

// The table of the command, of which the page shows what it likes.
void AddLifetimes(const Session& session, PageContent* content) {
  std::ostringstream out, err;
  Session again{.out = out, .err = err, .files = session.files, .output = Output::kJson};
  if (again.Open() && RunLifetimes(again, {}) != kExitUnreadable)
    content->lifetimes = nlohmann::ordered_json::parse(out.str(), nullptr, false);
  if (content->lifetimes.is_object()) return;
  content->lifetimes = nullptr;
  content->lifetimes_note = "lifetimes are not known: " + err.str();
}

std::string StacksNote(const StackSamples& samples) {
  uint64_t stacks = 0;
  for (const auto& [key, count] : samples.counts) stacks += count.stacks;
  if (stacks == 0)
    return "no call stacks are in the trace (stacks=0?): callers are known as far as they were inlined";
  return "how the bytes of a site split among its callers is estimated from " + StacksText(samples, stacks) +
         ", and is the same for what survived and what is live";
}

std::string CoverageText(const PageContent& content, PageSink& sink) {
  const std::string caveat = Caveat(sink.state(), sink.unknown_words());
  const bool whole = Gaps(content.summary, content.problems).empty();
  std::string text = sink.allocated().estimates()
                         ? "what was allocated is estimated: " + NoteOf(sink.allocated())
                     : whole ? "exact: every object was recorded"
                             : "not every object is known";
  if (sink.allocated().estimates() && whole) text = "live heaps are exact, " + text;
  if (!sink.syncs().empty() && sink.syncs()[0].reason == SyncReason::kAttach)
    text += "; from the attach on: what had been allocated before is only live";
  const uint64_t inexact = static_cast<uint64_t>(
      std::count_if(sink.gcs().begin(), sink.gcs().end(), [](const GcRecord& gc) { return !gc.exact; }));
  if (inexact != 0) text += fmt::format("; after {} the heap was not known", Plural(inexact, "collection"));
  return text + (caveat.empty() ? "" : "; at the end" + caveat);
}

void ReadObjects(Session& session, const ApplicationFrames& frames, PageContent* content) {
  PageSink sink(content->definitions, content->problems, {.every = true});
  content->summary = session.Run(content->definitions, content->problems, sink);
  if (!content->summary.fatal.ok() || !content->summary.has_meta) return;
  sink.Finish();
  AddGcs(sink, content);
  AddHead(session, CoverageText(*content, sink), LossesText(sink.losses()),
          EndText(content->summary, sink.end_reason()), content);
  const Evidence evidence(sink);
  AddMoments(sink, evidence, content);
  for (const auto& [id, totals] : sink.Survived()) content->survived[id] = Amount(totals);
  for (const auto& [id, allocated] : sink.allocated().BySiteClass())
    if (content->definitions.site_class(id).site != kSiteFiller) content->allocated[id] = Amount(allocated);
  content->allocated_basis = BasisOf(sink.allocated());
  if (const std::string note = NoteOf(sink.allocated()); !note.empty()) content->notes.push_back(note);
  if (const std::string note = LeftOutNote(sink.walks_left_out()); !note.empty())
    content->notes.push_back(note);
  content->rate = sink.rate();
  content->stacks = sink.stacks();
  content->stacks_note = StacksNote(content->stacks);
  AddLeaks(evidence, frames, content);
  sink.FreeHeap();  // there is another one for lifetimes
  AddLifetimes(session, content);
}

// Of samples, which have neither kind nor cause.
std::string MomentText(const PageContent& content, size_t gc) {
  if (gc == PageMoment::kEnd) return AtEnd(content.summary.duration_ns);
  return fmt::format("after GC {}, at {}", content.gcs[gc].id, Duration(content.gcs[gc].end_ns));
}

void AddSamples(const Sampled& sampled, PageContent* content) {
  for (const SampledObject& sample : sampled.samples()) {
    const Amount amount(Sampled::Of(sample));
    content->allocated[sample.site_class].Add(amount);
    content->rate.Add(sample.time_ns, amount.bytes().value);
    if (sample.born < sampled.gcs().size() && sample.LivesAfter(sample.born))
      content->survived[sample.site_class].Add(amount);
  }
  std::vector<size_t> chosen;
  for (size_t i = 0; i < sampled.gcs().size(); i++) chosen.push_back(i);
  chosen = Evenly(chosen, kMostMoments);
  if (chosen.empty()) chosen.push_back(PageMoment::kEnd);
  for (const size_t gc : chosen) {
    std::optional<uint64_t> id;
    if (gc != PageMoment::kEnd) id = sampled.gcs()[gc].id;
    std::map<uint32_t, Amount> live;
    for (const SampledObject& sample : sampled.samples())
      if (sample.LivesAfter(id)) live[sample.site_class].Add(Amount(Sampled::Of(sample)));
    PageMoment moment{gc, MomentText(*content, gc), {}};
    CallTotals all;
    for (const auto& [site_class, amount] : live) all.Add(moment.live[site_class] = TotalsOf(amount));
    if (gc != PageMoment::kEnd) content->gcs[gc].live = all;
    content->moments.push_back(std::move(moment));
  }
}

void ReadSamples(Session& session, PageContent* content) {
  Sampled sampled(content->definitions, content->problems, session.sampled->interval);
  content->summary = session.Run(content->definitions, content->problems, sampled);
  if (!content->summary.fatal.ok() || !content->summary.has_meta) return;
  for (const Sampled::Gc& gc : sampled.gcs()) content->gcs.push_back({gc.id, gc.begin_ns, gc.end_ns, "", ""});
  content->allocated_basis = content->live_basis = Basis::kSamples;
  content->notes.push_back(EstimatesNote(sampled));
  AddHead(session, EstimatesNote(sampled),
          sampled.lost() ? "events were lost: what lives is not known from there on" : "none",
          EndText(content->summary, "by the JVM or on request"), content);
  AddSamples(sampled, content);
  content->stacks_note = "callers are those of the sampled stacks";
  content->leaks_note =
      "a leak is told by which collections collected the old space, which samples (mode=sample) do not tell";
  content->lifetimes_note =
      "lifetimes follow every object to its death; this trace holds samples (mode=sample)";
}

class CensusesToEnd : public Censuses {
 public:
  using Censuses::Censuses;
  void Loss(const LossEvent&) override { losses_++; }
  void End(const EndEvent& event) override { end_reason_ = event.reason; }

  uint64_t losses() const { return losses_; }
  const std::string& end_reason() const { return end_reason_; }

 private:
  uint64_t losses_ = 0;
  std::string end_reason_;
};

// The collections that they follow, and what was allocated between one and the next.
void AddCensusGcs(const Censuses& censuses, PageContent* content) {
  const CensusEvent* before = nullptr;
  for (const CensusEvent& census : censuses.events()) {
    PageGc row{census.gc, census.time, census.time, std::string(GcLabel(census.kind)), ""};
    for (size_t kind = 0; kind < kSpaceKinds; kind++)
      row.before[kind] = row.after[kind] = InBytes(census.used_words[kind]);
    row.live = TotalsOf(HeapTotals{census.objects, census.words});
    row.count_ns = census.duration;
    row.with_dead = !census.old_space;
    content->gcs.push_back(std::move(row));
    if (before != nullptr && before->time < census.time) {
      content->rate.AddEvenly(before->time, census.time,
                              static_cast<double>(InBytes(census.allocated_words - before->allocated_words)));
    }
    before = &census;
  }
}

// Of each point, and the text of its census.
void AddCensusMoments(const Censuses& censuses, const Evidence& evidence, PageContent* content) {
  const std::vector<CensusEvent>& events = censuses.events();
  for (const HistoryPoint* point : Evenly(evidence.points(), kMostMoments)) {
    const auto census = std::find_if(events.begin(), events.end(),
                                     [&](const CensusEvent& event) { return event.gc == point->gc; });
    content->moments.push_back(
        MomentOf(static_cast<size_t>(census - events.begin()), AfterGc(*census) + Caveat(*census), *point));
  }
}

std::string CensusCoverage(const Censuses& censuses) {
  const size_t all = censuses.events().size(), exact = censuses.old_space_events().size();
  if (all == 0) return std::string(kNoCensus);
  std::string text = fmt::format("{}: after each, how much is in the heap by site and class; no allocations",
                                 CensusCount(all));
  if (exact == all) return text;
  return text + fmt::format("; {} of them with what is dead in the old space, which had not been looked into",
                            Count(all - exact));
}

void ReadCensuses(Session& session, const ApplicationFrames& frames, PageContent* content) {
  CensusesToEnd censuses(content->definitions, content->problems);
  content->summary = session.Run(content->definitions, content->problems, censuses);
  if (!content->summary.fatal.ok() || !content->summary.has_meta) return;
  content->censuses = true;
  AddCensusGcs(censuses, content);
  AddHead(session, CensusCoverage(censuses),
          censuses.losses() == 0 ? "none" : Plural(censuses.losses(), "time"),
          EndText(content->summary, censuses.end_reason()), content);
  const uint64_t collections = censuses.events().empty() ? 0 : censuses.events().back().collections;
  for (auto& [name, text] : content->head)
    if (name == "Collections") text = fmt::format("{} up to the last census", Count(collections));
  const Evidence evidence(censuses);
  AddCensusMoments(censuses, evidence, content);
  AddLeaks(evidence, frames, content);
  content->stacks_note = "a census has no call stacks: callers are known as far as they were inlined";
  content->lifetimes_note =
      "lifetimes follow every object from its allocation to its death; this trace holds censuses (mode=census)";
}

}  // namespace

std::unique_ptr<PageContent> ReadPageContent(Session& session, const ApplicationFrames& frames) {
  auto content = std::make_unique<PageContent>();
  if (session.sampled) {
    ReadSamples(session, content.get());
  } else if (session.census) {
    ReadCensuses(session, frames, content.get());
  } else {
    ReadObjects(session, frames, content.get());
  }
  return content;
}

}  // namespace anttracks::analyzer
