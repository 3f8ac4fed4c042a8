// SPDX-License-Identifier: Apache-2.0
// One run of a script with a fault in it: a trace of its own, a watchdog, and what has to hold afterwards.
//
// Thread safety: none; one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/agent/fault_check.h"
#include "tests/unit/agent/fault_script.h"

namespace anttracks::core {

class FaultRun {
 public:
  // The number of the fault: what the watchdog tells.
  explicit FaultRun(uint64_t number);
  // Deletes the trace.
  ~FaultRun();
  FaultRun(const FaultRun&) = delete;

  const std::string& path() const { return path_; }
  static ScriptOutcome Run(ScriptPlan plan);
  // The trace loads; it is complete, or it says that it is not. True: it is not. all_read: every object is in
  // it, dead ones, too.
  bool CheckToldOrComplete(const ScriptOutcome& outcome, bool all_read = true) const;
  // Of all files of the trace. Any thread.
  uint64_t BytesOnDisk() const;

 private:
  void CheckObjects(const ScriptOutcome& outcome) const;
  const std::string path_;
};

}  // namespace anttracks::core
