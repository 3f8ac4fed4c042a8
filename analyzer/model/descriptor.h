// SPDX-License-Identifier: Apache-2.0
// JVM descriptors of field types: "I", "Ljava/lang/String;", "[[J".
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anttracks::analyzer {

// Bytes that a field of the type takes in an object; 0 if the text is no descriptor.
uint64_t FieldBytes(std::string_view descriptor, uint64_t reference_bytes);

// As in Java source, names as Class.getName() has them: "int", "java.lang.String", "long[][]". Text that is no
// descriptor stays as it is.
std::string JavaType(std::string_view descriptor);

// Whether "int", "boolean", … is a primitive type's name in Java.
bool IsPrimitive(std::string_view type);

}  // namespace anttracks::analyzer
