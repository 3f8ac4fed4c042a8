// SPDX-License-Identifier: Apache-2.0
// `top` of a trace of censuses: what the last one counted, and how much that has grown.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/cli/census.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/top_view.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// The last census with its rows, and the one before that counted the same: with what is dead in the old space,
// or without.
class WatchedCensuses : public Censuses {
 public:
  using Censuses::Censuses;

  void Census(const CensusEvent& event) override {
    const size_t before = events().size();
    Censuses::Census(event);
    if (events().size() == before) return;
    before_ = std::exchange(same_[event.old_space], event);
    time_ = event.time;
  }
  void Loss(const LossEvent&) override { losses_++; }
  void End(const EndEvent& event) override {
    end_reason_ = event.reason;
    time_ = std::max(time_, event.time);
  }
  bool done() const override { return stopped_ || Censuses::done(); }
  void Stop() { stopped_ = true; }

  // Empty, if there is none.
  const CensusEvent& before() const { return before_; }
  uint64_t time_ns() const { return time_; }
  uint64_t losses() const { return losses_; }
  const std::string& end_reason() const { return end_reason_; }

 private:
  CensusEvent same_[2], before_;  // by old_space
  uint64_t time_ = 0, losses_ = 0;
  bool stopped_ = false;
  std::string end_reason_;
};

class TopCensuses : public TopView {
 public:
  TopCensuses() : sink_(definitions_, problems_) {}

  PassSummary Read(trace::ChunkSource& reader, PassOptions options) override {
    return Pass<WatchedCensuses>(reader, definitions_, problems_, sink_, std::move(options)).Run();
  }
  void Stop() override { sink_.Stop(); }
  void Update() override {}
  uint64_t time_ns() const override { return sink_.time_ns(); }
  uint64_t losses() const override { return sink_.losses(); }
  const std::string& end_reason() const override { return sink_.end_reason(); }
  std::string Status() const override {
    const CensusEvent* const census = sink_.latest();
    if (census == nullptr) return "no census yet; one follows a collection, when its time (every=) has come";
    std::string text = fmt::format("{} in {} after GC {} ({}){}; {}", Bytes(InBytes(census->words)),
                                   Plural(census->objects, "object"), census->gc, GcLabel(census->kind),
                                   Caveat(*census), CensusCount(sink_.events().size()));
    if (sink_.events().size() < 2) return text;
    const CensusEvent& before = sink_.events()[sink_.events().size() - 2];
    if (before.time == census->time) return text;
    const double seconds = static_cast<double>(census->time - before.time) / 1e9;
    const uint64_t bytes = InBytes(census->allocated_words - before.allocated_words);
    return text + fmt::format("; allocated {}/s between the last two",
                              Bytes(Rounded(static_cast<double>(bytes) / seconds)));
  }
  const char* about() const override {
    return "what the last census counted; growth since the one before that counted the same";
  }
  const char* keys() const override { return "a: by growth   l: by live"; }
  const char* rate_key() const override { return "grown_bytes"; }
  Report Table(Order order, bool brief) const override;

 private:
  struct Sums {
    HeapTotals now, before;
    int64_t Grown() const { return static_cast<int64_t>(now.bytes()) - static_cast<int64_t>(before.bytes()); }
  };
  using ByNames = std::map<std::pair<std::string, std::string>, Sums>;

  void Add(const CensusEvent& census, HeapTotals Sums::*to, ByNames* rows) const {
    for (const trace::CensusRow& row : census.rows) {
      const SiteClass& pair = definitions_.site_class(row.site_class);
      Sums& sums = (*rows)[{ClassLabel(definitions_, pair.class_id), SiteLabel(definitions_, pair.site)}];
      (sums.*to).Add({row.objects, row.words});
    }
  }

  WatchedCensuses sink_;
};

Report TopCensuses::Table(Order order, bool brief) const {
  Report report;
  report.columns = {{.key = "live_bytes", .title = "Live bytes", .unit = Unit::kRoundedBytes},
                    {.key = "live_objects", .title = "Live objects", .unit = Unit::kCount},
                    {.key = "grown_bytes", .title = "Grown by", .unit = Unit::kRoundedBytes},
                    {.key = "class", .title = "Class"},
                    {.key = "site", .title = "Site"}};
  if (sink_.latest() == nullptr) return report;
  ByNames by_names;
  Add(*sink_.latest(), &Sums::now, &by_names);
  Add(sink_.before(), &Sums::before, &by_names);
  std::vector<const ByNames::value_type*> rows;
  for (const auto& row : by_names) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [order](const auto* a, const auto* b) {
    return order == Order::kRate ? a->second.Grown() > b->second.Grown()
                                 : a->second.now.words > b->second.now.words;
  });
  const bool compared = sink_.before().collections != 0;
  for (const auto* row : rows) {
    const auto& [class_name, site] = row->first;
    report.rows.push_back({row->second.now.bytes(), row->second.now.objects,
                           compared ? Cell(row->second.Grown()) : Cell(nullptr, "-"),
                           brief ? WithoutPackage(class_name) : class_name,
                           brief ? WithoutPackage(site) : site});
  }
  return report;
}

}  // namespace

std::unique_ptr<TopView> TopOfCensuses() { return std::make_unique<TopCensuses>(); }

}  // namespace anttracks::analyzer
