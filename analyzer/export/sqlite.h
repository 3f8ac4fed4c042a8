// SPDX-License-Identifier: Apache-2.0
// A database for SQLite. Its schema is described in docs/exports.md, and by comments that the database keeps
// (.schema). Every row has the trace's id, so that the tables of many traces can be copied into one database.
//
// Thread safety: none.
#pragma once

#include <string>

#include "analyzer/export/profile.h"
#include "trace/status.h"

namespace anttracks::analyzer {

// The database file's bytes.
trace::Result<std::string> SqliteBytes(const ExportProfile& profile, const ExportTimeline& timeline);

}  // namespace anttracks::analyzer
