// SPDX-License-Identifier: Apache-2.0
// Runs `anttracks fold` on a data file before the file is deleted. It is a process of its own, so that
// rebuilding a heap neither takes memory of the traced process nor can crash it.
//
//     idle --Start--> running --Poll: it ended--> idle
//                        `--Stop--> idle
//
// When resources are short the child gives way: it is made the first process that the system kills when memory
// is short, and with --as-child it bounds its memory and lets others run first (analyzer/cli/child.h).
//
// The process is identified by a descriptor (pidfd): if the application waits for all children, another process
// may get the child's number. Before Linux 5.4 the number is used.
//
// Thread safety: one thread at a time. The child inherits no descriptor except a pipe for its messages.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "trace/status.h"

namespace anttracks::io {

class FoldProcess {
 public:
  struct Outcome {
    bool ended = false;   // false: it still runs
    bool good = false;    // the provenance file exists
    bool unseen = false;  // it is unknown whether it exists
    uint64_t cpu_ns = 0;
    std::string message;  // its stderr, if not good
  };

  // program: the path of anttracks.
  explicit FoldProcess(std::string program) : program_(std::move(program)) {}
  ~FoldProcess() { Stop(); }
  FoldProcess(const FoldProcess&) = delete;

  // The memory that the next processes may use; 0, the default: no limit.
  void set_memory_bytes(uint64_t bytes) { memory_bytes_ = bytes; }
  // Starts a process. max_bytes: of the provenance file. No process may be running.
  trace::Status Start(const std::string& data_file, uint64_t max_bytes);
  // Never waits.
  Outcome Poll();
  // Kills the process; an unfinished provenance file may be left.
  void Stop();
  bool running() const { return pid_ > 0; }
  // Async-signal-safe.
  void ForgetInForkedChild();

 private:
  // For a process that still runs: returns at once, or waits for its end.
  enum class IfRunning : bool { kReturn, kWait };
  int Wait(IfRunning if_running, int* state, void* usage);
  void ReadMessages();
  void Close();

  const std::string program_;
  uint64_t memory_bytes_ = 0;
  pid_t pid_ = 0;
  int process_ = -1;  // pidfd
  int messages_ = -1;
  std::string text_;
};

}  // namespace anttracks::io
