// SPDX-License-Identifier: Apache-2.0
// A name that must not stay behind when a signal ends the program: SIGINT, SIGTERM and SIGHUP, unless they are
// ignored.
//
// Thread safety: none but that of the signal's handler. A few at a time; removed are the youngest first.
#pragma once

#include <csignal>
#include <string>

namespace anttracks::analyzer {

// Holds these signals back as long as it lives: between the making of a name and Remember none may come.
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

  // From now on. flags: of unlinkat. folder must stay open until Forget.
  void Remember(int folder, const std::string& name, int flags);
  // The name is gone, or may stay.
  void Forget();

 private:
  int slot_ = -1;
};

}  // namespace anttracks::analyzer
