// SPDX-License-Identifier: Apache-2.0
// JVM descriptors of field types: "I", "Ljava/lang/String;", "[[J".
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anttracks::analyzer {

// The size of a field of this type in an object, in bytes; 0 if the text is not a descriptor.
uint64_t FieldBytes(std::string_view descriptor, uint64_t reference_bytes);

// The type as in Java source, with names as Class.getName() gives them: "int", "java.lang.String", "long[][]".
// Text that is not a descriptor is returned unchanged.
std::string JavaType(std::string_view descriptor);

// Whether type is the name of a primitive type in Java: "int", "boolean", …
bool IsPrimitive(std::string_view type);

}  // namespace anttracks::analyzer
