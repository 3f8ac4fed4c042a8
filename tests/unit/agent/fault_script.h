// SPDX-License-Identifier: Apache-2.0
// A program's life, as the VM would report it: threads with TLABs and objects outside them, locked objects,
// young and full collections with moves, slides and fillers, classes that are unloaded, threads that end, a
// sync point at the start, rotation, a stop. The same each time, but for the agent's own threads, which run
// beside it.
//
// Thread safety: none; one script at a time (FakeVm).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "agent/full/callbacks.h"
#include "agent/full/session.h"
#include "agent/io/sink.h"
#include "agent/io/writer.h"
#include "tests/unit/agent/fake_vm.h"

namespace anttracks::core {

struct ScriptPlan {
  std::string path;        // of the trace
  uint64_t max_bytes = 0;  // 0: one file
  double deviation = 0.25;
  int rounds = 6;  // each ends with a collection
  int tlabs = 2;   // of each thread in a round
  SessionConfig session = {.buffer_bytes = 1024,
                           .queue_bytes = 64 << 10,
                           .walkers = 1,
                           // No file of /proc is among those that fail.
                           .walker_waited = [](ThreadState&) { return 0.0; },
                           .wait_limit = std::chrono::seconds(20)};
  std::chrono::milliseconds file_wait{100};  // for the next file of a rotation
  // How long the end waits for the writer without progress, and what then lets it go on.
  std::chrono::milliseconds end_wait{20'000};
  std::function<void()> free_writer = {};
  // Around what can fail.
  std::function<void()> begin = {}, end = {};
};

struct ScriptObject {
  uint64_t at = 0, klass = 0;
  uint32_t site = 0, length = 0;
  bool outside = false, locked = false;
  uint64_t bytes = 0;
};

struct ScriptOutcome {
  bool failed = false;            // tracing stopped
  std::string reason;             // why
  bool written = true;            // the writer came to its end
  bool waited_for_writer = true;  // it did so in end_wait
  std::string thrown;             // by the end of the session: it must not
  std::vector<ScriptObject> allocated;
  uint64_t live = 0;
  uint64_t collections = 0, files = 0, dropped_chunks = 0;
  uint64_t longest_callback_ns = 0;
};

class Script {
 public:
  explicit Script(ScriptPlan plan);
  ~Script();
  ScriptOutcome Run();

 private:
  struct Thread {
    uintptr_t id = 0;
    void* slot = nullptr;
  };
  struct Space {
    uint32_t kind;
    uint64_t bottom, top, end;
  };
  enum { kEden, kFrom, kTo, kOld, kSpaces };

  template <class Call>
  void InAgent(Call&& call);
  ScriptObject Make(uint64_t klass, uint32_t site, uint32_t length, bool locked, uint64_t at);
  ScriptObject Random(uint64_t at);
  void SyncPoint();
  void Tlab(Thread& thread, bool at_safepoint);
  void OutsideTlab(Thread& thread);
  void Exit(Thread& thread);
  void Round(int round);
  void Collect(int round);
  std::vector<AntTracksSpace> Spaces(bool full) const;
  void Young(std::vector<ScriptObject>* survivors);
  void Full(std::vector<ScriptObject>* survivors);
  void Unload();
  void Fill(uint64_t words);
  template <class Done>
  void Await(Done&& done);
  void Stop();

  const ScriptPlan plan_;
  FakeVm vm_;
  std::unique_ptr<io::Sink> sink_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<io::Writer> writer_;
  AntTracksCallbacks callbacks_{};
  std::minstd_rand random_{7};
  Space spaces_[kSpaces];
  std::vector<ScriptObject> objects_;  // that may live, by address
  std::vector<Thread> threads_;
  uint64_t plugin_ = 0;  // a class that is unloaded
  ScriptOutcome outcome_;
};

}  // namespace anttracks::core
