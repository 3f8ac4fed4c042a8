// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/meta.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#ifndef ANTTRACKS_VERSION
#error "the build defines ANTTRACKS_VERSION"
#endif

namespace anttracks::jvmti {
namespace {

std::string Property(jvmtiEnv* env, const char* name) {
  char* value = nullptr;
  if (env->GetSystemProperty(name, &value) != JVMTI_ERROR_NONE || value == nullptr) return "";
  std::string text = value;
  env->Deallocate(reinterpret_cast<unsigned char*>(value));
  return text;
}

// The -X options of the command line; -D options may hold secrets and stay out.
std::string VmFlags() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string flags;
  for (size_t at = line.find('\0'); at != std::string::npos && at + 1 < line.size();) {
    const size_t end = line.find('\0', at + 1);
    const std::string word = line.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (word.rfind("-X", 0) == 0) flags += (flags.empty() ? "" : " ") + word;
    at = end;
  }
  return flags;
}

nlohmann::json Common(jvmtiEnv* env, const char* options) {
  return {
      {"agent_version", ANTTRACKS_VERSION},
      {"vm_version", Property(env, "java.vm.name") + " " + Property(env, "java.vm.version")},
      {"java_command", Property(env, "sun.java.command")},
      {"vm_flags", VmFlags()},
      {"options", options == nullptr ? "" : options},
  };
}

// Arguments need not be UTF-8.
std::string Text(const nlohmann::json& meta) {
  return meta.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string MetaJson(jvmtiEnv* env, const AntTracksVM& vm, const char* options) {
  nlohmann::json meta = Common(env, options);
  meta["object_alignment"] = vm.object_alignment;
  meta["heap_start"] = vm.heap_start;
  meta["heap_end"] = vm.heap_end;
  return Text(meta);
}

std::string SampleMetaJson(jvmtiEnv* env, uint64_t interval, unsigned depth, const char* options) {
  nlohmann::json meta = Common(env, options);
  meta["mode"] = "sample";
  meta["interval"] = interval;
  meta["depth"] = depth;
  return Text(meta);
}

}  // namespace anttracks::jvmti
