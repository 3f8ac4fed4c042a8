// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/cli/census.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/sampled.h"

namespace anttracks::analyzer {
namespace {

using ByKey = std::map<PortionKey, Portion>;

void Take(ByKey* by_key, Content* content) {
  for (auto& [key, portion] : *by_key) {
    portion.key = key;
    content->portions.push_back(portion);
  }
}

std::string EstimateNote(const CountPortions& counts) {
  return fmt::format("estimates: {} were read by chance, {} were skipped; a range is a 95 % interval",
                     Bytes(InBytes(counts.read_words())), Bytes(InBytes(counts.skipped_words())));
}

void AddAllocated(CountPortions& counts, ByKey* by_key, Content* content) {
  for (const auto& [key, allocated] : counts.Allocations()) (*by_key)[key].allocated = Amount(allocated);
  content->stacks = counts.stacks();
  if (!counts.estimates()) return;
  content->allocated = Basis::kChosen;
  content->note = EstimateNote(counts);
  content->head = {{"estimated", true},
                   {"skipped_bytes", InBytes(counts.skipped_words())},
                   {"chosen_bytes", InBytes(counts.read_words())}};
}

void AddLive(const std::map<PortionKey, HeapTotals>& live, ByKey* by_key) {
  for (const auto& [key, totals] : live) (*by_key)[key].live = Amount(totals);
}

void SetMoment(HeapState state, uint64_t unknown_words, std::string moment, Content* content) {
  content->moment = std::move(moment);
  content->caveat = Caveat(state, unknown_words);
  content->exact = state == HeapState::kExact && unknown_words == 0;
}

void ReadAllocated(Session& session, const Wanted& wanted, Content* content) {
  CountPortions sink(content->definitions, wanted.portions);
  content->summary = session.Run(content->definitions, content->problems, sink);
  ByKey by_key;
  AddAllocated(sink, &by_key, content);
  content->gc_ids = sink.gc_ids();
  Take(&by_key, content);
}

// The heap changed after its last collection by more than allocations: another pass shows it as it was.
void ReadLastHeap(Session& session, PortionsAndHeap& first, ByKey* by_key, Content* content) {
  Problems problems;
  Definitions definitions(problems);
  HeapAt heap(definitions, problems, {HeapAt::Moment::Kind::kGcs, first.gcs().size()});
  const PassSummary again = session.Run(definitions, problems, heap);
  content->summary.fatal = again.fatal;
  if (again.fatal.ok() && heap.gcs().size() != first.gcs().size())
    content->summary.fatal = trace::Status::Error("the trace changed while it was read");
  if (!content->summary.fatal.ok()) return;
  const CountPortions& counts = first.counts();
  content->knows_births = heap.knows_births();
  AddLive(PortionsAndHeap::LivePortions(heap, counts.marks(), counts.threads()), by_key);
  SetMoment(heap.state(), heap.words_not_known(), AfterGc(heap.gcs().back()), content);
}

void ReadHeap(Session& session, const Wanted& wanted, Content* content) {
  const bool last = wanted.live == LiveAt::kLastGc;
  const auto gc = wanted.live == LiveAt::kGc ? std::optional(wanted.gc) : std::nullopt;
  PortionsAndHeap sink(content->definitions, content->problems, wanted.portions,
                       last ? HeapAt::Moment::Kind::kLastGc : HeapAt::Moment::Kind::kEnd, gc);
  content->summary = session.Run(content->definitions, content->problems, sink);
  content->gc_ids = sink.GcIds();
  for (const GcRecord& record : sink.gcs()) content->live_bytes.push_back(record.live.bytes());
  if (!content->summary.fatal.ok() || !content->summary.has_meta) return;
  const bool overrun = sink.overrun();
  std::map<PortionKey, HeapTotals> live_portions;
  if (!overrun) live_portions = sink.live();
  sink.FreeHeap();
  ByKey by_key;
  AddAllocated(sink.counts(), &by_key, content);
  AddLive(live_portions, &by_key);
  if (overrun) {
    ReadLastHeap(session, sink, &by_key, content);
  } else if (sink.then()) {
    content->knows_births = sink.then()->knows_births;
    SetMoment(sink.then()->state, sink.then()->unknown_words, AfterGc(sink.then()->gc), content);
  } else {
    content->knows_births = sink.knows_births();
    SetMoment(sink.state(), sink.words_not_known(),
              last && !sink.at_end() ? AfterGc(sink.gcs().back()) : AtEnd(content->summary.duration_ns),
              content);
  }
  Take(&by_key, content);
}

std::string MomentOf(const Sampled& sampled, std::optional<uint64_t> gc) {
  for (const Sampled::Gc& each : sampled.gcs()) {
    if (gc && each.id == *gc) return fmt::format("after GC {}", each.id);
  }
  return "at the end of the trace";
}

void ReadSamples(Session& session, const Wanted& wanted, Content* content) {
  Sampled sampled(content->definitions, content->problems, session.sampled->interval);
  content->summary = session.Run(content->definitions, content->problems, sampled);
  for (const Sampled::Gc& gc : sampled.gcs()) content->gc_ids.push_back(gc.id);
  std::optional<uint64_t> gc;
  if (wanted.live == LiveAt::kGc) gc = wanted.gc;
  if (wanted.live == LiveAt::kLastGc && !content->gc_ids.empty()) gc = content->gc_ids.back();
  const Marks marks(wanted.portions.marks);
  ByKey by_key;
  for (const SampledObject& sample : sampled.samples()) {
    Portion& portion = by_key[KeyOf(sample, marks, wanted.portions.threads)];
    const Amount amount(Sampled::Of(sample));
    portion.allocated.Add(amount);
    if (wanted.live != LiveAt::kNever && sample.LivesAfter(gc)) portion.live.Add(amount);
  }
  Take(&by_key, content);
  content->allocated = content->live = Basis::kSamples;
  content->note = EstimatesNote(sampled);
  content->head = EstimatesJson(sampled);
  content->interval = sampled.most_interval();
  content->moment = MomentOf(sampled, gc);
  content->caveat = sampled.lost() ? " (events were lost before)" : "";
  content->exact = false;
}

// Keeps one census with its rows.
class ChosenCensus : public Censuses {
 public:
  // gc: the id of the collection that it follows; none: the last one, or the last one that says what is live.
  ChosenCensus(Content& content, std::optional<uint64_t> gc, bool says_what_is_live)
      : Censuses(content.definitions, content.problems), gc_(gc), says_what_is_live_(says_what_is_live) {}

  void Census(const CensusEvent& event) override {
    const size_t before = events().size();
    Censuses::Census(event);
    if (events().size() != before && IsWanted(event)) chosen_ = event;
  }
  const std::optional<CensusEvent>& chosen() const { return chosen_; }

 private:
  bool IsWanted(const CensusEvent& event) const {
    if (gc_) return event.gc == *gc_;
    return !says_what_is_live_ || event.old_space || !chosen_ || !chosen_->old_space;
  }

  const std::optional<uint64_t> gc_;
  const bool says_what_is_live_;
  std::optional<CensusEvent> chosen_;
};

void ReadCensuses(Session& session, const Wanted& wanted, Content* content) {
  const auto gc = wanted.live == LiveAt::kGc ? std::optional(wanted.gc) : std::nullopt;
  ChosenCensus censuses(*content, gc, wanted.live == LiveAt::kLastGc);
  content->summary = session.Run(content->definitions, content->problems, censuses);
  content->allocations = false;
  content->gc_ids = censuses.GcIds();
  for (const CensusEvent& census : censuses.old_space_events())
    content->live_bytes.push_back(InBytes(census.words));
  if (!censuses.chosen() || wanted.live == LiveAt::kNever) return;
  const CensusEvent& census = *censuses.chosen();
  ByKey by_key;
  for (const trace::CensusRow& row : census.rows)
    by_key[{.site_class = static_cast<uint32_t>(row.site_class)}].live =
        Amount(HeapTotals{row.objects, row.words});
  Take(&by_key, content);
  content->moment = AfterGc(census);
  content->caveat = Caveat(census);
  content->exact = census.old_space;
}

}  // namespace

PortionKey KeyOf(const SampledObject& sample, const Marks& marks, bool threads) {
  return {marks.OfSample(sample.born, sample.time_ns), threads ? sample.thread : 0, sample.site_class};
}

bool Content::HasGc(uint64_t id) const { return std::find(gc_ids.begin(), gc_ids.end(), id) != gc_ids.end(); }

std::vector<PortionKey> Content::Keys() const {
  std::vector<PortionKey> keys;
  for (const Portion& portion : portions) keys.push_back(portion.key);
  return keys;
}

std::unique_ptr<Content> ReadContent(Session& session, const Wanted& wanted) {
  auto content = std::make_unique<Content>();
  content->head = nlohmann::ordered_json::object();
  if (session.sampled) {
    ReadSamples(session, wanted, content.get());
  } else if (session.census) {
    ReadCensuses(session, wanted, content.get());
  } else if (wanted.live == LiveAt::kNever) {
    ReadAllocated(session, wanted, content.get());
  } else {
    ReadHeap(session, wanted, content.get());
  }
  content->gaps = Gaps(content->summary, content->problems);
  content->without = session.WithoutFirstFiles();
  return content;
}

}  // namespace anttracks::analyzer
