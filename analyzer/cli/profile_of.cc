// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/profile_of.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/cli/call_paths.h"
#include "analyzer/cli/call_tree_of.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

ExportBasis BasisOf(const Content& content) {
  if (!content.allocations) return ExportBasis::kNothing;
  switch (content.allocated) {
    case Basis::kExact:
      return content.gaps.empty() ? ExportBasis::kExact : ExportBasis::kIncomplete;
    case Basis::kSamples:
      return ExportBasis::kSamples;
    case Basis::kChosen:
      return ExportBasis::kShare;
  }
  return ExportBasis::kExact;
}

struct Both {
  CallTotals allocated, live;
  void Add(const Both& other) {
    allocated.Add(other.allocated);
    live.Add(other.live);
  }
  bool empty() const {
    return allocated.objects == 0 && allocated.bytes == 0 && live.objects == 0 && live.bytes == 0;
  }
};
struct Amounts {
  Amount allocated, live;
  void Add(const Portion& portion) {
    allocated.Add(portion.allocated);
    live.Add(portion.live);
  }
  // Formats have signed numbers of 64 bits.
  static CallTotals Bounded(const Amount& amount) {
    constexpr uint64_t kMost = INT64_MAX;
    const CallTotals totals = TotalsOf(amount);
    return {std::min(totals.bytes, kMost), std::min(totals.objects, kMost)};
  }
  Both Rounded() const { return {Bounded(allocated), Bounded(live)}; }
};

}  // namespace

ExportProcess ProcessOf(const Session& session, const PassSummary& summary,
                        const std::vector<ExportLabel>& labels) {
  const trace::FileInfo& file = session.reader->files()[0];
  const Meta& meta = summary.meta;
  return {.trace_id = file.trace_id,
          .pid = file.process_id,
          .started_ns = file.wall_clock_ns,
          .duration_ns = summary.duration_ns,
          .command = Printable(meta.java_command),
          .vm = Printable(meta.vm_version),
          .vm_flags = Printable(meta.vm_flags),
          .options = Printable(meta.options),
          .labels = labels};
}

ProfileBuilder::ProfileBuilder(const Content& content, const Selection& selection, ExportProcess process)
    : definitions_(content.definitions), paths_(content, selection) {
  profile_.process = std::move(process);
  profile_.basis = BasisOf(content);
  profile_.interval = content.interval;
  profile_.moment = content.moment + content.caveat;
  if (!content.note.empty()) profile_.notes.push_back(content.note);
  if (!content.allocations) profile_.notes.emplace_back("what was allocated was not counted (mode=census)");
  if (!content.without.empty()) profile_.notes.push_back(content.without);
  profile_.notes.insert(profile_.notes.end(), content.gaps.begin(), content.gaps.end());
  if (!content.caveat.empty()) profile_.notes.push_back("live " + profile_.moment);
  if (!content.stacks.counts.empty())
    profile_.notes.emplace_back(
        "how the bytes of a site split among its callers is estimated from sampled stacks");
  if (!selection.all()) profile_.notes.push_back(Printable("only " + selection.Text()));
}

// Sites of equal names are one frame.
uint32_t ProfileBuilder::Intern(ExportFrame frame) {
  const auto [at, is_new] = frames_.try_emplace(frame.text, static_cast<uint32_t>(profile_.frames.size()));
  if (is_new) profile_.frames.push_back(std::move(frame));
  return at->second;
}

uint32_t ProfileBuilder::Frame(uint32_t site) {
  const auto [at, is_new] = frames_of_sites_.try_emplace(site);
  if (!is_new) return at->second;
  ExportFrame frame{.text = Printable(SiteLabel(definitions_, site))};
  const SiteInfo& info = definitions_.site(site);
  const MethodInfo& method = definitions_.method(info.method);
  if (info.defined && method.defined) {
    frame.class_name = Printable(method.class_name);
    frame.method = Printable(method.name);
    frame.file = Printable(method.source_file);
    frame.line = info.line;
  } else {
    frame.method = frame.text;
  }
  return at->second = Intern(std::move(frame));
}

uint32_t ProfileBuilder::Class(uint32_t id) {
  std::string name = Printable(ClassLabel(definitions_, id));
  const auto [at, is_new] = classes_.try_emplace(name, static_cast<uint32_t>(profile_.classes.size()));
  if (is_new) profile_.classes.push_back(std::move(name));
  return at->second;
}

uint32_t ProfileBuilder::Thread(const PortionKey& key) {
  const auto [at, is_new] = threads_.try_emplace(key.thread, static_cast<uint32_t>(profile_.threads.size()));
  if (!is_new) return at->second;
  if (!profile_.allocated()) {
    profile_.threads.push_back({"<not recorded>", "<not recorded>", 0, 0});
    return at->second;
  }
  const ThreadInfo& info = definitions_.thread(key.thread);
  profile_.threads.push_back({Printable(FieldText(definitions_, Field::kThread, key)), Printable(info.name),
                              info.java_id, info.os_id});
  return at->second;
}

uint32_t ProfileBuilder::Stack(const CallPath& path) {
  std::vector<uint32_t> frames;
  for (const uint32_t site : path.places) frames.push_back(Frame(site));
  if (const std::string text(OutsideText(path.outside)); !text.empty())
    frames.push_back(Intern({.text = text, .method = text}));
  const auto [at, is_new] = stacks_.try_emplace(frames, static_cast<uint32_t>(profile_.stacks.size()));
  if (is_new) profile_.stacks.push_back(std::move(frames));
  return at->second;
}

ExportProfile ProfileOf(const Content& content, const Selection& selection, ExportProcess process) {
  ProfileBuilder builder(content, selection, std::move(process));
  const Definitions& definitions = content.definitions;
  Chooser chosen(definitions, selection);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Amounts> allocations;  // by site, class, thread
  std::map<uint32_t, Amounts> pairs;
  for (const Portion& portion : content.portions) {
    if (!chosen(portion.key)) continue;
    const SiteClass& pair = definitions.site_class(portion.key.site_class);
    allocations[{builder.Frame(pair.site), builder.Class(pair.class_id), builder.Thread(portion.key)}].Add(
        portion);
    pairs[portion.key.site_class].Add(portion);
  }
  std::map<std::pair<uint32_t, uint32_t>, Both> samples;  // by stack and class
  for (const auto& [id, amounts] : pairs) {
    const SiteClass& pair = definitions.site_class(id);
    const std::vector<CallPath>& paths = builder.paths().Of(pair.site);
    const Both both = amounts.Rounded();
    const std::vector<CallTotals> allocated = SplitAmong(paths, both.allocated);
    const std::vector<CallTotals> live = SplitAmong(paths, both.live);
    for (size_t i = 0; i < paths.size(); i++) {
      const Both part{allocated[i], live[i]};
      if (!part.empty()) samples[{builder.Stack(paths[i]), builder.Class(pair.class_id)}].Add(part);
    }
  }
  ExportProfile profile = builder.Take();
  for (const auto& [key, amounts] : allocations) {
    const auto [site, of_class, thread] = key;
    const Both both = amounts.Rounded();
    if (!both.empty()) profile.allocations.push_back({site, of_class, thread, both.allocated, both.live});
  }
  for (const auto& [key, both] : samples)
    profile.samples.push_back({key.first, key.second, both.allocated, both.live});
  return profile;
}

}  // namespace anttracks::analyzer
