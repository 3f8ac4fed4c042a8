/* SPDX-License-Identifier: Apache-2.0
 *
 * A JVMTI agent that ends the VM with an error unless it offers the extension function EXTENSION_ID.
 * setup-jdk runs it once on a JDK it has built. */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  jvmtiEnv* jvmti;
  jint count = 0;
  jvmtiExtensionFunctionInfo* functions;
  (void)options;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_11) != JNI_OK) return JNI_ERR;
  if ((*jvmti)->GetExtensionFunctions(jvmti, &count, &functions) != JVMTI_ERROR_NONE) return JNI_ERR;
  for (jint i = 0; i < count; i++) {
    if (strcmp(functions[i].id, EXTENSION_ID) == 0) return JNI_OK;
  }
  fprintf(stderr, "this JVM has no extension function %s\n", EXTENSION_ID);
  return JNI_ERR;
}
