// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/meta.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agent/heap/site_of_mark.h"
#include "agent/io/descriptor.h"
#include "trace/meta.h"

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

// Not by a stream: a process that the application forks meanwhile would get its descriptor.
std::string CommandLine() {
  const int fd = io::Open("/proc/self/cmdline", O_RDONLY);
  if (fd < 0) return "";
  std::string line;
  std::array<char, 4096> block;
  ssize_t n;
  while ((n = read(fd, block.data(), block.size())) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) line.append(block.data(), static_cast<size_t>(n));
  }
  close(fd);
  return line;
}

// The -X options of the command line; -D options may hold secrets and stay out.
std::string VmFlags() {
  const std::string line = CommandLine();
  std::string flags;
  for (size_t at = line.find('\0'); at != std::string::npos && at + 1 < line.size();) {
    const size_t end = line.find('\0', at + 1);
    const std::string word = line.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (word.rfind("-X", 0) == 0) flags += (flags.empty() ? "" : " ") + word;
    at = end;
  }
  return flags;
}

trace::Meta Common(jvmtiEnv* env, const char* options) {
  trace::Meta meta;
  meta.agent_version = ANTTRACKS_VERSION;
  meta.vm_version = Property(env, "java.vm.name") + " " + Property(env, "java.vm.version");
  meta.java_command = Property(env, "sun.java.command");
  meta.vm_flags = VmFlags();
  meta.options = options == nullptr ? "" : options;
  return meta;
}

}  // namespace

std::string MetaJson(jvmtiEnv* env, const AntTracksVM& vm, bool census, const char* options) {
  trace::Meta meta = Common(env, options);
  meta.census = census;
  meta.object_alignment = vm.object_alignment;
  meta.heap_start = vm.heap_start;
  meta.heap_end = vm.heap_end;
  meta.sites = core::SchemeName(vm.site_scheme);
  return trace::EncodeMeta(meta);
}

std::string SampleMetaJson(jvmtiEnv* env, uint64_t interval, unsigned depth, const char* options) {
  trace::Meta meta = Common(env, options);
  meta.sampled = true;
  meta.interval = interval;
  meta.depth = depth;
  return trace::EncodeMeta(meta);
}

}  // namespace anttracks::jvmti
