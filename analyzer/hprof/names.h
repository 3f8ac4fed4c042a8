// SPDX-License-Identifier: Apache-2.0
// Names of classes: as in a dump ("java/lang/String", "[[I", "app/Main$$Lambda$1+0x7f01") and as in a trace
// ("java.lang.String", "int[][]", "app.Main$$Lambda$1/0x7f01").
//
// Thread safety: full.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/hprof/format.h"

namespace anttracks::hprof {

std::string SourceName(std::string_view name_in_dump);
std::string NameInDump(std::string_view source_name);
// The type of a field with this JVM descriptor, or of the elements of an array of this class in a dump if the
// first bracket is left out.
Type TypeOf(std::string_view descriptor);

}  // namespace anttracks::hprof
