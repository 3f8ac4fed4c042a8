// SPDX-License-Identifier: Apache-2.0
// What a recording takes from the JVM: every object (Tracer) or samples (Sampler). Owns the session that makes
// segments of it.
//
//     made --Begin--> reports --End--> no events any more, until Idle --Release--> may be destroyed
//
// A JVM that is gone already, and a Begin that failed, have no End: then the recording abandons the session.
//
// Thread safety: one thread at a time. Ownership: borrows the environment.
#pragma once

#include <jvmti.h>

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
  // The same, of a trace that rotates; nullptr: it does not.
  virtual core::SyncPointSource* rotating() { return nullptr; }

  // In the live phase: starts the writer of its session, then reports. options: as they were given. After an
  // error nothing reports.
  virtual trace::Status Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer,
                              const std::string& options) = 0;
  // jni may be nullptr: then samples that have died since the last look are not told.
  virtual void End(JNIEnv* jni, std::string_view reason) = 0;
  // No thread of the JVM is in it, and none will be.
  virtual bool Idle() const = 0;
  // Frees its references.
  virtual void Release(JNIEnv* jni) = 0;

  virtual trace::Status Set(const core::Change& change) = 0;
  // The mode, and what belongs to it.
  virtual void Describe(nlohmann::ordered_json* json) const = 0;
};

}  // namespace anttracks::jvmti
