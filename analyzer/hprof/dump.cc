// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "analyzer/hprof/names.h"

namespace anttracks::hprof {
namespace {

using trace::Status;

constexpr uint32_t kMaxSuperclasses = 1024, kMaxValueBytes = 1U << 30;
constexpr std::string_view kReference = "java.lang.ref.Reference", kReferent = "referent";
constexpr std::string_view kSpecial[] = {"java.lang.ref.SoftReference", "java.lang.ref.WeakReference",
                                         "java.lang.ref.FinalReference", "java.lang.ref.PhantomReference"};

std::string_view PrimitiveName(uint32_t type) {
  switch (Type(type)) {
    case Type::kBoolean:
      return "boolean[]";
    case Type::kChar:
      return "char[]";
    case Type::kFloat:
      return "float[]";
    case Type::kDouble:
      return "double[]";
    case Type::kByte:
      return "byte[]";
    case Type::kShort:
      return "short[]";
    case Type::kInt:
      return "int[]";
    case Type::kLong:
      return "long[]";
    case Type::kObject:
      break;
  }
  return "";
}

}  // namespace

trace::Result<std::unique_ptr<Dump>> Dump::Read(const HprofReader& reader) {
  std::unique_ptr<Dump> dump(new Dump);
  for (Status (Dump::*step)(const HprofReader&) :
       {&Dump::ReadClasses, &Dump::ReadObjects, &Dump::Index, &Dump::Resolve}) {
    Status status = (dump.get()->*step)(reader);
    if (!status.ok()) return status;
  }
  return dump;
}

// The classes that the dump names. Their fields come with their CLASS_DUMPs.
Status Dump::ReadClasses(const HprofReader& reader) {
  classes_.resize(kFirstClass);
  for (uint32_t type = 0; type < kMirrors; type++) {
    classes_[type].name = PrimitiveName(type);
    classes_[type].is_array = true;
    classes_[type].element = Type(type);
  }
  classes_[kMirrors].name = "java.lang.Class";
  for (const LoadedClass& loaded : reader.classes()) {
    if (loaded.id == 0 || !class_by_id_.emplace(loaded.id, static_cast<uint32_t>(classes_.size())).second)
      continue;
    DumpClass& added = classes_.emplace_back();
    added.id = loaded.id;
    added.name = loaded.name.empty() ? fmt::format("<class {:#x}>", loaded.id) : SourceName(loaded.name);
    added.is_array = !loaded.name.empty() && loaded.name[0] == '[';
    if (added.is_array) added.element = TypeOf(loaded.name.substr(1));
  }
  supers_.resize(classes_.size());
  return {};
}

Status Dump::ReadObjects(const HprofReader& reader) {
  struct Visitor {
    Dump* dump;
    const HprofReader* reader;
    Status operator()(const RootRecord&) { return {}; }
    Status operator()(const ClassRecord& record) { return dump->Add(*reader, record); }
    Status operator()(const InstanceRecord& record) { return dump->Add(*reader, record); }
    Status operator()(const ArrayRecord& record) { return dump->Add(*reader, record); }
  };
  return reader.ForEach(Visitor{this, &reader});
}

Status Dump::AddObject(const HprofReader& reader, uint64_t offset, const DumpObject& object) {
  if (object.address == 0) return reader.Error(offset, "an object with the id 0");
  if (objects_.size() + 1 >= kNone) return reader.Error(offset, "more objects than the analyzer can number");
  objects_.push_back(object);
  return {};
}

Status Dump::Add(const HprofReader& reader, const ClassRecord& record) {
  const uint32_t index = FindClass(record.id);
  if (index == kNone)
    return reader.Error(record.offset, fmt::format("the class {:#x} was not loaded before", record.id));
  DumpClass& added = classes_[index];
  if (added.dumped) return reader.Error(record.offset, "the class " + added.name + " is there twice");
  added.dumped = true;
  supers_[index] = record.super;
  uint32_t offset = 0;
  for (size_t at = 0; at < record.fields.size(); at += 9) {
    const Type type{record.fields[at + kIdBytes]};
    added.fields.push_back({std::string(reader.String(GetU8(&record.fields[at]))), offset, type});
    offset += TypeBytes(type);
  }
  added.value_bytes = offset;
  return AddObject(reader, record.offset, {record.id, kMirrors, index});
}

Status Dump::Add(const HprofReader& reader, const InstanceRecord& record) {
  const uint32_t index = FindClass(record.class_id);
  if (index == kNone)
    return reader.Error(record.offset, fmt::format("an object of the class {:#x}, which was not loaded before",
                                                   record.class_id));
  // The length is checked when all classes are known.
  return AddObject(reader, record.offset, {record.id, index, static_cast<uint32_t>(record.values.size())});
}

Status Dump::Add(const HprofReader& reader, const ArrayRecord& record) {
  uint32_t index = static_cast<uint32_t>(record.type);
  if (record.type == Type::kObject) {
    index = FindClass(record.class_id);
    if (index == kNone)
      return reader.Error(record.offset, fmt::format("an array of the class {:#x}, which was not loaded before",
                                                     record.class_id));
    if (!classes_[index].is_array)
      return reader.Error(record.offset, "an array of the class " + classes_[index].name + ", which is none");
  }
  return AddObject(reader, record.offset, {record.id, index, record.length});
}

// Sorts objects by address, and makes the table of buckets: about as many as there are objects.
Status Dump::Index(const HprofReader& reader) {
  const auto by_address = [](const DumpObject& a, const DumpObject& b) { return a.address < b.address; };
  if (!std::is_sorted(objects_.begin(), objects_.end(), by_address))
    std::sort(objects_.begin(), objects_.end(), by_address);
  for (size_t i = 1; i < objects_.size(); i++) {
    if (objects_[i].address == objects_[i - 1].address)
      return Status::Error(
          fmt::format("{}: two objects have the id {:#x}", reader.path(), objects_[i].address));
  }
  if (objects_.empty()) return {};
  first_ = objects_.front().address;
  last_ = objects_.back().address;
  shift_ = std::max(
      0, static_cast<int>(std::bit_width(last_ - first_)) - static_cast<int>(std::bit_width(objects_.size())));
  buckets_.resize(((last_ - first_) >> shift_) + 2);
  uint32_t object = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); bucket++) {
    while (object < objects_.size() && (objects_[object].address - first_) >> shift_ < bucket) object++;
    buckets_[bucket] = object;
  }
  return {};
}

Status Dump::Resolve(const HprofReader& reader) {
  for (uint32_t index = kFirstClass; index < classes_.size(); index++) {
    Status status = ResolveSupers(reader, index);
    if (!status.ok()) return status;
  }
  std::vector<bool> has_instances(classes_.size());
  for (uint32_t i = 0; i < objects_.size(); i++) {
    DumpObject& object = objects_[i];
    if (is_mirror(i)) {
      classes_[object.length].mirror = i;
      continue;
    }
    const DumpClass& its = classes_[object.class_index];
    if (its.is_array) continue;
    if (object.length != its.value_bytes)
      return Status::Error(fmt::format("{}: the object {:#x} has {} bytes of values, its class {} {}",
                                       reader.path(), object.address, object.length, its.name,
                                       its.value_bytes));
    object.length = 0;
    has_instances[object.class_index] = true;
  }
  for (uint32_t index = 0; index < classes_.size(); index++) {
    if (has_instances[index]) FindReferences(&classes_[index]);
  }
  supers_ = {};
  return {};
}

// Sets super, and adds what is inherited to value_bytes, of the class and its superclasses; superclasses first.
Status Dump::ResolveSupers(const HprofReader& reader, uint32_t index) {
  std::vector<uint32_t> chain;
  for (uint32_t at = index; at != kNone && !classes_[at].resolved; at = FindClass(supers_[at])) {
    if (chain.size() == kMaxSuperclasses)
      return Status::Error(fmt::format("{}: {} has more than {} superclasses, or they go round in a circle",
                                       reader.path(), classes_[index].name, kMaxSuperclasses));
    chain.push_back(at);
  }
  for (; !chain.empty(); chain.pop_back()) {
    DumpClass& its = classes_[chain.back()];
    its.resolved = true;
    its.super = FindClass(supers_[chain.back()]);
    if (its.super == kNone) continue;
    const DumpClass& super = classes_[its.super];
    its.superclasses = super.superclasses + 1;
    const uint64_t bytes = uint64_t{its.value_bytes} + super.value_bytes;
    if (its.superclasses > kMaxSuperclasses || bytes > kMaxValueBytes)
      return Status::Error(reader.path() + ": " + its.name + " has too many superclasses or fields");
    its.value_bytes = static_cast<uint32_t>(bytes);
  }
  return {};
}

// What an instance has: its class's own fields first, then those of the superclasses.
void Dump::FindReferences(DumpClass* its) const {
  uint32_t referent = kNone, begin = 0;
  bool special = false;
  for (const DumpClass* each = its;; each = &classes_[each->super]) {
    special = special || std::find(std::begin(kSpecial), std::end(kSpecial), each->name) != std::end(kSpecial);
    for (const DumpField& field : each->fields) {
      if (field.type != Type::kObject) continue;
      if (each->name == kReference && field.name == kReferent) {
        referent = begin + field.offset;
      } else {
        its->references.push_back(begin + field.offset);
      }
    }
    if (each->super == kNone) break;
    begin += each->value_bytes - classes_[each->super].value_bytes;
  }
  if (special) {
    its->referent = referent;
  } else if (referent != kNone) {
    its->references.push_back(referent);
  }
}

}  // namespace anttracks::hprof
