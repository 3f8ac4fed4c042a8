// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/dump_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyzer/model/descriptor.h"
#include "analyzer/model/labels.h"
#include "analyzer/model/units.h"

namespace anttracks::analyzer {
namespace {

constexpr uint32_t kSamples = 8192;
// How many samples may agree less than with the best moment: objects that the VM made without telling.
constexpr uint32_t kSlack = 8;
constexpr double kUnknownShare = 0.9;    // or, where a share was read: how many must agree at least
constexpr int64_t kClockNs = 2'000'000;  // what a dump's time, in milliseconds, may be wrong by

bool InWords(uint64_t address) { return address % trace::kWordBytes == 0; }

// Bytes of the values of an instance in a dump, by the fields in the trace. nullopt: it does not have them all.
std::optional<uint64_t> ValueBytes(const Definitions& definitions, uint64_t class_id) {
  uint64_t bytes = 0;
  for (size_t depth = 0; class_id != 0 && depth <= kMaxSuperclasses; depth++) {
    const ClassInfo& info = definitions.class_info(class_id);
    if (!info.fields_known) return std::nullopt;
    for (const FieldInfo& field : info.fields) bytes += FieldBytes(field.signature, hprof::kIdBytes);
    class_id = info.super;
  }
  return bytes;
}

// HotSpot dumps an array by what its elements are; that of the gaps that it fills, from JDK 21 on, has ints.
std::string_view DumpName(std::string_view name) {
  return name == "jdk.internal.vm.FillerElement[]" ? "int[]" : name;
}

}  // namespace

Fit DumpClasses::Compare(uint32_t object, uint32_t shape_number) {
  const hprof::DumpObject& its = dump_->objects()[object];
  const ObjectShape& shape = definitions_->shapes()[shape_number];
  const uint64_t class_id = definitions_->site_class(shape.site_class).class_id;
  const auto [known, is_new] = known_.try_emplace(uint64_t{its.class_index} << 32 | (class_id & UINT32_MAX));
  if (is_new) known->second = CompareClasses(its.class_index, class_id);
  if (known->second != Fit::kAgrees) return known->second;
  const bool is_array = dump_->classes()[its.class_index].is_array;
  return is_array && its.length != shape.length ? Fit::kOtherSize : Fit::kAgrees;
}

Fit DumpClasses::CompareClasses(uint32_t class_index, uint64_t class_id) const {
  const hprof::DumpClass& in_dump = dump_->classes()[class_index];
  const ClassInfo& info = definitions_->class_info(class_id);
  if (in_dump.name != DumpName(info.name)) return Fit::kOtherClass;
  if (in_dump.is_array || in_dump.id == 0) return Fit::kAgrees;
  const std::optional<uint64_t> bytes = ValueBytes(*definitions_, class_id);
  return bytes && *bytes != in_dump.value_bytes ? Fit::kOtherSize : Fit::kAgrees;
}

DumpMoments::DumpMoments(Definitions& definitions, Problems& problems, const hprof::Dump& dump)
    : Rebuild(definitions, problems, {}), dump_(&dump), classes_(dump, definitions) {
  const uint32_t step = dump.size() / kSamples + 1;
  for (uint32_t object = 0; object < dump.size() && object + step > object; object += step)
    samples_.push_back(object);
}

void DumpMoments::Note(uint64_t end_ns) {
  Moment moment{gcs().size(), gcs().empty() ? 0 : gcs().back().end_ns, end_ns, 0, unknown_words() != 0};
  if (state() != HeapState::kStart && Walk(samples_.size())) {
    HeapObject found;
    for (const uint32_t object : samples_) {
      const uint64_t address = dump_->objects()[object].address;
      if (InWords(address) && heap().Find(address / trace::kWordBytes, &found) &&
          classes_.Compare(object, found.shape) == Fit::kAgrees)
        moment.agreeing++;
    }
  }
  moments_.push_back(moment);
}

std::optional<DumpMoments::Moment> DumpMoments::Best(std::optional<int64_t> time_ns) const {
  uint32_t most = 0;
  for (const Moment& moment : moments_) most = std::max(most, moment.agreeing);
  const auto distance = [&](const Moment& moment) -> int64_t {
    if (!time_ns) return 0;
    const auto begin = static_cast<int64_t>(moment.begin_ns), end = static_cast<int64_t>(moment.end_ns);
    return std::max<int64_t>({begin - *time_ns - kClockNs, *time_ns - end, 0});
  };
  std::optional<Moment> best;
  for (const Moment& moment : moments_) {
    const bool as_well = moment.agreeing + kSlack >= most;
    if (!as_well && !(moment.unknown && moment.agreeing >= kUnknownShare * most)) continue;
    const bool nearer = !best || distance(moment) < distance(*best);
    const bool agrees_more = best && distance(moment) == distance(*best) && moment.agreeing > best->agreeing;
    if (nearer || agrees_more) best = moment;
  }
  return best;
}

DumpMatch::DumpMatch(const hprof::Dump& dump, const Rebuild& heap)
    : shapes_(dump.size(), kNoShape), provenances_(dump.size()), fits_(dump.size(), Fit::kMissing) {
  const Definitions& definitions = heap.definitions();
  DumpClasses classes(dump, definitions);
  for (uint32_t object = 0; object < dump.size(); object++) {
    const uint64_t address = dump.objects()[object].address;
    HeapObject found;
    if (InWords(address) && heap.heap().Find(address / trace::kWordBytes, &found)) {
      fits_[object] = classes.Compare(object, found.shape);
      const bool agrees = fits_[object] == Fit::kAgrees;
      if (agrees) {
        shapes_[object] = found.shape;
        provenances_[object] = found.provenance;
      } else if (first_difference_.empty()) {
        const ObjectShape& shape = definitions.shapes()[found.shape];
        first_difference_ =
            fmt::format("{:#x} is {} with length {} in the dump, {} with length {} and {} bytes in the trace",
                        address, dump.class_of(object).name, dump.objects()[object].length,
                        ClassLabel(definitions, definitions.site_class(shape.site_class).class_id),
                        shape.length, InBytes(shape.words));
      }
    }
    counts_[static_cast<size_t>(fits_[object])]++;
  }
}

}  // namespace anttracks::analyzer
