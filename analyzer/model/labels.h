// SPDX-License-Identifier: Apache-2.0
// Names for people: sites, classes, threads, ages.
//
// Thread safety: none. Ownership: definitions are borrowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/model/events.h"

namespace anttracks::analyzer {

// "java.util.HashMap.newNode(HashMap.java:1797)"; "<unknown>", "<vm>", "<filler>", "<overflow>".
std::string SiteLabel(const Definitions& definitions, uint32_t site);
// The callers, innermost first, each as above: those that the site's method was inlined into, or that called
// the native method.
std::vector<std::string> CallerLabels(const Definitions& definitions, uint32_t site);
// "interpreter", "C1", "C2", "native", "unknown", "-" for reserved sites.
std::string_view TierLabel(const Definitions& definitions, uint32_t site);
std::string ClassLabel(const Definitions& definitions, uint64_t class_id);
// Without what the JVM numbers anew in every run: "app.Main$$Lambda$14/0x7f01" is "app.Main$$Lambda",
// "jdk.internal.reflect.GeneratedMethodAccessor3" is "jdk.internal.reflect.GeneratedMethodAccessor".
std::string StableName(std::string_view name);
// "main (1)", "<before trace>" for 0.
std::string ThreadLabel(const Definitions& definitions, uint64_t thread);
std::string_view SpaceLabel(trace::SpaceKind kind);
std::string_view GcLabel(trace::GcKind kind);
// "", "incomplete", "complete", "abandoned"
std::string_view SyncLabel(SyncState state);

}  // namespace anttracks::analyzer
