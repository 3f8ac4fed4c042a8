// SPDX-License-Identifier: Apache-2.0
// `top` of a trace of samples: all numbers are estimates.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/cli/text.h"
#include "analyzer/cli/top_view.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/sampled.h"

namespace anttracks::analyzer {
namespace {

class WatchedSamples : public Sampled {
 public:
  using Sampled::Sampled;

  void Sample(const SampleEvent& event) override {
    time_ = std::max(time_, event.time);
    Sampled::Sample(event);
  }
  void GcEnd(const GcEvent& event) override {
    Sampled::GcEnd(event);
    time_ = std::max(time_, event.time);
  }
  void Loss(const LossEvent& event) override {
    losses_++;
    Sampled::Loss(event);
  }
  void End(const EndEvent& event) override {
    end_reason_ = event.reason;
    time_ = std::max(time_, event.time);
    Sampled::End(event);
  }
  bool done() const override { return stopped_ || Sampled::done(); }
  void Stop() { stopped_ = true; }

  uint64_t time_ns() const { return time_; }
  uint64_t losses() const { return losses_; }
  const std::string& end_reason() const { return end_reason_; }

 private:
  uint64_t time_ = 0, losses_ = 0;
  bool stopped_ = false;
  std::string end_reason_;
};

class TopSamples : public TopView {
 public:
  explicit TopSamples(uint64_t interval) : sink_(definitions_, problems_, interval) {}

  PassSummary Read(trace::ChunkSource& reader, PassOptions options) override {
    return Pass<WatchedSamples>(reader, definitions_, problems_, sink_, std::move(options)).Run();
  }
  void Stop() override { sink_.Stop(); }
  void Update() override {
    const uint64_t now = sink_.time_ns(), from = now - std::min(now, kTopWindowNs);
    seconds_ = static_cast<double>(now - from) / 1e9;
    pairs_.clear();
    all_ = {};
    std::optional<uint64_t> gc;
    if (!sink_.gcs().empty()) gc = sink_.gcs().back().id;
    for (const SampledObject& sample : sink_.samples()) {
      const bool made = sample.time_ns >= from, live = gc && sample.LivesAfter(gc);
      if (!made && !live) continue;
      const Estimate estimate = Sampled::Of(sample);
      for (Sums* sums : {&all_, &pairs_[sample.site_class]}) {
        if (made) sums->made.Add(estimate);
        if (live) sums->live.Add(estimate);
      }
    }
  }
  uint64_t time_ns() const override { return sink_.time_ns(); }
  uint64_t losses() const override { return sink_.losses(); }
  const std::string& end_reason() const override { return sink_.end_reason(); }
  std::string Status() const override {
    if (sink_.samples().empty()) return "no sample is written yet; the agent writes full buffers";
    std::string text = fmt::format("allocates ~{}/s", Bytes(Rounded(PerSecond(all_.made.bytes))));
    if (sink_.gcs().empty()) {
      text += "; no pause yet";
    } else {
      const Sampled::Gc& gc = sink_.gcs().back();
      uint64_t pauses_ns = 0;
      for (const Sampled::Gc& each : sink_.gcs()) pauses_ns += each.end_ns - each.begin_ns;
      text +=
          fmt::format("; ~{} in ~{} after GC {} ({}); {} in {}", Bytes(Rounded(all_.live.bytes)),
                      Plural(Rounded(all_.live.objects), "object"), gc.id, Duration(gc.end_ns - gc.begin_ns),
                      Plural(sink_.gcs().size(), "pause"), Duration(pauses_ns));
    }
    return text + "; " + Plural(sink_.samples().size(), "sample");
  }
  const char* about() const override { return "estimates from samples; rates are those of the last 5 s"; }
  const char* keys() const override { return "a: by allocation   l: by live"; }
  const char* rate_key() const override { return "bytes_per_second"; }
  Report Table(Order order, bool brief) const override {
    std::map<std::pair<std::string, std::string>, Sums> by_names;
    for (const auto& [id, sums] : pairs_) {
      const SiteClass& pair = definitions_.site_class(id);
      Sums& row = by_names[{ClassLabel(definitions_, pair.class_id), SiteLabel(definitions_, pair.site)}];
      row.made.Add(sums.made);
      row.live.Add(sums.live);
    }
    std::vector<TopRow> rows;
    for (const auto& [names, sums] : by_names) {
      rows.push_back({names.first, names.second, PerSecond(sums.made.bytes), PerSecond(sums.made.objects),
                      sums.live.bytes, sums.live.objects});
    }
    return TopTable(std::move(rows), order, brief, Accuracy::kEstimate, Accuracy::kEstimate);
  }

 private:
  // Within the window, and after the last pause.
  struct Sums {
    Estimate made, live;
  };
  double PerSecond(double number) const { return seconds_ == 0 ? 0 : number / seconds_; }

  WatchedSamples sink_;
  std::map<uint32_t, Sums> pairs_;  // by site-class pair
  Sums all_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<TopView> TopOfSamples(uint64_t interval) { return std::make_unique<TopSamples>(interval); }

}  // namespace anttracks::analyzer
