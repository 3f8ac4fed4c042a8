// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/removed_on_signal.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace anttracks::analyzer {
namespace {

constexpr int kMost = 4;

struct Slot {
  std::atomic<bool> used{false};  // the rest is valid
  int folder = -1;
  int flags = 0;
  char name[64] = "";
};
Slot slots[kMost];

void RemoveAll(int signal) {
  for (int i = kMost; i-- > 0;) {
    if (slots[i].used.load()) unlinkat(slots[i].folder, slots[i].name, slots[i].flags);
  }
  // The handler is gone already: the signal does now what it always does.
  raise(signal);
}

void HandleSignals() {
  struct sigaction handler {};
  handler.sa_handler = RemoveAll;
  handler.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(signal, &handler, nullptr);
  }
}

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void RemovedOnSignal::Remember(int folder, const std::string& name, int flags) {
  HandleSignals();
  for (int i = 0; i < kMost && slot_ < 0; i++) {
    if (!slots[i].used.load() && name.size() < sizeof slots[i].name) slot_ = i;
  }
  if (slot_ < 0) return;
  Slot& slot = slots[slot_];
  slot.folder = folder;
  slot.flags = flags;
  std::memcpy(slot.name, name.c_str(), name.size() + 1);
  slot.used.store(true);
}

void RemovedOnSignal::Forget() {
  if (slot_ >= 0) slots[slot_].used.store(false);
  slot_ = -1;
}

}  // namespace anttracks::analyzer
