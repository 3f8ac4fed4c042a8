// SPDX-License-Identifier: Apache-2.0
// The export of the heap after a collection, or at the end, as a heap dump.
//
// Thread safety: none.
#pragma once

#include "analyzer/cli/commands.h"

namespace anttracks::analyzer {

// Returns the exit code. Writes the file itself, as a dump is as large as the heap.
int ExportHprof(Session& session, const ExportArguments& arguments);

}  // namespace anttracks::analyzer
