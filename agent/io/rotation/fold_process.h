// SPDX-License-Identifier: Apache-2.0
// Runs `anttracks fold` on a data file before that is deleted: a process of its own, so that rebuilding a heap
// takes neither memory nor a crash into the traced one.
//
//     idle --Start--> running --Poll: it ended--> idle
//                        `--Stop--> idle
//
// It goes before the traced one does: it is made the first that the system ends when memory is short, and, told
// by
// --as-child, bounds its memory and lets others run first (analyzer/cli/child.h).
//
// The process is held by a descriptor (pidfd): where the application waits for all children, its number may be
// another one's meanwhile. Without that (before Linux 5.4) it goes by the number.
//
// Thread safety: one thread at a time. The process has no descriptor of this one but a pipe for its messages.
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
    bool good = false;    // the provenance file is there
    bool unseen = false;  // whether it is, is not known
    uint64_t cpu_ns = 0;
    std::string message;  // what it said on stderr, if not good
  };

  // program: the path of anttracks.
  explicit FoldProcess(std::string program) : program_(std::move(program)) {}
  ~FoldProcess() { Stop(); }
  FoldProcess(const FoldProcess&) = delete;

  // What the next ones may take; 0, as at first: whatever they need.
  void set_memory_bytes(uint64_t bytes) { memory_bytes_ = bytes; }
  // The provenance file takes at most max_bytes. Not while one runs.
  trace::Status Start(const std::string& data_file, uint64_t max_bytes);
  // Never waits.
  Outcome Poll();
  // Kills it; what it had begun to write may be left.
  void Stop();
  bool running() const { return pid_ > 0; }
  // Async-signal-safe.
  void ForgetInForkedChild();

 private:
  int Wait(bool may_wait, int* state, void* usage);
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
