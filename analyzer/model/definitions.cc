// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/definitions.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/descriptor.h"
#include "analyzer/model/units.h"

namespace anttracks::analyzer {
namespace {

using trace::kClassArray;
using trace::kClassSizeUnknown;
using trace::kClassVariableSize;

constexpr uint64_t kMaxArrayLength = 0x7FFFFFFF;
// The largest object: 2^32 - 1 words.
constexpr uint64_t kMaxWords = UINT32_MAX;
// The least size of a reference in bytes; it can be 8.
constexpr uint64_t kLeastReferenceBytes = 4;

// Whether the fields lie within an instance, after the mark word, without overlaps.
bool CanHold(const ClassInfo& info, const std::vector<FieldInfo>& fields) {
  if ((info.flags & kClassArray) != 0) return false;
  const uint64_t limit = (info.flags & kClassVariableSize) != 0 ? InBytes(kMaxWords) : info.bytes;
  uint64_t end = trace::kWordBytes;
  for (const FieldInfo& field : fields) {
    const uint64_t bytes = FieldBytes(field.signature, kLeastReferenceBytes);
    if (bytes == 0 || field.offset < end || field.offset > limit || bytes > limit - field.offset) return false;
    end = field.offset + bytes;
  }
  return true;
}

}  // namespace

std::string CutText(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return std::string(text);
  size_t end = kMaxTextBytes - 3;
  while (end > kMaxTextBytes - 6 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80)
    end--;  // not within a character
  return std::string(text.substr(0, end)) + "...";
}

void Definitions::Read(std::span<const uint8_t> payload, const Position& position) {
  trace::DefinitionReader records(payload);
  while (!records.AtEnd()) {
    Position here = position;
    here.payload += records.position();
    uint8_t tag = 0;
    std::span<const uint8_t> record;
    if (!records.Next(&tag, &record) || !ReadRecord(tag, record, here)) {
      problems_->Add(ProblemKind::kMalformed, here, "definition record with tag {} is cut short", tag);
    }
  }
}

bool Definitions::ReadRecord(uint8_t tag, std::span<const uint8_t> bytes, const Position& position) {
  using trace::DefinitionTag;
  trace::WireReader in(bytes);
  const auto read = [&]<class Definition>(Definition definition) {
    if (ReadDefinition(in, &definition)) Define(definition, position);
  };
  switch (static_cast<DefinitionTag>(tag)) {
    case DefinitionTag::kClass:
      read(trace::ClassDefinition());
      break;
    case DefinitionTag::kMethod:
      read(trace::MethodDefinition());
      break;
    case DefinitionTag::kSite:
      read(trace::SiteDefinition());
      break;
    case DefinitionTag::kThread:
      read(trace::ThreadDefinition());
      break;
    case DefinitionTag::kSiteClass:
      read(trace::SiteClassDefinition());
      break;
    case DefinitionTag::kFields:
      ReadFields(in, position);
      break;
    case DefinitionTag::kStack:
      read(trace::StackDefinition());
      break;
  }
  return in.ok();
}

void Definitions::ReadFields(trace::WireReader& in, const Position& position) {
  trace::FieldsHead head;
  ReadDefinition(in, &head);
  std::vector<FieldInfo> fields;
  trace::FieldDefinition field;
  for (uint64_t i = 0; i < head.count && ReadDefinition(in, &field); i++) {
    fields.push_back({CutText(field.name), CutText(field.signature), field.offset});
  }
  if (in.ok()) AddFields(head.class_id, std::move(fields), position);
}

void Definitions::Define(const trace::MethodDefinition& definition, const Position& position) {
  MethodInfo* const slot = Slot(methods_, "method", definition.id, position);
  if (slot == nullptr) return;
  method_count_ += !slot->defined;
  *slot = {true, CutText(definition.class_name), CutText(definition.name), CutText(definition.signature),
           CutText(definition.source_file)};
}

void Definitions::Define(const trace::ThreadDefinition& definition, const Position& position) {
  ThreadInfo* const slot = Slot(threads_, "thread", definition.id, position);
  if (slot != nullptr) *slot = {true, CutText(definition.name), definition.java_id, definition.os_id};
}

void Definitions::Define(const trace::StackDefinition& definition, const Position& position) {
  StackInfo* const slot = Slot(stacks_, "stack", definition.id, position);
  if (slot == nullptr) return;
  StackInfo info{true, static_cast<uint32_t>(std::min<uint64_t>(definition.site, UINT32_MAX)), 0, 1};
  if (definition.site >= kFirstSite && !site(definition.site).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "stack {} has the site {}, which is not defined",
                   definition.id, definition.site);
  }
  // Callers come first, so that no chain of callers is a loop.
  const StackInfo& caller = stack(definition.caller);
  if (definition.caller != 0 && (!caller.defined || definition.caller == definition.id)) {
    problems_->Add(ProblemKind::kUndefined, position, "stack {} has the caller {}, which is not defined",
                   definition.id, definition.caller);
  } else if (caller.depth >= kMaxStackDepth) {
    problems_->Add(ProblemKind::kSize, position, "stack {} has more than {} callers", definition.id,
                   kMaxStackDepth);
  } else if (definition.caller != 0) {
    info.caller = static_cast<uint32_t>(definition.caller);
    info.depth = static_cast<uint16_t>(caller.depth + 1);
  }
  if (!slot->defined) {
    *slot = info;
  } else if (slot->site != info.site || slot->caller != info.caller) {
    problems_->Add(ProblemKind::kRedefined, position, "stack {} is defined again, as another one",
                   definition.id);
  }
}

void Definitions::Define(const trace::ClassDefinition& definition, const Position& position) {
  const uint64_t id = definition.id;
  ClassInfo* slot = Slot(classes_, "class", id, position);
  if (slot == nullptr) return;
  ClassInfo info;
  info.defined = true;
  info.name = CutText(definition.name);
  info.flags = definition.flags;
  info.bytes = definition.bytes;
  info.header_bytes = definition.array_header_bytes;
  info.log2_element = definition.log2_element_bytes;
  info.super = definition.super;
  info.loader = definition.loader;
  info.loader_name = CutText(definition.loader_name);
  const bool array = (info.flags & kClassArray) != 0;
  if (info.log2_element > 3 || info.header_bytes > 64 || info.bytes > InBytes(kMaxWords) ||
      (array && info.header_bytes == 0 && (info.flags & kClassSizeUnknown) == 0)) {
    problems_->Add(ProblemKind::kSize, position, "class {} ({}) has an impossible layout", id, info.name);
    return;
  }
  if (slot->defined) {
    if (slot->name != info.name || slot->flags != info.flags || slot->bytes != info.bytes ||
        slot->header_bytes != info.header_bytes || slot->log2_element != info.log2_element) {
      problems_->Add(ProblemKind::kRedefined, position, "class {} was {} and is now {}", id, slot->name,
                     info.name);
    }
    return;
  }
  // A superclass comes first, so that no chain of superclasses is a loop.
  if (info.super != 0 && !class_info(info.super).defined) {
    problems_->Add(ProblemKind::kUndefined, position,
                   "class {} ({}) has the superclass {}, which is not defined", id, info.name, info.super);
    info.super = 0;
  }
  if (info.super != 0) info.superclasses = static_cast<uint16_t>(class_info(info.super).superclasses + 1);
  if (info.superclasses > kMaxSuperclasses) {
    problems_->Add(ProblemKind::kSize, position, "class {} ({}) has more than {} superclasses", id, info.name,
                   kMaxSuperclasses);
    info.super = info.superclasses = 0;
  }
  class_count_++;
  *slot = std::move(info);
}

void Definitions::AddFields(uint64_t class_id, std::vector<FieldInfo> fields, const Position& position) {
  ClassInfo* info = classes_.Find(class_id);
  if (info == nullptr || !info->defined) {
    problems_->Add(ProblemKind::kUndefined, position, "fields of class {}, which is not defined", class_id);
    return;
  }
  if (!CanHold(*info, fields)) {
    problems_->Add(ProblemKind::kSize, position, "class {} ({}) has impossible fields", class_id, info->name);
    return;
  }
  if (info->fields_known) {
    if (info->fields != fields) {
      problems_->Add(ProblemKind::kRedefined, position, "class {} ({}) has other fields than before", class_id,
                     info->name);
    }
    return;
  }
  info->fields_known = true;
  info->fields = std::move(fields);
}

// Callers come first, so that no chain of callers is a loop. 0, with a problem: the site has none that can be
// kept.
uint32_t Definitions::CallerOf(const trace::SiteDefinition& definition, const Position& position) {
  const SiteInfo& caller = site(definition.caller);
  if (definition.caller == 0) return 0;
  if (!caller.defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site {} has the caller {}, which is not defined",
                   definition.id, definition.caller);
    return 0;
  }
  if (caller.callers >= kMaxCallers) {
    problems_->Add(ProblemKind::kSize, position, "site {} has more than {} callers", definition.id,
                   kMaxCallers);
    return 0;
  }
  return static_cast<uint32_t>(definition.caller);
}

void Definitions::Define(const trace::SiteDefinition& definition, const Position& position) {
  const uint64_t id = definition.id;
  if (id < kFirstSite) {
    problems_->Add(ProblemKind::kRedefined, position, "site {} is reserved and cannot be defined", id);
    return;
  }
  SiteInfo* slot = Slot(sites_, "site", id, position);
  if (slot == nullptr) return;
  SiteInfo info;
  info.defined = true;
  info.method = static_cast<uint32_t>(std::min<uint64_t>(definition.method, UINT32_MAX));
  info.bci = static_cast<int32_t>(definition.bci);
  info.line = static_cast<int32_t>(definition.line);
  info.tier = static_cast<uint8_t>(std::min<uint64_t>(definition.tier, UINT8_MAX));
  info.flags = static_cast<uint8_t>(definition.flags);
  info.caller = CallerOf(definition, position);
  if (info.caller != 0) info.callers = static_cast<uint16_t>(site(info.caller).callers + 1);
  if (!method(info.method).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site {} is in method {}, which is not defined", id,
                   info.method);
  }
  if (!slot->defined) {
    site_count_++;
    *slot = info;
  } else if (slot->method != info.method || slot->bci != info.bci || slot->caller != info.caller) {
    problems_->Add(ProblemKind::kRedefined, position,
                   "site {} was method {} bci {} caller {} and is now {}, {} and {}", id, slot->method,
                   slot->bci, slot->caller, info.method, info.bci, info.caller);
  }
}

void Definitions::Define(const trace::SiteClassDefinition& definition, const Position& position) {
  auto [id, site_id, class_id] = definition;
  SiteClass* slot = Slot(site_classes_, "site-class pair", id, position);
  if (slot == nullptr) return;
  if (site_id >= kFirstSite && !site(site_id).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site-class pair {} is of site {}, which is not defined",
                   id, site_id);
  }
  if (site_id > PagedTable<SiteInfo>::kMaxId) site_id = kSiteUnknown;  // not defined, as was told
  ClassInfo* const type = classes_.Find(class_id);
  if (type == nullptr || !type->defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site-class pair {} is of class {}, which is not defined",
                   id, class_id);
    return;
  }
  if (slot->defined && (slot->site != site_id || slot->class_id != class_id)) {
    problems_->Add(ProblemKind::kRedefined, position,
                   "site-class pair {} was site {} class {} and is now {} and {}", id, slot->site,
                   slot->class_id, site_id, class_id);
    return;
  }
  if (slot->defined) return;
  const auto first = first_ids_.try_emplace(site_id << 32 | class_id, static_cast<uint32_t>(id)).first->second;
  site_class_count_ += first == id;
  *slot = {true, static_cast<uint32_t>(site_id), static_cast<uint32_t>(class_id), type->last_site_class, first};
  type->last_site_class = static_cast<uint32_t>(id);
}

bool Definitions::Unload(uint64_t class_id) {
  ClassInfo* info = classes_.Find(class_id);
  if (info == nullptr || !info->defined || info->unloaded) return false;
  info->unloaded = true;
  any_unloaded_ = true;
  for (uint32_t id = info->last_site_class; id != 0;) {
    SiteClass* const site_class = site_classes_.Find(id);
    if (id < plain_.size()) plain_[id] = {};
    id = site_class->site_class_before;
  }
  return true;
}

ShapeError Definitions::FindShapeSlow(uint64_t site_class_id, uint64_t length, uint32_t* shape) {
  const SiteClass* info = site_classes_.Find(site_class_id);
  if (info == nullptr || !info->defined) return ShapeError::kUndefinedSiteClass;
  const ClassInfo& type = class_info(info->class_id);
  if (type.unloaded) return ShapeError::kUnloadedClass;
  uint64_t bytes = type.bytes;
  if (type.flags & kClassVariableSize) {
    if (length > kMaxWords) return ShapeError::kBadLength;
    bytes = InBytes(length);
  } else if (type.flags & kClassArray) {
    if (length > kMaxArrayLength) return ShapeError::kBadLength;
    bytes = type.header_bytes + (length << type.log2_element);
  } else if (length != 0) {
    return ShapeError::kBadLength;
  }
  const uint64_t words = (bytes + alignment_ - 1) / alignment_ * (alignment_ / trace::kWordBytes);
  if (words == 0 || words > kMaxWords) return ShapeError::kBadSize;
  const uint32_t site_class32 = info->id;
  const auto length32 = static_cast<uint32_t>(length);
  *shape = shapes_.Find(site_class32, length32);
  if (*shape == ObjectShapes::kNone)
    *shape = shapes_.Add({site_class32, length32, static_cast<uint32_t>(words)});
  SetPlain(site_class_id, length32, *shape);
  return ShapeError::kNone;
}

}  // namespace anttracks::analyzer
