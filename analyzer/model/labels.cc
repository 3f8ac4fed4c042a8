// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/labels.h"

#include <fmt/format.h>

#include <cctype>

namespace anttracks::analyzer {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Removes the digits that follow each of the word's occurrences, with a dollar sign between.
void DropNumberAfter(std::string* name, std::string_view word) {
  for (size_t at = name->find(word); at != std::string::npos; at = name->find(word, at + word.size())) {
    const size_t begin = at + word.size();
    size_t end = begin;
    if (end + 1 < name->size() && (*name)[end] == '$' && IsDigit((*name)[end + 1])) end++;
    while (end < name->size() && IsDigit((*name)[end])) end++;
    name->erase(begin, end - begin);
  }
}

// Removes "/0x00007f73f811aa78", the address of a hidden class.
void DropAddresses(std::string* name) {
  constexpr std::string_view kMark = "/0x";
  for (size_t at = name->find(kMark); at != std::string::npos; at = name->find(kMark, at)) {
    size_t end = at + kMark.size();
    while (end < name->size() && std::isxdigit(static_cast<unsigned char>((*name)[end])) != 0) end++;
    name->erase(at, end - at);
  }
}

}  // namespace

std::string SiteLabel(const Definitions& definitions, uint32_t id) {
  switch (id) {
    case kSiteUnknown:
      return "<unknown>";
    case kSiteVm:
      return "<vm>";
    case kSiteFiller:
      return "<filler>";
    case kSiteOverflow:
      return "<overflow>";
    case trace::kSiteArchive:
      return "<archive>";
    default:
      break;
  }
  const SiteInfo& site = definitions.site(id);
  if (!site.defined) return fmt::format("<site {}>", id);
  const MethodInfo& method = definitions.method(site.method);
  if (!method.defined) return fmt::format("<method {}>", site.method);
  std::string place = method.source_file.empty() ? "Unknown Source" : method.source_file;
  if (site.bci < 0) {
    place = "Native Method";
  } else if (site.line >= 0 && !method.source_file.empty()) {
    place += fmt::format(":{}", site.line);
  }
  return fmt::format("{}.{}({})", method.class_name, method.name, place);
}

std::vector<std::string> CallerLabels(const Definitions& definitions, uint32_t id) {
  std::vector<std::string> labels;
  for (id = definitions.site(id).caller; id != 0; id = definitions.site(id).caller)
    labels.push_back(SiteLabel(definitions, id));
  return labels;
}

std::string_view TierLabel(const Definitions& definitions, uint32_t id) {
  const SiteInfo& site = definitions.site(id);
  if (!site.defined) return "-";
  switch (static_cast<trace::Tier>(site.tier)) {
    case trace::Tier::kInterpreter:
      return "interpreter";
    case trace::Tier::kC1:
      return "C1";
    case trace::Tier::kC2:
      return "C2";
    case trace::Tier::kNative:
      return "native";
    case trace::Tier::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string ClassLabel(const Definitions& definitions, uint64_t class_id) {
  const ClassInfo& info = definitions.class_info(class_id);
  return info.defined ? info.name : fmt::format("<class {}>", class_id);
}

std::string StableName(std::string_view name) {
  std::string stable(name);
  DropAddresses(&stable);
  for (const std::string_view word :
       {"$$Lambda", "$Proxy", "MethodAccessor", "ConstructorAccessor", "LambdaForm$MH", "LambdaForm$DMH"}) {
    DropNumberAfter(&stable, word);
  }
  return stable;
}

std::string ThreadLabel(const Definitions& definitions, uint64_t thread) {
  if (thread == 0) return "<before trace>";
  const ThreadInfo& info = definitions.thread(thread);
  return info.defined ? fmt::format("{} ({})", info.name, thread) : fmt::format("<thread {}>", thread);
}

std::string_view SpaceLabel(trace::SpaceKind kind) {
  switch (kind) {
    case trace::SpaceKind::kEden:
      return "eden";
    case trace::SpaceKind::kSurvivor:
      return "survivor";
    case trace::SpaceKind::kOld:
      return "old";
    case trace::SpaceKind::kHumongous:
      return "humongous";
    case trace::SpaceKind::kArchive:
      return "archive";
  }
  return "?";
}

std::string_view GcLabel(trace::GcKind kind) {
  switch (kind) {
    case trace::GcKind::kYoung:
      return "young";
    case trace::GcKind::kFull:
      return "full";
    case trace::GcKind::kUnknown:
      return "unknown";
    case trace::GcKind::kRemark:
      return "remark";
    case trace::GcKind::kMixed:
      return "mixed";
  }
  return "?";
}

std::string_view SyncLabel(SyncState state) {
  switch (state) {
    case SyncState::kNone:
      return "";
    case SyncState::kIncomplete:
      return "incomplete";
    case SyncState::kComplete:
      return "complete";
    case SyncState::kAbandoned:
      return "abandoned";
  }
  return "";
}

}  // namespace anttracks::analyzer
