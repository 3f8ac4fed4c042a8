/* SPDX-License-Identifier: Apache-2.0
 *
 * Another JVM TI agent beside ours: as long as the program runs, a thread of its own walks the heap and tags
 * objects, follows references from the roots, retransforms classes (each becomes a copy of itself, but for Changing,
 * which Chaos.java redefines: two agents at once may undo what the other did), and suspends and resumes threads. It takes the events of sampled allocations, too (which keeps TLABs from being read in stretches).
 * Its option is the path of a file in which it counts, when the JVM ends, what it did: one line `NAME NUMBER` each. */
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kClassesAtOnce = 12, kSuspendedMicros = 1000, kPauseMicros = 100000, kTaggedOneIn = 7, kHeld = 512, kHeldBytes = 16 << 10 };
/* Tags are of no meaning but these: of the classes that the VM fills gaps of the heap with, and of their objects. */
enum { kFillerClass = -1, kMaybeFiller = -2 };
/* Objects of our own: the tag of the first, those of the others are below; how many, and how many are replaced in a round. */
enum { kOwnTag = -1000, kOwn = 256, kReplaced = 16 };

static jvmtiEnv* env;
static char out[4096];
static volatile int begun, ended;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER; /* held during a round: who is suspended must be resumed before the JVM ends */
static int maybe_fillers; /* of this walk */
static volatile long walked, tagged, followed, transformed, sampled, suspended, freed, holds, checked, wrong, rounds;

static jint JNICALL OnObject(jlong class_tag, jlong size, jlong* tag, jint length, void* data) {
  (void)length, (void)data;
  walked++;
  if (*tag <= kOwnTag) return JVMTI_VISIT_OBJECTS;
  if (*tag == kFillerClass) return JVMTI_VISIT_OBJECTS;
  if (class_tag == kFillerClass && size <= kHeldBytes && maybe_fillers < kHeld) {
    maybe_fillers++;
    *tag = kMaybeFiller;
  } else if (walked % kTaggedOneIn == 0) {
    *tag = walked;
  }
  return JVMTI_VISIT_OBJECTS;
}

static jint JNICALL OnReference(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong class_tag,
                                jlong referrer_class_tag, jlong size, jlong* tag, jlong* referrer_tag, jint length, void* data) {
  (void)kind, (void)info, (void)class_tag, (void)referrer_class_tag, (void)size, (void)tag, (void)referrer_tag, (void)length;
  (void)data;
  followed++;
  return JVMTI_VISIT_OBJECTS;
}

static void TagFillerClasses(JNIEnv* jni) {
  /* int[] and Object up to JDK 17, the others later. */
  static const char* const names[] = {"[I", "java/lang/Object", "[Ljdk/internal/vm/FillerElement;", "jdk/internal/vm/FillerObject"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    const jclass type = (*jni)->FindClass(jni, names[i]);
    (*jni)->ExceptionClear(jni);
    if (type == NULL) continue;
    (*env)->SetTag(env, type, kFillerClass);
    (*jni)->DeleteLocalRef(jni, type);
  }
}

static void WalkHeap(JNIEnv* jni) {
  jvmtiHeapCallbacks callbacks;
  TagFillerClasses(jni);
  maybe_fillers = 0;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.heap_iteration_callback = OnObject;
  callbacks.heap_reference_callback = OnReference;
  (*env)->IterateThroughHeap(env, 0, NULL, &callbacks, NULL);
  (*env)->FollowReferences(env, 0, NULL, NULL, &callbacks, NULL);
}

static void Untag(JNIEnv* jni, jint count, jobject* objects) {
  for (jint i = 0; i < count; i++) {
    if ((*env)->SetTag(env, objects[i], 0) == JVMTI_ERROR_NONE) tagged++;
    (*jni)->DeleteLocalRef(jni, objects[i]);
  }
  (*env)->Deallocate(env, (unsigned char*)objects);
}

/* Holds what may be fillers until the next round. A walk meets what is dead, too, and fillers: these live from then on. */
static void HoldFillers(JNIEnv* jni) {
  static jobject held[kHeld];
  static const jlong tag = kMaybeFiller;
  jint count = 0;
  jobject* objects = NULL;
  for (int i = 0; i < kHeld; i++) {
    if (held[i] != NULL) (*jni)->DeleteGlobalRef(jni, held[i]);
    held[i] = NULL;
  }
  if ((*env)->GetObjectsWithTags(env, 1, &tag, &count, &objects, NULL) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count && i < kHeld; i++) held[i] = (*jni)->NewGlobalRef(jni, objects[i]);
  holds += count;
  Untag(jni, count, objects);
}

static void UseTags(JNIEnv* jni) {
  enum { kAtOnce = 32 };
  jlong tags[kAtOnce];
  jint count = 0;
  jobject* objects = NULL;
  for (int i = 0; i < kAtOnce; i++) tags[i] = (walked / kTaggedOneIn - i) * kTaggedOneIn;
  if ((*env)->GetObjectsWithTags(env, kAtOnce, tags, &count, &objects, NULL) != JVMTI_ERROR_NONE) return;
  Untag(jni, count, objects);
}

static jint HashOf(jobject object) {
  jint hash = 0;
  (*env)->GetObjectHashCode(env, object, &hash);
  return hash;
}

/* Objects with a tag and a hash code of their own keep both, wherever they are moved. */
static void CheckOwn(JNIEnv* jni) {
  static jobject own[kOwn];
  static jint hashes[kOwn];
  static int oldest = 0;
  for (int i = 0; i < kOwn; i++) {
    jlong tag = 0;
    if (own[i] == NULL) continue;
    (*env)->GetTag(env, own[i], &tag);
    checked++;
    wrong += tag != kOwnTag - i || HashOf(own[i]) != hashes[i];
  }
  const jclass type = (*jni)->FindClass(jni, "java/util/concurrent/atomic/AtomicInteger");
  for (int n = 0; n < kReplaced; n++, oldest = (oldest + 1) % kOwn) {
    const jobject made = (*jni)->AllocObject(jni, type);
    if (made == NULL) break;
    if (own[oldest] != NULL) (*jni)->DeleteGlobalRef(jni, own[oldest]);
    own[oldest] = (*jni)->NewGlobalRef(jni, made);
    (*jni)->DeleteLocalRef(jni, made);
    (*env)->SetTag(env, own[oldest], kOwnTag - oldest);
    hashes[oldest] = HashOf(own[oldest]);
  }
  (*jni)->DeleteLocalRef(jni, type);
}

/* Not those of the JDK: code that loads a class while its loading class is transformed dies of ClassCircularityError now and then. */
static int MayTransform(JNIEnv* jni, jclass type) {
  jboolean can = JNI_FALSE;
  char* name = NULL;
  jobject loader = NULL;
  if ((*env)->GetClassLoader(env, type, &loader) != JVMTI_ERROR_NONE || loader == NULL) return 0;
  (*jni)->DeleteLocalRef(jni, loader);
  if ((*env)->IsModifiableClass(env, type, &can) != JVMTI_ERROR_NONE || !can) return 0;
  if ((*env)->GetClassSignature(env, type, &name, NULL) != JVMTI_ERROR_NONE) return 0;
  const int others = strcmp(name, "LChanging;") == 0;
  (*env)->Deallocate(env, (unsigned char*)name);
  return !others;
}

static void Retransform(JNIEnv* jni) {
  static jint next = 0;
  jclass chosen[kClassesAtOnce];
  jint count = 0, n = 0;
  jclass* classes = NULL;
  if ((*env)->GetLoadedClasses(env, &count, &classes) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; i++) {
    const jint at = (i + next) % count;
    if (n < kClassesAtOnce && MayTransform(jni, classes[at])) chosen[n++] = classes[at];
  }
  next += kClassesAtOnce;
  if ((*env)->RetransformClasses(env, n, chosen) == JVMTI_ERROR_NONE) transformed += n;
  for (jint i = 0; i < count; i++) (*jni)->DeleteLocalRef(jni, classes[i]);
  (*env)->Deallocate(env, (unsigned char*)classes);
}

/* The world of Java stands still but for this thread, and goes on. */
static void SuspendThreads(JNIEnv* jni, jthread self) {
  jint count = 0;
  jthread* threads = NULL;
  jvmtiError results[4096];
  if ((*env)->GetAllThreads(env, &count, &threads) != JVMTI_ERROR_NONE) return;
  jint n = 0;
  for (jint i = 0; i < count; i++) {
    if ((*jni)->IsSameObject(jni, threads[i], self)) {
      (*jni)->DeleteLocalRef(jni, threads[i]);
    } else {
      threads[n++] = threads[i];
    }
  }
  if (n > 0 && n <= 4096 && (*env)->SuspendThreadList(env, n, threads, results) == JVMTI_ERROR_NONE) {
    usleep(kSuspendedMicros);
    for (jint i = 0; i < n; i++) suspended += results[i] == JVMTI_ERROR_NONE;
    (*env)->ResumeThreadList(env, n, threads, results);
  }
  for (jint i = 0; i < n; i++) (*jni)->DeleteLocalRef(jni, threads[i]);
  (*env)->Deallocate(env, (unsigned char*)threads);
}

static void JNICALL Work(jvmtiEnv* jvmti, JNIEnv* jni, void* unused) {
  jthread self = NULL;
  (void)jvmti, (void)unused;
  if ((*env)->GetCurrentThread(env, &self) != JVMTI_ERROR_NONE) return;
  while (1) {
    pthread_mutex_lock(&busy);
    if (ended) break;
    if (begun) {
      WalkHeap(jni);
      UseTags(jni);
      CheckOwn(jni);
      HoldFillers(jni);
      Retransform(jni);
      SuspendThreads(jni, self);
      rounds++;
    }
    pthread_mutex_unlock(&busy);
    usleep(kPauseMicros);
  }
  pthread_mutex_unlock(&busy);
}

static void JNICALL OnVmInit(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread) {
  const jclass type = (*jni)->FindClass(jni, "java/lang/Thread");
  const jmethodID make = (*jni)->GetMethodID(jni, type, "<init>", "(Ljava/lang/String;)V");
  const jobject worker = (*jni)->NewObject(jni, type, make, (*jni)->NewStringUTF(jni, "neighbour"));
  (void)thread;
  (*jvmti)->RunAgentThread(jvmti, worker, Work, NULL, JVMTI_THREAD_NORM_PRIORITY);
}

static void JNICALL OnVmDeath(jvmtiEnv* jvmti, JNIEnv* jni) {
  (void)jvmti, (void)jni;
  pthread_mutex_lock(&busy);
  ended = 1;
  pthread_mutex_unlock(&busy);
  FILE* file = fopen(out, "w");
  if (file == NULL) return;
  fprintf(file, "rounds %ld\nwalked %ld\ntagged %ld\nfollowed %ld\ntransformed %ld\nsampled %ld\nsuspended %ld\nfreed %ld\nheld %ld\nchecked %ld\nwrong %ld\n", rounds, walked,
          tagged, followed, transformed, sampled, suspended, freed, holds, checked, wrong);
  fclose(file);
}

static void JNICALL OnClassFile(jvmtiEnv* jvmti, JNIEnv* jni, jclass redefined, jobject loader, const char* name, jobject domain,
                                jint bytes, const unsigned char* data, jint* new_bytes, unsigned char** new_data) {
  (void)jni;
  /* The program has begun. Not before: JFR's start does not stand classes that are transformed at the same time. */
  if (loader != NULL && domain != NULL && name != NULL && strcmp(name, "Instrument") != 0) begun = 1;
  if (redefined == NULL || (*jvmti)->Allocate(jvmti, bytes, new_data) != JVMTI_ERROR_NONE) return;
  memcpy(*new_data, data, bytes);
  *new_bytes = bytes;
}

static void JNICALL OnSample(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes) {
  (void)jvmti, (void)jni, (void)thread, (void)object, (void)type, (void)bytes;
  __atomic_fetch_add(&sampled, 1, __ATOMIC_RELAXED);
}

static void JNICALL OnFree(jvmtiEnv* jvmti, jlong tag) {
  (void)jvmti, (void)tag;
  __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  static const jvmtiEvent events[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
                                      JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_OBJECT_FREE};
  jvmtiCapabilities wanted;
  jvmtiEventCallbacks callbacks;
  (void)reserved;
  memset(&wanted, 0, sizeof wanted);
  memset(&callbacks, 0, sizeof callbacks);
  snprintf(out, sizeof out, "%s", options == NULL ? "" : options);
  if ((*vm)->GetEnv(vm, (void**)&env, JVMTI_VERSION_11) != JNI_OK) return JNI_ERR;
  wanted.can_tag_objects = 1;
  wanted.can_suspend = 1;
  wanted.can_retransform_classes = 1;
  wanted.can_generate_all_class_hook_events = 1;
  wanted.can_generate_sampled_object_alloc_events = 1;
  wanted.can_generate_object_free_events = 1;
  if ((*env)->AddCapabilities(env, &wanted) != JVMTI_ERROR_NONE) return JNI_ERR;
  callbacks.VMInit = OnVmInit;
  callbacks.VMDeath = OnVmDeath;
  callbacks.ClassFileLoadHook = OnClassFile;
  callbacks.SampledObjectAlloc = OnSample;
  callbacks.ObjectFree = OnFree;
  if ((*env)->SetEventCallbacks(env, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) return JNI_ERR;
  for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
    if ((*env)->SetEventNotificationMode(env, JVMTI_ENABLE, events[i], NULL) != JVMTI_ERROR_NONE) return JNI_ERR;
  }
  return JNI_OK;
}
