// SPDX-License-Identifier: Apache-2.0
// What the library exports, and nothing else.
#include <jvmti.h>

#include "agent/jvmti/agent.h"

extern "C" {

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  return anttracks::jvmti::Agent::Get().Load(vm, options);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void*) {
  return anttracks::jvmti::Agent::Get().Attach(vm, options);
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM*) { anttracks::jvmti::Agent::Get().Unload(); }
}
