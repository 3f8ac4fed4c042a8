// SPDX-License-Identifier: Apache-2.0
// Virtual threads of JDK 21 and later, seen with the JNI of any JDK that the agent runs on.
//
// Thread safety: Begin and End by one thread, while no other uses this; the rest by any thread.
#pragma once

#include <jvmti.h>

namespace anttracks::jvmti {

class VirtualThreads {
 public:
  // Without it, or in a JDK that has none, no thread is virtual.
  void Begin(JNIEnv* jni);
  void End(JNIEnv* jni);

  bool IsVirtual(JNIEnv* jni, jthread thread) const { return Is(jni, thread, virtual_); }
  // Whether it is a platform thread that virtual threads are mounted on.
  bool IsCarrier(JNIEnv* jni, jthread thread) const { return Is(jni, thread, carrier_); }
  // The carrier of the calling virtual thread, or the calling carrier itself, a new local reference; nullptr:
  // the JDK does not tell.
  jthread Carrier(JNIEnv* jni) const;

 private:
  static bool Is(JNIEnv* jni, jthread thread, jclass type) {
    return type != nullptr && jni->IsInstanceOf(thread, type) != JNI_FALSE;
  }

  // Global references, or nullptr.
  jclass thread_ = nullptr, virtual_ = nullptr, carrier_ = nullptr;
  jmethodID current_carrier_ = nullptr;
};

}  // namespace anttracks::jvmti
