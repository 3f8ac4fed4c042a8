// SPDX-License-Identifier: Apache-2.0
// Takes from the JVM what is recorded: every object (Tracer) or samples (Sampler). Owns the session that writes
// the segments.
//
//     made --Begin--> reports --End--> no events any more, until Idle --Release--> may be destroyed
//
// If the JVM is gone already, or Begin failed, End is not called: then the recording abandons the session.
//
// Thread safety: one thread at a time. Ownership: borrows the JVM TI environment.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "agent/base/options.h"
#include "agent/io/writer.h"
#include "agent/stream/sync_point_source.h"

namespace anttracks::jvmti {

class Source {
 public:
  virtual ~Source() = default;

  virtual core::EventSource& events() = 0;
  // The same source if the trace rotates, otherwise nullptr.
  virtual core::SyncPointSource* rotating() { return nullptr; }

  // In the live phase: starts the writer, then the reports of the JVM. options: as given. cancelled: set to end
  // the wait for the first sync point. After an error nothing is reported.
  virtual trace::Status Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer,
                              const std::string& options, const std::atomic<bool>& cancelled) = 0;
  // jni may be nullptr: then the latest deaths of samples are not recorded.
  virtual void End(JNIEnv* jni, std::string_view reason) = 0;
  // No thread of the JVM uses it, nor will any.
  virtual bool Idle() const = 0;
  // Frees its JNI references.
  virtual void Release(JNIEnv* jni) = 0;

  virtual trace::Status Set(const core::Change& change) = 0;
  // Has a census made now, and waits for it. cancelled: set to end the wait.
  virtual trace::Status TakeCensus(const std::atomic<bool>& cancelled);
  // Adds the mode and its settings.
  virtual void Describe(nlohmann::ordered_json* json) const = 0;
};

inline trace::Status Source::TakeCensus(const std::atomic<bool>&) {
  return trace::Status::Error("this trace has no censuses; they are made with mode=census");
}

}  // namespace anttracks::jvmti
