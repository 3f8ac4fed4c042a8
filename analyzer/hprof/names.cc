// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/names.h"

#include <algorithm>
#include <array>

namespace anttracks::hprof {
namespace {

struct Primitive {
  char letter;
  Type type;
  std::string_view name;
};
constexpr std::array<Primitive, 8> kPrimitives{{{'Z', Type::kBoolean, "boolean"},
                                                {'C', Type::kChar, "char"},
                                                {'F', Type::kFloat, "float"},
                                                {'D', Type::kDouble, "double"},
                                                {'B', Type::kByte, "byte"},
                                                {'S', Type::kShort, "short"},
                                                {'I', Type::kInt, "int"},
                                                {'J', Type::kLong, "long"}}};

// What divides a hidden class's name from its address.
constexpr std::string_view kHiddenInDump = "+0x", kHiddenInSource = "/0x";

}  // namespace

std::string SourceName(std::string_view name) {
  size_t dimensions = 0;
  while (dimensions < name.size() && name[dimensions] == '[') dimensions++;
  std::string_view element = name.substr(dimensions);
  std::string source(element);
  if (dimensions != 0) {
    const auto* primitive = std::find_if(kPrimitives.begin(), kPrimitives.end(), [&](const Primitive& p) {
      return element == std::string(1, p.letter);
    });
    if (primitive != kPrimitives.end()) {
      source = primitive->name;
    } else if (element.size() >= 2 && element.front() == 'L' && element.back() == ';') {
      source = element.substr(1, element.size() - 2);
    }
  }
  const size_t hidden = source.rfind(kHiddenInDump);
  std::replace(source.begin(), source.begin() + static_cast<ptrdiff_t>(std::min(hidden, source.size())), '/',
               '.');
  if (hidden != std::string::npos) source.replace(hidden, 1, "/");
  for (; dimensions != 0; dimensions--) source += "[]";
  return source;
}

std::string NameInDump(std::string_view source) {
  size_t dimensions = 0;
  while (source.size() > 2 && source.substr(source.size() - 2) == "[]") {
    source.remove_suffix(2);
    dimensions++;
  }
  std::string name(source);
  const size_t hidden = name.rfind(kHiddenInSource);
  std::replace(name.begin(), name.begin() + static_cast<ptrdiff_t>(std::min(hidden, name.size())), '.', '/');
  if (hidden != std::string::npos) name.replace(hidden, 1, "+");
  if (dimensions == 0) return name;
  const auto* primitive =
      std::find_if(kPrimitives.begin(), kPrimitives.end(), [&](const Primitive& p) { return name == p.name; });
  name = primitive != kPrimitives.end() ? std::string(1, primitive->letter) : "L" + name + ";";
  return std::string(dimensions, '[') + name;
}

Type TypeOf(std::string_view descriptor) {
  if (!descriptor.empty()) {
    for (const Primitive& primitive : kPrimitives) {
      if (primitive.letter == descriptor[0]) return primitive.type;
    }
  }
  return Type::kObject;
}

}  // namespace anttracks::hprof
