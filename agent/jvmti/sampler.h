// SPDX-License-Identifier: Apache-2.0
// Samples allocations by JVM TI (JEP 331), on any JVM that offers it: asks the VM about each sample, and hands
// what it says to the session.
//
// A weak reference to each sampled object tells its death (docs/decisions/0008-sampling.md). ObjectFree would,
// too, but it can hang a JVM that ends (HotSpot 17).
//
// The interval may be changed while it samples. A thread draws the distance to its next sample point when it
// begins and at each sample, so that the next sample of a thread may still be one of the interval before: each
// is recorded with its own.
//
// Thread safety: as Source. The events come in threads that allocate, and in the VM thread within a pause
// (collections), where neither JNI nor JVM TI may be used. While the VM is asked no lock of the agent is held
// that a pause may need. One Sampler at a time samples.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <span>
#include <string>

#include "agent/jvmti/source.h"
#include "agent/sample/sample_session.h"
#include "agent/sample/watch_list.h"

namespace anttracks::jvmti {

class Sampler final : public Source {
 public:
  // When the agent is loaded; threads that begin later have their first sample after the options' interval.
  static trace::Status Prepare(jvmtiEnv* env, const core::Options& options);
  static void SetCallbacks(jvmtiEventCallbacks* callbacks);

  Sampler(jvmtiEnv* env, const core::Options& options);
  Sampler(const Sampler&) = delete;

  core::EventSource& events() override { return session_; }
  trace::Status Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer,
                      const std::string& options) override;
  // A thread that is about to hand over a sample finds the session closed.
  void End(JNIEnv* jni, std::string_view reason) override;
  bool Idle() const override;
  void Release(JNIEnv* jni) override;
  trace::Status Set(const core::Change& change) override;
  void Describe(nlohmann::ordered_json* json) const override;

  // The event: an object was allocated by this thread.
  void Sample(JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes);
  // The event: this thread begins. Only after a change of the interval. A thread that attached itself may have
  // had a sample by then.
  void ThreadBegins() {
    if (Recall().id == 0) Remember({0, interval_.load()});
  }
  // The event: the VM has collected.
  void CollectionEnd();
  core::SampleSession& session() { return session_; }

 private:
  static constexpr size_t kMostFrames = 256;
  static constexpr size_t kLookAtOnce = 256;

  // What JVM TI keeps for the thread that asks, and what goes with it.
  struct Known {
    uint32_t id = 0;        // 0: it has had no sample
    uint64_t interval = 0;  // of its next sample point
    bool operator==(const Known&) const = default;
  };

  trace::Status Start(JNIEnv* jni);
  trace::Status SetInterval(uint64_t bytes);
  // Tells what has died until now, if there is a jni.
  void Stop(JNIEnv* jni) noexcept;

  Known Recall();
  void Remember(const Known& known);
  void Watch(JNIEnv* jni, jobject object, uint64_t number);
  // True: it was dead.
  bool Bury(JNIEnv* jni, const core::WatchList::Watched& watched);

  uint32_t DefineThread(JNIEnv* jni, jthread thread);
  uint32_t Kind(JNIEnv* jni, std::span<const core::SampleFrame> stack, jclass type);
  void Describe(JNIEnv* jni, const core::SampleFrame& frame);
  int64_t Line(const core::SampleFrame& frame);
  trace::Status Enable(jvmtiEventMode mode);

  jvmtiEnv* const env_;
  core::SampleSession session_;
  const uint64_t first_interval_;
  const unsigned depth_;  // of stacks
  std::atomic<uint64_t> interval_;
  core::WatchList living_;
  jfieldID thread_id_ = nullptr;  // Thread.tid
};

}  // namespace anttracks::jvmti
