// SPDX-License-Identifier: Apache-2.0
#include "agent/sample/sample_definitions.h"

#include <algorithm>
#include <stdexcept>

#include "trace/definition_records.h"

namespace anttracks::core {
namespace {

std::string_view Primitive(char code) {
  switch (code) {
    case 'Z':
      return "boolean";
    case 'B':
      return "byte";
    case 'C':
      return "char";
    case 'S':
      return "short";
    case 'I':
      return "int";
    case 'J':
      return "long";
    case 'F':
      return "float";
    case 'D':
      return "double";
    default:
      return "<unknown>";
  }
}

// Parts of a method's key: none of them has a NUL.
void Add(std::string* key, std::string_view part) {
  key->append(part);
  key->push_back('\0');
}

}  // namespace

std::string JavaName(std::string_view signature) {
  const size_t dimensions = std::min(signature.find_first_not_of('['), signature.size());
  signature.remove_prefix(dimensions);
  std::string name;
  if (signature.size() > 2 && signature.front() == 'L' && signature.back() == ';') {
    name = signature.substr(1, signature.size() - 2);
    for (char& c : name) c = c == '/' ? '.' : c == '.' ? '/' : c;
  } else {
    name = signature.size() == 1 ? Primitive(signature[0]) : "<unknown>";
  }
  for (size_t i = 0; i < dimensions; i++) name += "[]";
  return name;
}

trace::ByteBuffer* SampleDefinitions::Block() {
  if (blocks_.empty() || blocks_.back().size() > kBlockBytes) blocks_.emplace_back();
  pending_.store(true, std::memory_order_release);
  return &blocks_.back();
}

// Used up also when its definition then fails.
uint32_t SampleDefinitions::NextId(uint32_t* last) const {
  if (*last < most_id_) return ++*last;
  throw std::length_error("all " + std::to_string(most_id_) +
                          " ids that a trace has for classes, methods, sites, pairs of them, or threads are "
                          "used; begin a new trace");
}

uint32_t SampleDefinitions::Class(std::string_view signature) {
  if (const auto found = classes_.find(signature); found != classes_.end()) return found->second;
  const std::string name = JavaName(signature);
  trace::ClassDefinition definition;
  definition.id = NextId(&last_class_);
  definition.name = name;
  definition.flags = trace::kClassSizeUnknown | (signature.starts_with('[') ? trace::kClassArray : 0) |
                     (signature.find('.') != std::string_view::npos ? trace::kClassHidden : 0);
  trace::AppendDefinition(Block(), definition);
  return classes_.emplace(signature, static_cast<uint32_t>(definition.id)).first->second;
}

uint32_t SampleDefinitions::Method(const SampleFrameText& text) {
  std::string key;
  for (const std::string_view part : {text.class_signature, text.name, text.signature, text.source_file})
    Add(&key, part);
  if (const auto found = methods_.find(key); found != methods_.end()) return found->second;
  const uint32_t id = NextId(&last_method_);
  const std::string class_name = JavaName(text.class_signature);
  trace::AppendDefinition(Block(),
                          trace::MethodDefinition{id, class_name, text.name, text.signature, text.source_file});
  return methods_.emplace(std::move(key), id).first->second;
}

void SampleDefinitions::Define(const SampleFrame& frame, const SampleFrameText* text) {
  const std::lock_guard lock(mutex_);
  if (places_.size() >= kMostFrames || steps_.size() >= kMostFrames) {
    places_.clear();
    steps_.clear();
  }
  if (text == nullptr) unknown_frames_++;
  places_.insert_or_assign(frame, text == nullptr ? Place{} : Place{Method(*text), text->line});
}

// Handles that stand for the same method lead to the same site.
uint32_t SampleDefinitions::NewStep(const Step& step, const Place& place) {
  uint32_t site = step.caller;
  if (place.method != 0) {
    const SiteKey key{place.method, step.caller, step.frame.bci, place.line};
    if (const auto known = sites_.find(key); known != sites_.end()) {
      site = known->second;
    } else {
      trace::SiteDefinition definition;
      definition.id = site = NextId(&last_site_);
      definition.method = place.method;
      definition.bci = step.frame.bci;
      definition.line = place.line;
      definition.caller = step.caller;
      definition.tier = static_cast<uint64_t>(trace::Tier::kUnknown);
      trace::AppendDefinition(Block(), definition);
      sites_.emplace(key, site);
    }
  }
  steps_.emplace(step, site);
  return site;
}

// Outermost first.
uint32_t SampleDefinitions::Site(std::span<const SampleFrame> stack, size_t* unknown) {
  uint32_t site = stack.empty() ? trace::kSiteVm : trace::kSiteUnknown;
  for (size_t i = stack.size(); i-- > 0;) {
    const Step step{stack[i], site};
    if (const auto known = steps_.find(step); known != steps_.end()) {
      site = known->second;
      continue;
    }
    const auto place = places_.find(stack[i]);
    if (place == places_.end()) {
      *unknown = i;
      return 0;
    }
    site = NewStep(step, place->second);
  }
  *unknown = SIZE_MAX;
  return site;
}

uint32_t SampleDefinitions::SiteClass(std::span<const SampleFrame> stack, std::string_view class_signature,
                                      size_t* unknown) {
  const std::lock_guard lock(mutex_);
  const uint32_t site = Site(stack, unknown);
  if (*unknown != SIZE_MAX) return 0;
  const uint32_t class_id = Class(class_signature);
  const uint64_t key = uint64_t{site} << 32 | class_id;
  if (const auto known = site_classes_.find(key); known != site_classes_.end()) return known->second;
  const uint32_t id = NextId(&last_site_class_);
  trace::AppendDefinition(Block(), trace::SiteClassDefinition{id, site, class_id});
  site_classes_.emplace(key, id);
  return id;
}

uint32_t SampleDefinitions::DefineThread(std::string_view name, uint64_t java_id, uint64_t os_id) {
  const std::lock_guard lock(mutex_);
  const uint32_t id = NextId(&last_thread_);
  trace::AppendDefinition(Block(), trace::ThreadDefinition{id, name, java_id, os_id});
  return id;
}

std::vector<trace::ByteBuffer> SampleDefinitions::Take() {
  std::vector<trace::ByteBuffer> taken;
  const std::lock_guard lock(mutex_);
  pending_.store(false, std::memory_order_release);
  taken.swap(blocks_);
  return taken;
}

SampleDefinitionCounts SampleDefinitions::counts() const {
  const std::lock_guard lock(mutex_);
  return {classes_.size(), methods_.size(), sites_.size(), site_classes_.size(), last_thread_, unknown_frames_};
}

}  // namespace anttracks::core
