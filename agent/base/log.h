// SPDX-License-Identifier: Apache-2.0
// Writes messages to stderr, prefixed with [anttracks]. Not for hot paths. Never throws, never ends the
// process.
//
// Thread safety: full.
#pragma once

#include <string_view>

namespace anttracks::core {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

void SetLogLevel(LogLevel level) noexcept;
void LogError(std::string_view message) noexcept;
void LogWarn(std::string_view message) noexcept;
void LogInfo(std::string_view message) noexcept;
void LogDebug(std::string_view message) noexcept;

}  // namespace anttracks::core
