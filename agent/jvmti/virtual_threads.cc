// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/virtual_threads.h"

#include <initializer_list>

namespace anttracks::jvmti {
namespace {

// A global reference; nullptr: there is no such class.
jclass Find(JNIEnv* jni, const char* name) {
  const jclass found = jni->FindClass(name);
  if (found == nullptr) {
    jni->ExceptionClear();
    return nullptr;
  }
  const auto global = static_cast<jclass>(jni->NewGlobalRef(found));
  jni->DeleteLocalRef(found);
  return global;
}

}  // namespace

void VirtualThreads::Begin(JNIEnv* jni) {
  virtual_ = Find(jni, "java/lang/BaseVirtualThread");
  if (virtual_ == nullptr) return;
  carrier_ = Find(jni, "jdk/internal/misc/CarrierThread");
  thread_ = Find(jni, "java/lang/Thread");
  if (thread_ == nullptr) return;
  current_carrier_ = jni->GetStaticMethodID(thread_, "currentCarrierThread", "()Ljava/lang/Thread;");
  if (current_carrier_ == nullptr) jni->ExceptionClear();
}

void VirtualThreads::End(JNIEnv* jni) {
  for (jclass* const type : std::initializer_list<jclass*>{&virtual_, &carrier_, &thread_}) {
    if (*type != nullptr) jni->DeleteGlobalRef(*type);
    *type = nullptr;
  }
  current_carrier_ = nullptr;
}

jthread VirtualThreads::Carrier(JNIEnv* jni) const {
  if (current_carrier_ == nullptr) return nullptr;
  const jobject carrier = jni->CallStaticObjectMethod(thread_, current_carrier_);
  if (jni->ExceptionCheck() == JNI_FALSE) return carrier;
  jni->ExceptionClear();
  return nullptr;
}

}  // namespace anttracks::jvmti
