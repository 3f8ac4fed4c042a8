// SPDX-License-Identifier: Apache-2.0
// A profile for go pprof, Pyroscope, speedscope and others: profile.proto of
// https://github.com/google/pprof/tree/main/proto, compressed with gzip.
//
// Thread safety: none.
#pragma once

#include <string>

#include "analyzer/export/profile.h"
#include "trace/status.h"

namespace anttracks::analyzer {

// The sample types are alloc_objects, alloc_space, inuse_objects and inuse_space; of censuses the last two. The
// class is the innermost frame. Labels are in each sample; labels, notes and what is known of the process also
// in comments.
trace::Result<std::string> PprofBytes(const ExportProfile& profile);

}  // namespace anttracks::analyzer
