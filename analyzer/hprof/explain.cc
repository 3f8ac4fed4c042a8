// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/hprof/names.h"
#include "analyzer/model/definitions.h"

namespace anttracks::hprof {
namespace {

using trace::Status;

// What a record refers to; objects of some addresses only.
class Explainer {
 public:
  Explainer(const HprofReader& reader, const Dump& dump,
            const std::vector<std::pair<uint32_t, uint32_t>>& references)
      : reader_(&reader), dump_(&dump), texts_(references.size()) {
    for (size_t i = 0; i < references.size(); i++) {
      const auto& [from, to] = references[i];
      wanted_[dump.objects()[from].address].emplace_back(i, dump.objects()[to].address);
    }
  }

  Status operator()(const RootRecord&) { return {}; }
  Status operator()(const ClassRecord& record) {
    ForEachWanted(record.id, [&](uint64_t to) -> std::string {
      for (size_t at = 0; at < record.statics.size();) {
        const Type type{record.statics[at + kIdBytes]};
        if (type == Type::kObject && GetU8(&record.statics[at + kIdBytes + 1]) == to)
          return "static " + analyzer::CutText(reader_->String(GetU8(&record.statics[at])));
        at += kIdBytes + 1 + TypeBytes(type);
      }
      return record.loader == to ? "<class loader>" : "";
    });
    return {};
  }
  Status operator()(const InstanceRecord& record) {
    ForEachWanted(record.id, [&](uint64_t to) { return FieldOf(record, to); });
    return {};
  }
  Status operator()(const ArrayRecord& record) {
    if (record.type != Type::kObject) return {};
    ForEachWanted(record.id, [&](uint64_t to) -> std::string {
      for (uint32_t i = 0; i < record.length; i++) {
        if (GetU8(record.elements + uint64_t{i} * kIdBytes) == to) return fmt::format("[{}]", i);
      }
      return record.class_id == to ? "<class>" : "";
    });
    return {};
  }
  std::vector<std::string>& texts() { return texts_; }

 private:
  template <class TextOf>
  void ForEachWanted(uint64_t id, TextOf&& text_of) {
    const auto found = wanted_.find(id);
    if (found == wanted_.end()) return;
    for (const auto& [number, to] : found->second) texts_[number] = text_of(to);
  }

  std::string FieldOf(const InstanceRecord& record, uint64_t to) const {
    uint32_t begin = 0;
    for (uint32_t at = dump_->FindClass(record.class_id); at != kNone; at = dump_->classes()[at].super) {
      const DumpClass& its = dump_->classes()[at];
      for (const DumpField& field : its.fields) {
        if (field.type == Type::kObject && GetU8(record.values.data() + begin + field.offset) == to)
          return analyzer::CutText(field.name);
      }
      begin += its.value_bytes - (its.super == kNone ? 0 : dump_->classes()[its.super].value_bytes);
    }
    return record.class_id == to ? "<class>" : "";
  }

  const HprofReader* reader_;
  const Dump* dump_;
  analyzer::IdMap<std::vector<std::pair<size_t, uint64_t>>> wanted_;
  std::vector<std::string> texts_;
};

// A value of an instance's field, or the bytes of an array.
class ValueFinder {
 public:
  ValueFinder(const Dump& dump, uint64_t id, std::string_view field) : dump_(&dump), id_(id), field_(field) {}
  Status operator()(const RootRecord&) { return {}; }
  Status operator()(const ClassRecord&) { return {}; }
  Status operator()(const InstanceRecord& record) {
    if (record.id != id_) return {};
    uint32_t begin = 0;
    for (uint32_t at = dump_->FindClass(record.class_id); at != kNone; at = dump_->classes()[at].super) {
      const DumpClass& its = dump_->classes()[at];
      for (const DumpField& field : its.fields) {
        const uint8_t* value = record.values.data() + begin + field.offset;
        if (field.name == "coder" && field.type == Type::kByte) coder = *value;
        if (field.name == field_ && field.type == Type::kObject) reference = GetU8(value);
      }
      begin += its.value_bytes - (its.super == kNone ? 0 : dump_->classes()[its.super].value_bytes);
    }
    return {};
  }
  Status operator()(const ArrayRecord& record) {
    if (record.id == id_ && record.type == Type::kByte) bytes = {record.elements, record.length};
    return {};
  }

  uint64_t reference = 0;
  uint8_t coder = 0;
  std::span<const uint8_t> bytes;

 private:
  const Dump* dump_;
  uint64_t id_;
  std::string_view field_;
};

ValueFinder Find(const HprofReader& reader, const Dump& dump, uint64_t id, std::string_view field) {
  ValueFinder finder(dump, id, field);
  Status ignored = reader.ForEach(finder);  // it was read before
  (void)ignored;
  return finder;
}

// The name of a java.lang.Thread, from its String. "": it cannot be read.
std::string ThreadName(const HprofReader& reader, const Dump& dump, uint64_t thread) {
  constexpr size_t kLongest = 200;
  constexpr uint8_t kUtf16 = 1;
  const uint64_t string = Find(reader, dump, thread, "name").reference;
  if (string == 0) return "";
  const ValueFinder value = Find(reader, dump, string, "value");
  if (value.reference == 0) return "";
  const std::span<const uint8_t> bytes = Find(reader, dump, value.reference, "").bytes;
  std::string name;
  const size_t step = value.coder == kUtf16 ? 2 : 1;
  for (size_t at = 0; at + step <= bytes.size() && name.size() < kLongest; at += step) {
    const bool ascii = bytes[at] < 0x80 && (step == 1 || bytes[at + 1] == 0);
    name += ascii ? static_cast<char>(bytes[at]) : '?';
  }
  return name;
}

// "app.Main.run(Main.java:12)", the frame with that number of a stack. "": there is none.
std::string FrameText(const HprofReader& reader, uint32_t stack, uint32_t number) {
  uint64_t frame = 0;
  reader.ForEachRecord([&](const HprofReader::Record& record) {
    const uint8_t* p = record.body.data();
    if (record.tag != Tag::kStackTrace || GetU4(p) != stack || number >= GetU4(p + 8)) return;
    const uint64_t at = 12 + uint64_t{number} * kIdBytes;
    if (at + kIdBytes <= record.body.size()) frame = GetU8(p + at);
  });
  std::string text;
  reader.ForEachRecord([&](const HprofReader::Record& record) {
    const uint8_t* p = record.body.data();
    if (frame == 0 || record.tag != Tag::kStackFrame || GetU8(p) != frame) return;
    const uint32_t serial = GetU4(p + 32);
    const auto line = static_cast<int32_t>(GetU4(p + 36));
    const auto its = std::find_if(reader.classes().begin(), reader.classes().end(),
                                  [&](const LoadedClass& each) { return each.serial == serial; });
    const std::string class_name = its == reader.classes().end() ? "" : SourceName(its->name) + ".";
    const std::string_view source = reader.String(GetU8(p + 24));
    text = fmt::format("{}{}({}{})", class_name, reader.String(GetU8(p + 8)),
                       line == -3       ? "Native Method"
                       : source.empty() ? "Unknown Source"
                                        : source,
                       line > 0 ? fmt::format(":{}", line) : "");
  });
  return text;
}

// How much a kind of root tells.
int Rank(Sub kind) {
  switch (kind) {
    case Sub::kRootJavaFrame:
      return 5;
    case Sub::kRootThreadObject:
      return 4;
    case Sub::kRootJniLocal:
    case Sub::kRootNativeStack:
    case Sub::kRootThreadBlock:
      return 3;
    case Sub::kRootJniGlobal:
    case Sub::kRootMonitorUsed:
      return 2;
    case Sub::kRootStickyClass:
      return 1;
    default:
      return 0;
  }
}

std::string_view KindText(Sub kind) {
  switch (kind) {
    case Sub::kRootJavaFrame:
      return "local variable";
    case Sub::kRootThreadObject:
      return "thread";
    case Sub::kRootJniLocal:
      return "local reference of native code";
    case Sub::kRootNativeStack:
      return "native stack";
    case Sub::kRootThreadBlock:
      return "thread block";
    case Sub::kRootJniGlobal:
      return "global reference of native code";
    case Sub::kRootMonitorUsed:
      return "monitor that is held";
    case Sub::kRootStickyClass:
      return "system class";
    default:
      return "root of the VM";
  }
}

}  // namespace

std::vector<std::string> ExplainReferences(const HprofReader& reader, const Dump& dump,
                                           const std::vector<std::pair<uint32_t, uint32_t>>& references) {
  Explainer explainer(reader, dump, references);
  Status ignored = reader.ForEach(explainer);  // it was read before
  (void)ignored;
  return std::move(explainer.texts());
}

std::string ExplainRoot(const HprofReader& reader, const Dump& dump, const References& references,
                        uint32_t object) {
  const DumpRoot* best = nullptr;
  for (const DumpRoot& root : references.roots()) {
    if (root.object == object && (best == nullptr || Rank(root.kind) > Rank(best->kind))) best = &root;
  }
  if (best == nullptr) return "";
  std::string text(KindText(best->kind));
  const auto thread =
      std::find_if(references.roots().begin(), references.roots().end(), [&](const DumpRoot& root) {
        return root.kind == Sub::kRootThreadObject && root.thread == best->thread && best->thread != 0;
      });
  if (thread == references.roots().end()) return text;
  if (best->kind == Sub::kRootJavaFrame) {
    const std::string frame = FrameText(reader, thread->frame, best->frame);
    if (!frame.empty()) text += " of " + frame;
  }
  const std::string name = ThreadName(reader, dump, dump.objects()[thread->object].address);
  if (!name.empty()) text += best->kind == Sub::kRootThreadObject ? " " + name : " in thread " + name;
  return text;
}

}  // namespace anttracks::hprof
