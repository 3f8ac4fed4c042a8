// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/pass.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "analyzer/model/heap.h"
#include "analyzer/model/json_text.h"

namespace anttracks::analyzer {
namespace {

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

trace::Result<Meta> ParseMeta(std::span<const uint8_t> payload) {
  using trace::Status;
  const auto json =
      ParseJson<nlohmann::json>({reinterpret_cast<const char*>(payload.data()), payload.size()});
  if (!json.is_object()) return Status::Error("META is no JSON object");
  Meta meta;
  meta.agent_version = Text(json, "agent_version");
  meta.vm_version = Text(json, "vm_version");
  meta.java_command = Text(json, "java_command");
  meta.vm_flags = Text(json, "vm_flags");
  meta.options = Text(json, "options");
  const std::string mode = Text(json, "mode");
  if (mode == "sample") {
    meta.sampled = true;
    if (Number(json, "interval", &meta.interval) && Number(json, "depth", &meta.depth)) return meta;
    return Status::Error("META lacks the interval or the depth of samples");
  }
  if (!mode.empty() && mode != "full") return Status::Error("META has the unknown mode '" + mode + "'");
  if (!Number(json, "object_alignment", &meta.object_alignment) || !Number(json, "heap_start", &meta.heap_start) ||
      !Number(json, "heap_end", &meta.heap_end)) {
    return Status::Error("META lacks object_alignment, heap_start or heap_end");
  }
  if (!std::has_single_bit(meta.object_alignment) || meta.object_alignment < 8 || meta.object_alignment > 256) {
    return Status::Error("META has an impossible object_alignment");
  }
  if (meta.heap_end < meta.heap_start || meta.heap_end % 8 != 0 || meta.heap_start % 8 != 0 ||
      (meta.heap_end - meta.heap_start) / 8 > Heap::kMaxWords) {
    return Status::Error("META has an impossible range of the heap");
  }
  return meta;
}

}  // namespace anttracks::analyzer
