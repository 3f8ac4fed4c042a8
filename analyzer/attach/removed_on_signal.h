// SPDX-License-Identifier: Apache-2.0
// Removes a file or folder if a signal ends the program: SIGINT, SIGTERM or SIGHUP, unless it is ignored.
//
// Thread safety: none, except with the signal handler. Only a few at a time; the newest is removed first.
#pragma once

#include <csignal>
#include <string>

namespace anttracks::analyzer {

// Blocks these signals during its lifetime: none may arrive between the creation of a file and Remember.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

class RemovedOnSignal {
 public:
  RemovedOnSignal() = default;
  ~RemovedOnSignal() { Forget(); }
  RemovedOnSignal(const RemovedOnSignal&) = delete;

  // Removes the name on a signal from now on. flags: for unlinkat. folder must be open until Forget.
  void Remember(int folder, const std::string& name, int flags);
  // The name was removed, or is to be kept.
  void Forget();

 private:
  int slot_ = -1;
};

}  // namespace anttracks::analyzer
