// SPDX-License-Identifier: Apache-2.0
// Which traces a process has open, from its file descriptors in /proc.
//
// Thread safety: full.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace anttracks::analyzer {

// Paths as we see them: of a rotated trace that of its definitions file. Empty: it has none, or its descriptors
// must not be looked at (errno says so). proc: the path of /proc.
std::vector<std::string> OpenTraces(pid_t pid, const std::string& proc = "/proc");

}  // namespace anttracks::analyzer
