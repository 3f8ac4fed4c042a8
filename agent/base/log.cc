// SPDX-License-Identifier: Apache-2.0
#include "agent/base/log.h"

#include <poll.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace anttracks::core {
namespace {

// Never destroyed: threads may log until the process is gone.
spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto* made = new spdlog::logger("anttracks", std::move(sink));
    made->set_pattern("[anttracks] %l: %v");
    made->set_level(spdlog::level::warn);
    made->set_error_handler([](const std::string&) {});
    return made;
  }();
  return *logger;
}

// Who logs may hold up the whole JVM. A pipe that is full for that long has no reader.
bool IsRead(int fd) {
  constexpr int kWaitMs = 1000;
  pollfd out{fd, POLLOUT, 0};
  int ready = 0;
  do {
    ready = poll(&out, 1, kWaitMs);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

void Log(spdlog::level::level_enum level, std::string_view message) noexcept {
  try {
    if (!Logger().should_log(level) || !IsRead(STDERR_FILENO)) return;
    Logger().log(level, spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // stderr is gone or memory is: nobody is left to tell.
  }
}

}  // namespace

void SetLogLevel(LogLevel level) noexcept {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::err, spdlog::level::warn,
                                                          spdlog::level::info, spdlog::level::debug};
  try {
    Logger().set_level(kLevels[static_cast<int>(level)]);
  } catch (...) {
  }
}
void LogError(std::string_view message) noexcept { Log(spdlog::level::err, message); }
void LogWarn(std::string_view message) noexcept { Log(spdlog::level::warn, message); }
void LogInfo(std::string_view message) noexcept { Log(spdlog::level::info, message); }
void LogDebug(std::string_view message) noexcept { Log(spdlog::level::debug, message); }

}  // namespace anttracks::core
