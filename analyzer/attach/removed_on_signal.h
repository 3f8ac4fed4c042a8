// SPDX-License-Identifier: Apache-2.0
// A name that must not stay behind when a signal ends the program: SIGINT, SIGTERM and SIGHUP, unless they are ignored.
//
// Thread safety: none but that of the signal's handler. A few at a time; removed are the youngest first.
#pragma once

#include <string>

namespace anttracks::analyzer {

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
