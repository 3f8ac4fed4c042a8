// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/write_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/hprof/hprof_writer.h"
#include "analyzer/hprof/names.h"
#include "analyzer/hprof/site_stacks.h"
#include "analyzer/model/labels.h"
#include "analyzer/model/layout.h"

namespace anttracks::hprof {
namespace {

using analyzer::ClassInfo;
using analyzer::HeapObject;

constexpr uint64_t kIdStep = 16;
constexpr uint32_t kMaxInstanceBytes = 1U << 30, kMaxSiteArray = 1U << 26;
// What tools look for in every dump, by names of a trace.
constexpr std::string_view kObjectClass = "java.lang.Object", kReferenceClass = "java.lang.ref.Reference";
constexpr std::string_view kObjectsField = "objects";  // of kSites
constexpr std::string_view kNeeded[] = {"java.lang.Object",
                                        "java.lang.Class",
                                        "java.lang.ClassLoader",
                                        "java.lang.String",
                                        "java.lang.ref.Reference",
                                        "java.lang.ref.SoftReference",
                                        "java.lang.ref.WeakReference",
                                        "java.lang.ref.FinalReference",
                                        "java.lang.ref.PhantomReference",
                                        "java.lang.Object[]",
                                        "boolean[]",
                                        "char[]",
                                        "float[]",
                                        "double[]",
                                        "byte[]",
                                        "short[]",
                                        "int[]",
                                        "long[]"};

bool IsReferenceKind(std::string_view name) {
  return name.size() > kReferenceClass.size() && name.substr(0, 14) == "java.lang.ref.";
}

class HeapDump {
 public:
  HeapDump(HprofWriter& writer, const HeapToWrite& heap, Held held)
      : writer_(&writer),
        heap_(&heap),
        definitions_(&heap.definitions),
        held_(held),
        header_bytes_(static_cast<uint32_t>(analyzer::FormatOf(heap.definitions).header_bytes)),
        next_id_((heap.heap_end + kIdStep - 1) / kIdStep * kIdStep),
        stacks_(writer, heap.definitions, [this](const std::string& name) {
          const auto found = by_name_.find(name);
          return found == by_name_.end() ? 0 : found->second->serial;
        }) {}

  WrittenHeap Write() {
    writer_->Begin(heap_->milliseconds);
    Count();
    DefineClasses();
    DefineSites();
    NameFields();
    for (const auto& [number, each] : classes_) WriteClass(each);
    heap_->for_each([&](const HeapObject& object) { WriteObject(object); });
    if (held_ == Held::kSites) WriteSites();
    return written_;
  }

 private:
  struct Class {
    std::string name;
    uint64_t class_id = 0;  // in the trace; 0: it is not there
    uint64_t id = 0;
    uint32_t serial = 0;
    bool array = false;
    Type element = Type::kObject;
  };
  struct Site {
    uint64_t class_id = 0;  // of kSites
    uint32_t stack = 0;
    uint64_t objects = 0;
  };

  uint64_t NextId() { return next_id_ += kIdStep; }

  // Which shapes there are, and how many objects of each site.
  void Count() {
    shapes_.resize(definitions_->shapes().size());
    heap_->for_each([&](const HeapObject& object) {
      shapes_[object.shape] = true;
      written_.objects++;
      written_.bytes += analyzer::InBytes(definitions_->shapes().words(object.shape));
      sites_[definitions_->site_class_of_shape(object.shape).site].objects++;
    });
  }

  // Classes of the same name, of several loaders, are one each. A superclass is wanted with its class.
  void DefineClasses() {
    std::set<uint64_t> wanted;  // with superclasses
    const auto want = [&](uint64_t id) {
      for (; id != 0 && wanted.insert(id).second; id = definitions_->class_info(id).super) {
      }
    };
    for (uint32_t shape = 0; shape < shapes_.size(); shape++) {
      if (shapes_[shape]) want(definitions_->site_class_of_shape(shape).class_id);
    }
    definitions_->ForEachClass([&](uint64_t id, const ClassInfo& info) {
      const bool needed = std::find(std::begin(kNeeded), std::end(kNeeded), info.name) != std::end(kNeeded);
      if (needed) want(id);
    });
    for (const uint64_t id : wanted) Define(definitions_->class_info(id).name, id);
    for (const std::string_view name : kNeeded) {
      if (by_name_.count(std::string(name)) == 0) Define(std::string(name), 0);
    }
  }

  void Define(std::string name, uint64_t class_id) {
    if (name.empty()) name = fmt::format("<class {}>", class_id);
    Class& added = classes_[classes_.size()];
    added.name = name;
    added.class_id = class_id;
    added.id = NextId();
    added.array = name.size() > 2 && name.substr(name.size() - 2) == "[]";
    const std::string in_dump = NameInDump(name);
    if (added.array) added.element = TypeOf(std::string_view(in_dump).substr(1));
    added.serial = writer_->LoadClass(added.id, in_dump);
    if (class_id != 0) by_class_id_.emplace(class_id, &added);
    by_name_.try_emplace(std::move(name), &added);
  }

  void DefineSites() {
    for (auto& [site, info] : sites_) {
      info.stack = stacks_.Of(site);
      if (held_ != Held::kSites) continue;
      info.class_id = NextId();
      writer_->LoadClass(info.class_id, "site " + SiteLabel(*definitions_, site));
    }
    writer_->String("objects");
  }

  // The fields that a class itself declares, and what is missing of its size without them.
  std::vector<FieldOfDump> FieldsOf(const Class& each) {
    std::vector<FieldOfDump> fields;
    if (each.array) return fields;
    const ClassInfo& info = definitions_->class_info(each.class_id);
    if (info.fields_known) {
      for (const analyzer::FieldInfo& field : info.fields)
        fields.push_back({field.name, TypeOf(field.signature)});
    } else if (each.class_id != 0 && each.name != kObjectClass) {
      const ClassInfo& super = definitions_->class_info(info.super);
      const uint64_t before = std::max<uint64_t>(super.bytes, header_bytes_);
      uint64_t missing = std::min<uint64_t>(info.bytes > before ? info.bytes - before : 0, UINT16_MAX);
      for (; missing >= 8; missing -= 8) fields.push_back({"", Type::kLong});
      for (; missing != 0; missing--) fields.push_back({"", Type::kByte});
    }
    const bool has_referent = std::any_of(fields.begin(), fields.end(),
                                          [](const FieldOfDump& field) { return field.name == "referent"; });
    if (each.name == kReferenceClass && !has_referent) fields.push_back({"referent", Type::kObject});
    return fields;
  }

  // nullptr: none. A class of the trace has one of the trace, or java.lang.Object: no chain is a loop.
  const Class* SuperOf(const Class& each) const {
    if (each.name == kObjectClass) return nullptr;
    const auto super = by_class_id_.find(definitions_->class_info(each.class_id).super);
    if (each.class_id != 0 && super != by_class_id_.end()) return super->second;
    const bool of_reference = each.class_id == 0 && IsReferenceKind(each.name);
    return by_name_.at(std::string(of_reference ? kReferenceClass : kObjectClass));
  }

  // Bytes of an instance's values, those of superclasses included.
  uint32_t ValueBytes(const Class& each) {
    if (const auto known = value_bytes_.find(each.id); known != value_bytes_.end()) return known->second;
    const Class* super = SuperOf(each);
    uint64_t bytes = super == nullptr ? 0 : ValueBytes(*super);
    for (const FieldOfDump& field : FieldsOf(each)) bytes += TypeBytes(field.type);
    return value_bytes_[each.id] = static_cast<uint32_t>(std::min<uint64_t>(bytes, kMaxInstanceBytes));
  }

  // Ahead of the heap: VisualVM takes no other records between its segments.
  void NameFields() {
    for (const auto& [number, each] : classes_) {
      for (const FieldOfDump& field : FieldsOf(each)) writer_->String(field.name);
    }
    if (held_ == Held::kSites) writer_->String(kObjectsField);
  }
  // Of an instance in the JVM, in the record of its class. VisualVM takes that of java.lang.Object for the
  // header.
  uint32_t JvmBytes(const Class& each) {
    const ClassInfo& info = definitions_->class_info(each.class_id);
    if (each.name == kObjectClass || info.bytes == 0) return header_bytes_ + ValueBytes(each);
    return static_cast<uint32_t>(std::min<uint64_t>(info.bytes, kMaxInstanceBytes));
  }

  void WriteClass(const Class& each) {
    const Class* super = SuperOf(each);
    writer_->Class(each.id, super == nullptr ? 0 : super->id, HprofWriter::kNoStack, JvmBytes(each),
                   FieldsOf(each));
    writer_->Root(each.id);
  }

  void WriteObject(const HeapObject& object) {
    const analyzer::ObjectShape& shape = definitions_->shapes()[object.shape];
    const analyzer::SiteClass& pair = definitions_->site_class(shape.site_class);
    const Class& each = *by_class_id_.at(pair.class_id);
    const uint32_t stack = sites_.at(pair.site).stack;
    const uint64_t address = analyzer::InBytes(object.word);
    if (!each.array) {
      writer_->ZeroInstance(address, stack, each.id, ValueBytes(each));
    } else if (each.element == Type::kObject) {
      writer_->ZeroObjectArray(address, stack, each.id, shape.length);
    } else {
      writer_->ZeroArray(address, stack, each.element, shape.length);
    }
    if (held_ == Held::kRoots) writer_->Root(address);
  }

  // Arrays of objects that were allocated at a site. One site may need several, as a record is bounded.
  void WriteSites() {
    struct Entry {
      uint32_t site;
      uint64_t word;
    };
    std::vector<Entry> entries;
    entries.reserve(written_.objects);
    heap_->for_each([&](const HeapObject& object) {
      entries.push_back({definitions_->site_class_of_shape(object.shape).site, object.word});
    });
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.site < b.site; });
    const uint64_t object_array = by_name_.at("java.lang.Object[]")->id;
    const uint64_t object_class = by_name_.at(std::string(kObjectClass))->id;
    size_t at = 0;
    for (const auto& [site, info] : sites_) {
      const FieldOfDump field{kObjectsField, Type::kObject};
      writer_->Class(info.class_id, object_class, HprofWriter::kNoStack, header_bytes_ + kIdBytes, {&field, 1});
      writer_->Root(info.class_id);
      for (uint64_t left = info.objects; left != 0;) {
        const auto length = static_cast<uint32_t>(std::min<uint64_t>(left, kMaxSiteArray));
        const uint64_t array = NextId(), holder = NextId();
        writer_->ObjectArray(array, HprofWriter::kNoStack, object_array, length);
        for (uint32_t i = 0; i < length; i++) writer_->Id(analyzer::InBytes(entries[at++].word));
        writer_->Instance(holder, info.stack, info.class_id, array);
        writer_->Root(holder);
        left -= length;
      }
    }
  }

  HprofWriter* writer_;
  const HeapToWrite* heap_;
  const analyzer::Definitions* definitions_;
  const Held held_;
  const uint32_t header_bytes_;
  uint64_t next_id_;
  SiteStacks stacks_;
  std::vector<bool> shapes_;
  std::map<uint32_t, Site> sites_;
  std::map<size_t, Class> classes_;  // in the order of definition
  std::unordered_map<uint64_t, const Class*> by_class_id_;
  std::unordered_map<std::string, const Class*> by_name_;
  std::unordered_map<uint64_t, uint32_t> value_bytes_;  // by id
  WrittenHeap written_;
};

}  // namespace

trace::Result<WrittenHeap> WriteHprof(const std::string& path, bool force, const HeapToWrite& heap, Held held) {
  auto writer = HprofWriter::Create(path, force);
  if (!writer.ok()) return writer.status();
  const WrittenHeap written = HeapDump(**writer, heap, held).Write();
  trace::Status status = (*writer)->Finish();
  if (!status.ok()) return status;
  return written;
}

}  // namespace anttracks::hprof
