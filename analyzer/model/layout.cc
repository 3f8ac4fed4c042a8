// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/layout.h"

#include <algorithm>
#include <string_view>

#include "analyzer/model/descriptor.h"

namespace anttracks::analyzer {
namespace {

using Kind = LayoutPart::Kind;

constexpr uint64_t kLengthBytes = 4;
// The smallest header of an array, with its length: with compact headers, and with a compressed class pointer.
constexpr uint64_t kCompactArrayHeader = 12, kCompressedArrayHeader = 16;

// Appends parts by offset and keeps what lies between them as gaps.
class Builder {
 public:
  explicit Builder(ClassLayout* layout) : layout_(layout) {}

  void Add(const LayoutPart& part) {
    GapTo(part.offset);
    layout_->parts.push_back(part);
    end_ = std::max(end_, part.offset + part.bytes);
  }
  void GapTo(uint64_t offset) {
    if (offset <= end_) return;
    layout_->parts.push_back({Kind::kGap, end_, offset - end_});
    layout_->gap_bytes += offset - end_;
    end_ = offset;
  }

 private:
  ClassLayout* layout_;
  uint64_t end_ = 0;
};

std::vector<LayoutPart> FieldsOf(const Definitions& definitions, const ObjectFormat& format, uint64_t class_id,
                                 uint64_t* incomplete) {
  std::vector<LayoutPart> fields;
  while (class_id != 0) {
    const ClassInfo& info = definitions.class_info(class_id);
    if (!info.fields_known) *incomplete = class_id;
    for (const FieldInfo& field : info.fields) {
      const uint64_t bytes = FieldBytes(field.signature, format.reference_bytes);
      fields.push_back({Kind::kField, field.offset, bytes, &field, class_id});
    }
    class_id = info.super;
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const LayoutPart& a, const LayoutPart& b) { return a.offset < b.offset; });
  return fields;
}

bool HoldsReferences(const ClassInfo& array) {
  const std::string_view name = array.name;
  return name.size() > 2 && !IsPrimitive(name.substr(0, name.size() - 2));
}

}  // namespace

ObjectFormat FormatOf(const Definitions& definitions) {
  ObjectFormat format;
  uint64_t least = UINT64_MAX;  // elements of 8 bytes may begin further behind
  definitions.ForEachClass([&](uint64_t, const ClassInfo& info) {
    if ((info.flags & trace::kClassArray) == 0) return;
    if (info.header_bytes != 0) least = std::min(least, info.header_bytes);
    if (HoldsReferences(info)) format.reference_bytes = uint64_t{1} << info.log2_element;
  });
  if (least != UINT64_MAX) {
    format.header_bytes = least <= kCompactArrayHeader ? 8 : least <= kCompressedArrayHeader ? 12 : 16;
  }
  return format;
}

ClassLayout LayoutOf(const Definitions& definitions, const ObjectFormat& format, uint64_t class_id) {
  ClassLayout layout;
  Builder builder(&layout);
  const ClassInfo& info = definitions.class_info(class_id);
  builder.Add({Kind::kHeader, 0, format.header_bytes});
  if ((info.flags & trace::kClassArray) != 0) {
    builder.Add({Kind::kLength, format.header_bytes, kLengthBytes});
    builder.Add({Kind::kElements, info.header_bytes, uint64_t{1} << info.log2_element});
    return layout;
  }
  for (const LayoutPart& field : FieldsOf(definitions, format, class_id, &layout.incomplete))
    builder.Add(field);
  builder.GapTo(info.bytes);
  return layout;
}

}  // namespace anttracks::analyzer
