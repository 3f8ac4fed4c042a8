/* SPDX-License-Identifier: Apache-2.0
 *
 * The native half of AskSites.java: asks the VM's interface for the site of an object, in the calling thread, in a
 * thread that the VM does not know, and in such a thread while a heap walk of JVM TI holds the world. */
#include <jvmti.h>
#include <pthread.h>
#include <string.h>

#include "vmpatch/abi/anttracks_abi.h"

typedef jvmtiError(JNICALL* GetVm)(jvmtiEnv*, jint, const AntTracksVM**);

static jvmtiEnv* env;
static const AntTracksVM* vm;

typedef struct Question {
  uint64_t address;
  uint32_t site;
} Question;

/* A local reference is the address of a word that holds the object's. The object must not be moved meanwhile. */
static uint64_t AddressOf(jobject object) {
  uint64_t address;
  memcpy(&address, (const void*)object, sizeof address);
  return address;
}

static void* Ask(void* question) {
  Question* const q = question;
  q->site = vm->object_site(q->address);
  return NULL;
}

static uint32_t AskInUnknownThread(uint64_t address) {
  Question question = {address, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, Ask, &question) != 0) return 0;
  pthread_join(thread, NULL);
  return question.site;
}

JNIEXPORT jboolean JNICALL Java_AskSites_open(JNIEnv* jni, jclass self) {
  JavaVM* java_vm = NULL;
  jint count = 0;
  jvmtiExtensionFunctionInfo* functions = NULL;
  jvmtiCapabilities capabilities;
  (void)self;
  memset(&capabilities, 0, sizeof capabilities);
  capabilities.can_tag_objects = 1;
  if ((*jni)->GetJavaVM(jni, &java_vm) != JNI_OK) return JNI_FALSE;
  if ((*java_vm)->GetEnv(java_vm, (void**)&env, JVMTI_VERSION_11) != JNI_OK) return JNI_FALSE;
  if ((*env)->AddCapabilities(env, &capabilities) != JVMTI_ERROR_NONE) return JNI_FALSE;
  if ((*env)->GetExtensionFunctions(env, &count, &functions) != JVMTI_ERROR_NONE) return JNI_FALSE;
  for (jint i = 0; i < count; i++) {
    if (strcmp(functions[i].id, ANTTRACKS_EXTENSION_ID) != 0) continue;
    return ((GetVm)functions[i].func)(env, ANTTRACKS_ABI_VERSION, &vm) == JVMTI_ERROR_NONE;
  }
  return JNI_FALSE;
}

JNIEXPORT jint JNICALL Java_AskSites_known(JNIEnv* jni, jclass self, jobject object) {
  (void)jni, (void)self;
  return (jint)vm->object_site(AddressOf(object));
}

JNIEXPORT jint JNICALL Java_AskSites_unknown(JNIEnv* jni, jclass self, jobject object) {
  (void)jni, (void)self;
  return (jint)AskInUnknownThread(AddressOf(object));
}

/* What was asked during a walk. The first call comes when the object at which the walk begins has been visited. */
typedef struct Walk {
  uint64_t visited, other;
  jint answers[2];
  int asked;
} Walk;

static jint JNICALL OnReference(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong class_tag,
                                jlong referrer_class_tag, jlong size, jlong* tag, jlong* referrer_tag, jint length, void* data) {
  Walk* const walk = data;
  (void)kind, (void)info, (void)class_tag, (void)referrer_class_tag, (void)size, (void)tag, (void)referrer_tag, (void)length;
  if (!walk->asked++) {
    walk->answers[0] = (jint)AskInUnknownThread(walk->visited);
    walk->answers[1] = (jint)AskInUnknownThread(walk->other);
  }
  return JVMTI_VISIT_ABORT;
}

/* The sites of the object that the walk has visited, and of one that it has not. NULL: there was no walk. */
JNIEXPORT jintArray JNICALL Java_AskSites_duringWalk(JNIEnv* jni, jclass self, jobject visited, jobject other) {
  jvmtiHeapCallbacks callbacks;
  Walk walk = {AddressOf(visited), AddressOf(other), {0, 0}, 0};
  jintArray result;
  (void)self;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.heap_reference_callback = OnReference;
  if ((*env)->FollowReferences(env, 0, NULL, visited, &callbacks, &walk) != JVMTI_ERROR_NONE || !walk.asked) return NULL;
  result = (*jni)->NewIntArray(jni, 2);
  if (result != NULL) (*jni)->SetIntArrayRegion(jni, result, 0, 2, walk.answers);
  return result;
}

static jint JNICALL OnRoot(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong class_tag,
                           jlong referrer_class_tag, jlong size, jlong* tag, jlong* referrer_tag, jint length, void* data) {
  (void)kind, (void)info, (void)class_tag, (void)referrer_class_tag, (void)size, (void)tag, (void)referrer_tag, (void)length;
  (void)data;
  return JVMTI_VISIT_ABORT;
}

/* A walk from the roots. Before it the VM brings back what compiled code has removed, in all threads. */
JNIEXPORT jboolean JNICALL Java_AskSites_walkFromRoots(JNIEnv* jni, jclass self) {
  jvmtiHeapCallbacks callbacks;
  (void)jni, (void)self;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.heap_reference_callback = OnRoot;
  return (*env)->FollowReferences(env, 0, NULL, NULL, &callbacks, NULL) == JVMTI_ERROR_NONE;
}

static void JNICALL OnSample(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes) {
  (void)jvmti, (void)jni, (void)thread, (void)object, (void)type, (void)bytes;
}

/* Toggled.java: sampled allocation events, on or off, of an environment of its own. */
JNIEXPORT jboolean JNICALL Java_Toggled_sample(JNIEnv* jni, jclass self, jboolean on) {
  static jvmtiEnv* own;
  (void)self;
  if (own == NULL) {
    JavaVM* java_vm = NULL;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_generate_sampled_object_alloc_events = 1;
    if ((*jni)->GetJavaVM(jni, &java_vm) != JNI_OK) return JNI_FALSE;
    if ((*java_vm)->GetEnv(java_vm, (void**)&own, JVMTI_VERSION_11) != JNI_OK) return JNI_FALSE;
    if ((*own)->AddCapabilities(own, &wanted) != JVMTI_ERROR_NONE) return JNI_FALSE;
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.SampledObjectAlloc = OnSample; /* without it there are no events */
    if ((*own)->SetEventCallbacks(own, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) return JNI_FALSE;
  }
  const jvmtiEventMode mode = on ? JVMTI_ENABLE : JVMTI_DISABLE;
  return (*own)->SetEventNotificationMode(own, mode, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL) == JVMTI_ERROR_NONE;
}
