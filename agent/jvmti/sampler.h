// SPDX-License-Identifier: Apache-2.0
// Samples allocations through JVM TI (JEP 331), on any JVM that supports it: asks the VM about each sample, and
// passes the answers to the session.
//
// A weak reference to each sampled object shows its death (docs/decisions/0008-sampling.md). The event
// ObjectFree would, too, but it can hang a JVM that ends (HotSpot 17).
//
// The interval may be changed during sampling. A thread draws the distance to its next sample point when it
// begins and at each sample, so the next sample of a thread may still use the interval before: each sample is
// recorded with its own interval.
//
// Virtual threads come by the million and share what their carrier has: its samples, and its name in the trace.
//
// Thread safety: as Source. Events arrive in threads that allocate and, for collections, in the VM thread
// within a pause, where neither JNI nor JVM TI may be used. While the VM is asked, no lock is held that a pause
// may need. Only one Sampler at a time may sample.
#pragma once

#include <jvmti.h>
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "agent/jvmti/source.h"
#include "agent/jvmti/virtual_threads.h"
#include "agent/sample/sample_session.h"
#include "agent/sample/watch_list.h"

namespace anttracks::jvmti {

class Sampler final : public Source {
 public:
  // Must be called when the agent is loaded, so that threads that begin later use the options' interval from
  // the start.
  static trace::Status Prepare(jvmtiEnv* env, const core::Options& options);
  static void SetCallbacks(jvmtiEventCallbacks* callbacks);

  Sampler(jvmtiEnv* env, const core::Options& options);
  Sampler(const Sampler&) = delete;

  core::EventSource& events() override { return session_; }
  trace::Status Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer, const std::string& options,
                      const std::atomic<bool>& cancelled) override;
  // Closes the session: a thread that is about to record a sample finds it closed.
  void End(JNIEnv* jni, std::string_view reason) override;
  bool Idle() const override;
  void Release(JNIEnv* jni) override;
  trace::Status Set(const core::Change& change) override;
  void Describe(nlohmann::ordered_json* json) const override;

  // Event: this thread has allocated an object that is a sample.
  void Sample(JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes);
  // Event: this thread begins. Enabled only after a change of the interval. A thread that attached itself to
  // the JVM may have had a sample before.
  void ThreadBegins(JNIEnv* jni, jthread thread);
  // Event: a collection has ended.
  void CollectionEnd();
  core::SampleSession& session() { return session_; }

 private:
  static constexpr size_t kMostFrames = 256;
  static constexpr size_t kLookAtOnce = 256;

  // What is stored with a thread: in JVM TI's thread-local storage, or in carriers_.
  struct Known {
    uint32_t id = 0;        // 0: it has had no sample
    uint64_t interval = 0;  // of its next sample point
    bool operator==(const Known&) const = default;
  };

  trace::Status Start(JNIEnv* jni);
  trace::Status SetInterval(uint64_t bytes);
  // First records which samples have died, if jni is not nullptr.
  void Stop(JNIEnv* jni) noexcept;

  Known Recall();
  void Remember(const Known& known);
  // Those of the carrier that the calling virtual thread is mounted on.
  Known RecallCarrier();
  void RememberCarrier(const Known& known);
  uint32_t DefineCarrier(JNIEnv* jni);
  void Watch(JNIEnv* jni, jobject object, uint64_t number);
  // Records the sample's death if its object is dead. True: it is.
  bool MarkIfDead(JNIEnv* jni, const core::WatchList::Watched& watched);

  // what: added behind its name.
  uint32_t DefineThread(JNIEnv* jni, jthread thread, std::string_view what = {});
  uint32_t SiteClass(JNIEnv* jni, std::span<const core::SampleFrame> stack, jclass type);
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
  std::mutex carriers_mutex_;
  std::unordered_map<pid_t, Known> carriers_;  // by the number that the system has for a thread
  VirtualThreads virtual_threads_;
};

}  // namespace anttracks::jvmti
