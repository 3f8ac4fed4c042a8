// SPDX-License-Identifier: Apache-2.0
#include "trace/meta.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "trace/json_text.h"

namespace anttracks::trace {
namespace {

// Both ways: the names of the texts, and their places.
constexpr std::pair<const char*, std::string Meta::*> kTexts[] = {{"agent_version", &Meta::agent_version},
                                                                  {"vm_version", &Meta::vm_version},
                                                                  {"java_command", &Meta::java_command},
                                                                  {"vm_flags", &Meta::vm_flags},
                                                                  {"options", &Meta::options}};

std::string Text(const nlohmann::json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool Number(const nlohmann::json& json, const char* key, uint64_t* value) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_number_unsigned()) return false;
  *value = at->get<uint64_t>();
  return true;
}

}  // namespace

std::string EncodeMeta(const Meta& meta) {
  nlohmann::json json;
  for (const auto& [key, text] : kTexts) json[key] = meta.*text;
  if (meta.sampled) {
    json["mode"] = "sample";
    json["interval"] = meta.interval;
    json["depth"] = meta.depth;
  } else {
    if (meta.census) json["mode"] = "census";
    json["object_alignment"] = meta.object_alignment;
    json["heap_start"] = meta.heap_start;
    json["heap_end"] = meta.heap_end;
    if (!meta.sites.empty()) json["sites"] = meta.sites;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Meta> ParseMeta(std::span<const uint8_t> payload) {
  const auto json = ParseJson<nlohmann::json>({reinterpret_cast<const char*>(payload.data()), payload.size()});
  if (!json.is_object()) return Status::Error("META is no JSON object");
  Meta meta;
  for (const auto& [key, text] : kTexts) meta.*text = Text(json, key);
  const std::string mode = Text(json, "mode");
  if (mode == "sample") {
    meta.sampled = true;
    if (Number(json, "interval", &meta.interval) && Number(json, "depth", &meta.depth)) return meta;
    return Status::Error("META lacks the interval or the depth of samples");
  }
  meta.census = mode == "census";
  if (!mode.empty() && mode != "full" && !meta.census)
    return Status::Error("META has the unknown mode '" + mode + "'");
  if (!Number(json, "object_alignment", &meta.object_alignment) ||
      !Number(json, "heap_start", &meta.heap_start) || !Number(json, "heap_end", &meta.heap_end)) {
    return Status::Error("META lacks object_alignment, heap_start or heap_end");
  }
  if (!std::has_single_bit(meta.object_alignment) || meta.object_alignment < kWordBytes ||
      meta.object_alignment > 256) {
    return Status::Error("META has an impossible object_alignment");
  }
  meta.sites = Text(json, "sites");
  if (meta.heap_end < meta.heap_start || meta.heap_end % kWordBytes != 0 || meta.heap_start % kWordBytes != 0 ||
      (meta.heap_end - meta.heap_start) / kWordBytes > kMaxHeapWords) {
    return Status::Error("META has an impossible range of the heap");
  }
  return meta;
}

}  // namespace anttracks::trace
