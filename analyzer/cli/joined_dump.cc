// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/joined_dump.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/cli/moment.h"
#include "analyzer/hprof/names.h"
#include "analyzer/model/descriptor.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr std::string_view kNotInTrace = "<not in the trace>";

uint64_t Aligned(uint64_t bytes) {
  return (bytes + trace::kWordBytes - 1) / trace::kWordBytes * trace::kWordBytes;
}

}  // namespace

void JoinedDump::FindReasons() {
  format_ = FormatOf(definitions);
  for (uint32_t object = 0; object < dump->size(); object++) {
    if (!known(object)) {
      const Fit fit = match->fit(object);
      const bool gap = filler(object);
      (gap                       ? reasons.fillers
       : fit == Fit::kOtherClass ? reasons.other_class
       : fit == Fit::kOtherSize  ? reasons.other_size
                                 : reasons.missing)++;
      continue;
    }
    const uint32_t site = pair(object).site;
    const Provenance* its = provenance(object);
    if (its == nullptr) {
      reasons.before_trace++;
    } else if (site == kSiteUnknown || site == kSiteOverflow) {
      reasons.no_site++;
    } else if (its->thread == 0) {
      reasons.no_thread++;
    } else {
      reasons.complete++;
    }
  }
}

const Provenance* JoinedDump::provenance(uint32_t object) const {
  const uint32_t number = match->provenance(object);
  if (!known(object) || number == ProvenanceTable::kBeforeTrace || number == ProvenanceTable::kFiller)
    return nullptr;
  return &heap->provenance_table()[number];
}

std::optional<uint64_t> JoinedDump::age(uint32_t object) const {
  const Provenance* its = provenance(object);
  if (its == nullptr) return std::nullopt;
  return static_cast<uint64_t>(std::max<int64_t>(0, heap->epoch() - its->birth));
}

uint64_t JoinedDump::bytes(uint32_t object) const {
  if (known(object)) return InBytes(definitions.shapes().words(match->shape(object)));
  const hprof::DumpClass& its = dump->class_of(object);
  const auto value = [&](hprof::Type type) -> uint64_t {
    return type == hprof::Type::kObject ? format_.reference_bytes : hprof::TypeBytes(type);
  };
  if (its.is_array) {
    const uint64_t element = value(its.element), behind_length = format_.header_bytes + 4;
    const uint64_t first = (behind_length + element - 1) / element * element;
    return Aligned(first + dump->objects()[object].length * element);
  }
  const uint64_t reference_count = its.references.size() + (its.referent == hprof::kNone ? 0 : 1);
  return Aligned(format_.header_bytes + its.value_bytes -
                 reference_count * (hprof::kIdBytes - format_.reference_bytes));
}

uint32_t JoinedDump::dominator(uint32_t object) const {
  const uint32_t dominator = dominators->Of(object);
  return dominator >= dump->size() ? hprof::kNone : dominator;
}

std::string JoinedDump::class_name(uint32_t object) const {
  return known(object) ? ClassLabel(definitions, pair(object).class_id) : dump->class_of(object).name;
}

std::string JoinedDump::site_name(uint32_t object) const {
  return known(object) ? SiteLabel(definitions, pair(object).site) : std::string(kNotInTrace);
}

std::string JoinedDump::thread_name(uint32_t object) const {
  if (!known(object)) return std::string(kNotInTrace);
  if (match->provenance(object) == ProvenanceTable::kFiller) return "<filler>";
  const Provenance* its = provenance(object);
  return ThreadLabel(definitions, its == nullptr ? 0 : its->thread);
}

uint64_t JoinedDump::words_missed() const { return reasons.missing == 0 ? 0 : heap->unknown_words(); }

bool JoinedDump::filler(uint32_t object) const {
  const std::string& name = dump->class_of(object).name;
  return !known(object) && !references->reached(object) &&
         (name == "int[]" || name == "java.lang.Object" || name == "jdk.internal.vm.FillerObject");
}

PortionKey JoinedDump::KeyOf(uint32_t object) const {
  PortionKey key;
  key.site_class = definitions.shapes()[match->shape(object)].site_class;
  const Provenance* its = provenance(object);
  if (its != nullptr) key.thread = its->thread;
  return key;
}

std::vector<bool> JoinedDump::Chosen(const Selection& selection) const {
  std::vector<bool> chosen(dump->size(), true);
  if (selection.all()) return chosen;
  Chooser chooser(definitions, selection);
  for (uint32_t object = 0; object < dump->size(); object++)
    chosen[object] = known(object) && chooser(KeyOf(object));
  return chosen;
}

std::string MomentText(const JoinedDump& joined) {
  const std::vector<GcRecord>& gcs = joined.heap->gcs();
  return gcs.empty() ? "before the first collection" : AfterGc(gcs.back());
}

std::string JoinHeading(const JoinedDump& joined) {
  const DumpMatch& match = *joined.match;
  const JoinReasons& reasons = joined.reasons;
  const uint64_t agreeing = match.count(Fit::kAgrees);
  std::string text =
      fmt::format("{}, of {}: {} {}{}\n", Printable(joined.reader->path()),
                  DateText(joined.reader->milliseconds()), joined.time.given ? "taken as made" : "made",
                  MomentText(joined), Caveat(joined.heap->state(), joined.words_missed()));
  text += fmt::format("{} of {} are in the trace with address, class and size ({})\n", Count(agreeing),
                      Plural(match.objects(), "object"), Percent(agreeing, match.objects()));
  const auto line = [&](uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format("  {} {}\n", Count(count), what);
  };
  line(reasons.fillers, "are not, but are gaps in the heap that the VM filled: nothing refers to them");
  line(reasons.missing, joined.words_missed() == 0
                            ? "are not"
                            : "are not: they may be where the trace did not read what was allocated");
  line(reasons.other_class, "are there with another class");
  line(reasons.other_size, "are there with another size");
  if (reasons.other_class + reasons.other_size != 0)
    text += "    first: " + Printable(match.first_difference()) + "\n";
  text += fmt::format("site, age and thread are known of {} ({})\n", Count(reasons.complete),
                      Percent(reasons.complete, match.objects()));
  line(reasons.before_trace, "were there before the trace began");
  line(reasons.no_site, "have no site");
  line(reasons.no_thread, "have no thread");
  return text;
}

nlohmann::ordered_json JoinHead(const JoinedDump& joined) {
  const DumpMatch& match = *joined.match;
  const JoinReasons& reasons = joined.reasons;
  nlohmann::ordered_json head;
  const std::vector<GcRecord>& gcs = joined.heap->gcs();
  head["gc"] = gcs.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(gcs.back().id);
  head["gc_given"] = joined.time.given;
  if (joined.time.time_ns) head["dump_ns"] = *joined.time.time_ns;
  head["exact"] = joined.heap->exact() && joined.words_missed() == 0;
  head["dump_objects"] = match.objects();
  head["agreeing"] = match.count(Fit::kAgrees);
  head["fillers"] = reasons.fillers;
  head["missing"] = reasons.missing;
  head["other_class"] = reasons.other_class;
  head["other_size"] = reasons.other_size;
  head["complete"] = reasons.complete;
  head["before_trace"] = reasons.before_trace;
  head["no_site"] = reasons.no_site;
  head["no_thread"] = reasons.no_thread;
  return head;
}

}  // namespace anttracks::analyzer
