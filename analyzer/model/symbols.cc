// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/symbols.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/descriptor.h"

namespace anttracks::analyzer {
namespace {

using trace::kClassArray;
using trace::kClassSizeUnknown;
using trace::kClassVariableSize;

constexpr uint64_t kMaxArrayLength = 0x7FFFFFFF;
// The largest object: 2^32 - 1 words.
constexpr uint64_t kMaxWords = UINT32_MAX;
// Of a reference; it can be 8.
constexpr uint64_t kLeastReferenceBytes = 4;

// That the fields lie behind the mark word, one behind the other, within an instance.
bool CanHold(const ClassInfo& info, const std::vector<FieldInfo>& fields) {
  if ((info.flags & kClassArray) != 0) return false;
  const uint64_t limit = (info.flags & kClassVariableSize) != 0 ? kMaxWords * 8 : info.bytes;
  uint64_t end = trace::kWordBytes;
  for (const FieldInfo& field : fields) {
    const uint64_t bytes = FieldBytes(field.signature, kLeastReferenceBytes);
    if (bytes == 0 || field.offset < end || field.offset > limit || bytes > limit - field.offset) return false;
    end = field.offset + bytes;
  }
  return true;
}

std::string Text(trace::WireReader& in) {
  std::string_view text = in.Str();
  if (text.size() <= kMaxTextBytes) return std::string(text);
  size_t end = kMaxTextBytes - 3;
  while (end > kMaxTextBytes - 6 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) end--;  // not within a character
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

void Symbols::Read(std::span<const uint8_t> payload, const Position& position) {
  trace::WireReader reader(payload);
  while (reader.ok() && !reader.AtEnd()) {
    Position here = position;
    here.payload += reader.position();
    const uint8_t tag = reader.U8();
    const uint64_t length = reader.Uv();
    const std::span<const uint8_t> record = reader.Take(length);
    if (!reader.ok() || !ReadRecord(tag, record, here)) {
      problems_->Add(ProblemKind::kMalformed, here, "symbol record with tag {} is cut short", tag);
    }
  }
}

bool Symbols::ReadRecord(uint8_t tag, std::span<const uint8_t> bytes, const Position& position) {
  using trace::SymbolTag;
  trace::WireReader in(bytes);
  switch (static_cast<SymbolTag>(tag)) {
    case SymbolTag::kClass: ReadClass(in, position); break;
    case SymbolTag::kMethod: ReadMethod(in, position); break;
    case SymbolTag::kSite: ReadSite(in, position); break;
    case SymbolTag::kThread: ReadThread(in, position); break;
    case SymbolTag::kFields:
      ReadFields(in, position);
      break;
    case SymbolTag::kKind: {
      const uint64_t id = in.Uv();
      const uint64_t site = in.Uv();
      const uint64_t class_id = in.Uv();
      if (in.ok()) AddKind(id, site, class_id, position);
      break;
    }
  }
  return in.ok();
}

void Symbols::ReadClass(trace::WireReader& in, const Position& position) {
  const uint64_t id = in.Uv();
  ClassInfo info;
  info.name = Text(in);
  info.flags = in.Uv();
  info.bytes = in.Uv();
  info.header_bytes = in.Uv();
  info.log2_element = in.Uv();
  info.super = in.Uv();
  info.loader = in.Uv();
  info.loader_name = Text(in);
  if (in.ok()) AddClass(id, std::move(info), position);
}

void Symbols::ReadMethod(trace::WireReader& in, const Position& position) {
  const uint64_t id = in.Uv();
  MethodInfo info;
  info.defined = true;
  info.class_name = Text(in);
  info.name = Text(in);
  info.signature = Text(in);
  info.source_file = Text(in);
  if (!in.ok()) return;
  MethodInfo* slot = Slot(methods_, "method", id, position);
  if (slot == nullptr) return;
  method_count_ += !slot->defined;
  *slot = std::move(info);
}

void Symbols::ReadSite(trace::WireReader& in, const Position& position) {
  const uint64_t id = in.Uv();
  SiteInfo info;
  info.defined = true;
  info.method = static_cast<uint32_t>(std::min<uint64_t>(in.Uv(), UINT32_MAX));
  info.bci = static_cast<int32_t>(in.Sv());
  info.line = static_cast<int32_t>(in.Sv());
  info.caller = static_cast<uint32_t>(std::min<uint64_t>(in.Uv(), UINT32_MAX));
  info.tier = static_cast<uint8_t>(std::min<uint64_t>(in.Uv(), UINT8_MAX));
  info.flags = static_cast<uint8_t>(in.Uv());
  if (in.ok()) AddSite(id, info, position);
}

void Symbols::ReadThread(trace::WireReader& in, const Position& position) {
  const uint64_t id = in.Uv();
  ThreadInfo info;
  info.defined = true;
  info.name = Text(in);
  info.java_id = in.Uv();
  info.os_id = in.Uv();
  if (!in.ok()) return;
  ThreadInfo* slot = Slot(threads_, "thread", id, position);
  if (slot != nullptr) *slot = std::move(info);
}

void Symbols::ReadFields(trace::WireReader& in, const Position& position) {
  const uint64_t class_id = in.Uv();
  const uint64_t count = in.Uv();
  std::vector<FieldInfo> fields;
  for (uint64_t i = 0; i < count && in.ok(); i++) {
    FieldInfo& field = fields.emplace_back();
    field.name = Text(in);
    field.signature = Text(in);
    field.offset = in.Uv();
  }
  if (in.ok()) AddFields(class_id, std::move(fields), position);
}

void Symbols::AddClass(uint64_t id, ClassInfo info, const Position& position) {
  ClassInfo* slot = Slot(classes_, "class", id, position);
  if (slot == nullptr) return;
  info.defined = true;
  const bool array = (info.flags & kClassArray) != 0;
  if (info.log2_element > 3 || info.header_bytes > 64 || info.bytes > kMaxWords * 8 ||
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

void Symbols::AddFields(uint64_t class_id, std::vector<FieldInfo> fields, const Position& position) {
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

void Symbols::AddSite(uint64_t id, const SiteInfo& info, const Position& position) {
  if (id < kFirstSite) {
    problems_->Add(ProblemKind::kRedefined, position, "site {} is reserved and cannot be defined", id);
    return;
  }
  SiteInfo* slot = Slot(sites_, "site", id, position);
  if (slot == nullptr) return;
  if (!method(info.method).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site {} is in method {}, which is not defined", id,
                   info.method);
  }
  if (info.caller != 0 && !site(info.caller).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "site {} has the caller {}, which is not defined", id,
                   info.caller);
  }
  if (slot->defined && (slot->method != info.method || slot->bci != info.bci)) {
    problems_->Add(ProblemKind::kRedefined, position, "site {} was method {} bci {} and is now {} bci {}", id,
                   slot->method, slot->bci, info.method, info.bci);
    return;
  }
  site_count_ += !slot->defined;
  *slot = info;
}

void Symbols::AddKind(uint64_t id, uint64_t site_id, uint64_t class_id, const Position& position) {
  KindInfo* slot = Slot(kinds_, "kind", id, position);
  if (slot == nullptr) return;
  if (site_id >= kFirstSite && !site(site_id).defined) {
    problems_->Add(ProblemKind::kUndefined, position, "kind {} is of site {}, which is not defined", id,
                   site_id);
  }
  if (site_id > PagedTable<SiteInfo>::kMaxId) site_id = kSiteUnknown;  // not defined, as was told
  ClassInfo* const type = classes_.Find(class_id);
  if (type == nullptr || !type->defined) {
    problems_->Add(ProblemKind::kUndefined, position, "kind {} is of class {}, which is not defined", id,
                   class_id);
    return;
  }
  if (slot->defined && (slot->site != site_id || slot->class_id != class_id)) {
    problems_->Add(ProblemKind::kRedefined, position, "kind {} was site {} class {} and is now {} and {}", id,
                   slot->site, slot->class_id, site_id, class_id);
    return;
  }
  if (slot->defined) return;
  kind_count_++;
  *slot = {true, static_cast<uint32_t>(site_id), static_cast<uint32_t>(class_id), type->last_kind};
  type->last_kind = static_cast<uint32_t>(id);
}

bool Symbols::Unload(uint64_t class_id) {
  ClassInfo* info = classes_.Find(class_id);
  if (info == nullptr || !info->defined || info->unloaded) return false;
  info->unloaded = true;
  any_unloaded_ = true;
  for (uint32_t id = info->last_kind; id != 0;) {
    KindInfo* const kind = kinds_.Find(id);
    if (id < plain_.size()) plain_[id] = {};
    id = kind->kind_before;
  }
  return true;
}

ShapeError Symbols::FindShapeSlow(uint64_t kind_id, uint64_t length, uint32_t* shape) {
  const KindInfo* info = kinds_.Find(kind_id);
  if (info == nullptr || !info->defined) return ShapeError::kUndefinedKind;
  const ClassInfo& type = class_info(info->class_id);
  if (type.unloaded) return ShapeError::kUnloadedClass;
  uint64_t bytes = type.bytes;
  if (type.flags & kClassVariableSize) {
    if (length > kMaxWords) return ShapeError::kBadLength;
    bytes = length * 8;
  } else if (type.flags & kClassArray) {
    if (length > kMaxArrayLength) return ShapeError::kBadLength;
    bytes = type.header_bytes + (length << type.log2_element);
  } else if (length != 0) {
    return ShapeError::kBadLength;
  }
  const uint64_t words = (bytes + alignment_ - 1) / alignment_ * (alignment_ / 8);
  if (words < 2 || words > kMaxWords) return ShapeError::kBadSize;
  const auto kind32 = static_cast<uint32_t>(kind_id);
  const auto length32 = static_cast<uint32_t>(length);
  *shape = shapes_.Find(kind32, length32);
  if (*shape == Shapes::kNone) *shape = shapes_.Add({kind32, length32, static_cast<uint32_t>(words)});
  if (length == 0 && kind_id < plain_.size()) plain_[kind_id] = {*shape, static_cast<uint32_t>(words)};
  return ShapeError::kNone;
}

}  // namespace anttracks::analyzer
