// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/fault_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

// Of a run that takes milliseconds.
constexpr unsigned kHangSeconds = 120;

char hang_text[64];
int terminal = STDERR_FILENO;

// What the agent logs of each fault, into nothing.
class Silence {
 public:
  Silence() : null_(open("/dev/null", O_WRONLY | O_CLOEXEC, 0)) {
    terminal = dup(STDERR_FILENO);
    dup2(null_, STDERR_FILENO);
  }
  ~Silence() {
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    close(null_);
    terminal = STDERR_FILENO;
  }

 private:
  const int null_;
};

void OnHang(int) {
  [[maybe_unused]] const ssize_t written = write(terminal, hang_text, std::strlen(hang_text));
  abort();
}

using Place = std::tuple<uint64_t, uint32_t, uint32_t, bool>;  // address, site, length, outside

}  // namespace

FaultRun::FaultRun(uint64_t number) : path_(TemporaryPath()) {
  std::snprintf(hang_text, sizeof hang_text, "fault %llu: it hangs\n", static_cast<unsigned long long>(number));
  signal(SIGALRM, OnHang);
  alarm(kHangSeconds);
}

FaultRun::~FaultRun() {
  alarm(0);
  const fs::path path = path_;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    if (entry.path().filename().string().rfind(path.filename().string(), 0) == 0)
      fs::remove(entry.path(), ignored);
  }
}

ScriptOutcome FaultRun::Run(ScriptPlan plan) {
  const Silence silence;
  return Script(std::move(plan)).Run();
}

uint64_t FaultRun::BytesOnDisk() const {
  uint64_t sum = 0;
  const fs::path path = path_;
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    std::error_code gone;
    if (entry.path().filename().string().rfind(path.filename().string(), 0) != 0) continue;
    const uint64_t bytes = entry.file_size(gone);
    if (!gone) sum += bytes;
  }
  return sum;
}

void FaultRun::CheckObjects(const ScriptOutcome& outcome) const {
  const ReadTrace trace(path_);
  std::vector<Place> found, expected;
  for (const ReadObject& object : trace.objects) {
    found.emplace_back(object.address, object.site, object.length, object.outside);
  }
  for (const ScriptObject& object : outcome.allocated) {
    expected.emplace_back(object.at, object.site, object.length, object.outside);
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  CHECK(found == expected);
}

bool FaultRun::CheckToldOrComplete(const ScriptOutcome& outcome, bool all_read) const {
  CHECK(outcome.thrown == "");
  const CheckedTrace checked = CheckTrace(path_);
  CAPTURE(outcome.reason);
  CAPTURE(checked.end_reason);
  CHECK(checked.first_error == "");
  CHECK(checked.errors == 0);
  const bool cut = !checked.ended && outcome.failed;
  const bool told = checked.losses != 0 || cut || checked.end_reason.rfind("tracing stopped", 0) == 0;
  if (told) {
    CHECK((checked.unreadable == "" || cut));
    return true;
  }
  CHECK(checked.unreadable == "");
  CHECK(checked.ended);
  CHECK(checked.truncated_bytes == 0);
  CHECK(checked.exact);
  // What was skipped since the last collection is not known.
  CHECK(checked.live <= outcome.live);
  if (all_read) CHECK(checked.live == outcome.live);
  const bool rotates = fs::exists(path_ + ".0") || outcome.files != 1;
  if (!rotates) {
    CHECK(checked.collections == outcome.collections);
    if (all_read) CheckObjects(outcome);
  }
  return false;
}

}  // namespace anttracks::core
