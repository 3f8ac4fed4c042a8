// SPDX-License-Identifier: Apache-2.0
// Messages to stderr, prefixed [anttracks]. Never on a hot path. They never throw, and never end the process.
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
