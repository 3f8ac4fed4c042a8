// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/descriptor.h"

#include <algorithm>
#include <iterator>

namespace anttracks::analyzer {
namespace {

struct Primitive {
  char letter;
  std::string_view name;
  uint64_t bytes;
};
constexpr Primitive kPrimitives[] = {{'Z', "boolean", 1}, {'B', "byte", 1},  {'C', "char", 2},
                                     {'S', "short", 2},   {'I', "int", 4},   {'F', "float", 4},
                                     {'J', "long", 8},    {'D', "double", 8}};

const Primitive* FindPrimitive(std::string_view descriptor) {
  for (const Primitive& primitive : kPrimitives) {
    if (descriptor.size() == 1 && descriptor[0] == primitive.letter) return &primitive;
  }
  return nullptr;
}

bool IsClass(std::string_view descriptor) {
  return descriptor.size() > 2 && descriptor.front() == 'L' && descriptor.back() == ';';
}

size_t Dimensions(std::string_view descriptor) {
  return std::min(descriptor.find_first_not_of('['), descriptor.size());
}

}  // namespace

uint64_t FieldBytes(std::string_view descriptor, uint64_t reference_bytes) {
  const size_t dimensions = Dimensions(descriptor);
  const std::string_view element = descriptor.substr(dimensions);
  const Primitive* const primitive = FindPrimitive(element);
  if (primitive == nullptr && !IsClass(element)) return 0;
  return primitive != nullptr && dimensions == 0 ? primitive->bytes : reference_bytes;
}

std::string JavaType(std::string_view descriptor) {
  const size_t dimensions = Dimensions(descriptor);
  const std::string_view element = descriptor.substr(dimensions);
  std::string type;
  if (const Primitive* const primitive = FindPrimitive(element)) {
    type = primitive->name;
  } else if (IsClass(element)) {
    type = element.substr(1, element.size() - 2);
    std::replace(type.begin(), type.end(), '/', '.');
  } else {
    return std::string(descriptor);
  }
  for (size_t i = 0; i < dimensions; i++) type += "[]";
  return type;
}

bool IsPrimitive(std::string_view type) {
  return std::any_of(std::begin(kPrimitives), std::end(kPrimitives),
                     [&](const Primitive& primitive) { return primitive.name == type; });
}

}  // namespace anttracks::analyzer
