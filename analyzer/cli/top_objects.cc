// SPDX-License-Identifier: Apache-2.0
// `top` of a trace of every object, or of a share of them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "analyzer/cli/moment.h"
#include "analyzer/cli/top_view.h"
#include "analyzer/passes/top_sink.h"

namespace anttracks::analyzer {
namespace {

class TopObjects : public TopView {
 public:
  TopObjects() : sink_(definitions_, problems_) {}

  PassSummary Read(trace::ChunkSource& reader, PassOptions options) override {
    return Pass<TopSink>(reader, definitions_, problems_, sink_, std::move(options)).Run();
  }
  void Stop() override { sink_.Stop(); }
  void Update() override {
    const uint64_t now = sink_.time_ns();
    if (moments_.empty() || moments_.back().time_ns < now)
      moments_.push_back({now, sink_.allocated(), sink_.skipped_words()});
    while (moments_.size() > 2 && moments_[1].time_ns + kTopWindowNs <= now) moments_.pop_front();
    if (sink_.epoch() == live_epoch_ && !live_.empty()) return;
    std::vector<uint64_t> live = sink_.Live();
    if (live.empty()) return;  // what was counted last stays
    live_ = std::move(live);
    live_epoch_ = sink_.epoch();
  }
  uint64_t time_ns() const override { return sink_.time_ns(); }
  uint64_t losses() const override { return sink_.losses(); }
  const std::string& end_reason() const override { return sink_.end_reason(); }
  std::string Status() const override {
    std::string text =
        fmt::format("allocates {}{}/s", estimated() ? "~" : "", Bytes(Rounded(BytesPerSecond())));
    if (sink_.gcs().empty()) return text + "; no collection yet";
    const bool counted = live_epoch_ != 0 && live_epoch_ <= sink_.epoch();
    const GcRecord& gc = counted ? sink_.gcs()[live_epoch_ - size_t{1}] : sink_.gcs().back();
    HeapTotals live;
    for (uint32_t shape = 0; shape < live_.size(); shape++) live.Add(Of(shape, live_[shape]));
    return text + fmt::format("; {} in {} after GC {} ({}, {}){}; {} in {}", Bytes(live.bytes()),
                              Plural(live.objects, "object"), gc.id, GcLabel(gc.kind),
                              Duration(gc.end_ns - gc.begin_ns), Caveat(sink_.state()),
                              Plural(sink_.gcs().size(), "collection"), Duration(sink_.pauses_ns()));
  }
  const char* about() const override { return "rates are those of the last 5 s of the trace"; }
  const char* keys() const override { return "a: by allocation   l: by live"; }
  const char* rate_key() const override { return "bytes_per_second"; }
  Report Table(Order order, bool brief) const override;

 private:
  struct Moment {
    uint64_t time_ns = 0;
    std::vector<TopSink::Made> allocated;
    uint64_t skipped_words = 0;
  };
  struct Sums {
    double objects = 0, bytes = 0;  // allocated
    HeapTotals live;
  };
  bool estimated() const { return sink_.skipped_words() != 0; }
  double Seconds() const {
    return moments_.empty() ? 0 : static_cast<double>(moments_.back().time_ns - moments_.front().time_ns) / 1e9;
  }
  // Of the whole program.
  double BytesPerSecond() const {
    if (Seconds() == 0) return 0;
    const Words words = InWindow();
    return static_cast<double>(InBytes(words.exact + words.chosen + words.skipped)) / Seconds();
  }
  HeapTotals Of(uint32_t shape, uint64_t objects) const {
    return {objects, objects * definitions_.shapes().words(shape)};
  }
  // Within the window.
  TopSink::Made Made(uint32_t shape) const {
    const auto at = [&](const Moment& moment) {
      return shape < moment.allocated.size() ? moment.allocated[shape] : TopSink::Made();
    };
    if (moments_.empty()) return {};
    const TopSink::Made now = at(moments_.back()), then = at(moments_.front());
    return {now.exact - then.exact, now.chosen - then.chosen, now.found - then.found};
  }
  // What was allocated within the window.
  struct Words {
    uint64_t exact = 0, chosen = 0, skipped = 0;
    // What one chosen object stands for.
    double weight() const {
      return chosen == 0 ? 1 : 1 + static_cast<double>(skipped) / static_cast<double>(chosen);
    }
  };
  Words InWindow() const {
    Words words;
    if (moments_.empty()) return words;
    for (uint32_t shape = 0; shape < moments_.back().allocated.size(); shape++) {
      const TopSink::Made made = Made(shape);
      words.exact += Of(shape, made.exact).words;
      words.chosen += Of(shape, made.chosen).words;
    }
    words.skipped = moments_.back().skipped_words - moments_.front().skipped_words;
    return words;
  }
  std::map<std::pair<std::string, std::string>, Sums> ByNames() const {
    std::map<std::pair<std::string, std::string>, Sums> rows;
    const double weight = InWindow().weight();
    const size_t count = std::max(live_.size(), moments_.empty() ? 0 : moments_.back().allocated.size());
    for (uint32_t shape = 0; shape < count; shape++) {
      const TopSink::Made made = Made(shape);
      const HeapTotals live = shape < live_.size() ? Of(shape, live_[shape]) : HeapTotals();
      if (made.known() == 0 && live.objects == 0) continue;
      const SiteClass& pair = definitions_.site_class_of_shape(shape);
      Sums& row = rows[{ClassLabel(definitions_, pair.class_id), SiteLabel(definitions_, pair.site)}];
      const double objects =
          std::max(static_cast<double>(made.exact) + static_cast<double>(made.chosen) * weight,
                   static_cast<double>(made.known()));
      row.objects += objects;
      row.bytes += objects * static_cast<double>(Of(shape, 1).bytes());
      row.live.Add(live);
    }
    return rows;
  }

  TopSink sink_;
  std::deque<Moment> moments_;
  std::vector<uint64_t> live_;
  uint32_t live_epoch_ = UINT32_MAX;
};

Report TopObjects::Table(Order order, bool brief) const {
  const double per_second = Seconds() == 0 ? 0 : 1 / Seconds();
  std::vector<TopRow> rows;
  for (const auto& [names, sums] : ByNames()) {
    rows.push_back({names.first, names.second, sums.bytes * per_second, sums.objects * per_second,
                    static_cast<double>(sums.live.bytes()), static_cast<double>(sums.live.objects)});
  }
  return TopTable(std::move(rows), order, brief, estimated() ? Accuracy::kEstimate : Accuracy::kExact,
                  Accuracy::kExact);
}

}  // namespace

std::unique_ptr<TopView> TopOfObjects() { return std::make_unique<TopObjects>(); }

}  // namespace anttracks::analyzer
