/* SPDX-License-Identifier: Apache-2.0
 *
 * The native half of Native.java: every way in which JNI makes objects; and of Uncollectable.java, Pinned.java,
 * Ends.java and Forks.java. */
#include <fcntl.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jclass MadeClass(JNIEnv* env) { return (*env)->FindClass(env, "Native$Made"); }

JNIEXPORT jobject JNICALL Java_Native_construct(JNIEnv* env, jclass self, jint value) {
  jclass made = MadeClass(env);
  (void)self;
  return (*env)->NewObject(env, made, (*env)->GetMethodID(env, made, "<init>", "(I)V"), value);
}

JNIEXPORT jobject JNICALL Java_Native_allocate(JNIEnv* env, jclass self) {
  (void)self;
  return (*env)->AllocObject(env, MadeClass(env));
}

JNIEXPORT jobjectArray JNICALL Java_Native_objects(JNIEnv* env, jclass self, jint length, jobject fill) {
  (void)self;
  return (*env)->NewObjectArray(env, length, (*env)->FindClass(env, "java/lang/Object"), fill);
}

JNIEXPORT jintArray JNICALL Java_Native_ints(JNIEnv* env, jclass self, jint length) {
  (void)self;
  return (*env)->NewIntArray(env, length);
}

JNIEXPORT jbyteArray JNICALL Java_Native_bytes(JNIEnv* env, jclass self, jint length) {
  (void)self;
  return (*env)->NewByteArray(env, length);
}

JNIEXPORT jstring JNICALL Java_Native_unicode(JNIEnv* env, jclass self, jint length) {
  jchar text[64];
  (void)self;
  for (int i = 0; i < length && i < 64; i++) text[i] = (jchar)(0x3b1 + i);
  return (*env)->NewString(env, text, length);
}

JNIEXPORT jstring JNICALL Java_Native_utf(JNIEnv* env, jclass self, jint number) {
  char text[32];
  (void)self;
  snprintf(text, sizeof text, "number %d", (int)number);
  return (*env)->NewStringUTF(env, text);
}

JNIEXPORT jlong JNICALL Java_Native_critical(JNIEnv* env, jclass self, jintArray data, jbyteArray other) {
  jlong sum = 0;
  jint* ints = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  jbyte* bytes = (*env)->GetPrimitiveArrayCritical(env, other, NULL);
  (void)self;
  if (ints && bytes) sum = ints[0] + ints[1] + ints[2];
  if (bytes) (*env)->ReleasePrimitiveArrayCritical(env, other, bytes, 0);
  if (ints) (*env)->ReleasePrimitiveArrayCritical(env, data, ints, JNI_ABORT);
  return sum;
}

JNIEXPORT jobject JNICALL Java_Native_cloneOf(JNIEnv* env, jclass self, jobjectArray array) {
  jmethodID clone = (*env)->GetMethodID(env, (*env)->FindClass(env, "java/lang/Object"), "clone", "()Ljava/lang/Object;");
  (void)self;
  return (*env)->CallObjectMethod(env, array, clone);
}

/* Is in a critical section until data[0] is not 0, ten seconds at most: holds the collector off, or the array in its place.
 * Sets data[1], if there is one, once it is there. Returns data[0]. */
static jint Hold(JNIEnv* env, jintArray data) {
  const jsize length = (*env)->GetArrayLength(env, data);
  volatile jint* ints = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  jint seen = 0;
  if (ints == NULL) return 0;
  if (length > 1) ints[1] = 1;
  for (int i = 0; i < 10000 && (seen = ints[0]) == 0; i++) usleep(1000);
  (*env)->ReleasePrimitiveArrayCritical(env, data, (void*)ints, 0);
  return seen;
}

JNIEXPORT jint JNICALL Java_Uncollectable_hold(JNIEnv* env, jclass self, jintArray data) {
  (void)self;
  return Hold(env, data);
}

JNIEXPORT jint JNICALL Java_Pinned_hold(JNIEnv* env, jclass self, jintArray data) {
  (void)self;
  return Hold(env, data);
}

static int* volatile nowhere;

/* In a critical section, which holds off every collection: says so, and exits when the file `asked` is there. */
static void ExitHeld(JNIEnv* env) {
  jintArray data = (*env)->NewIntArray(env, 1);
  if (data == NULL || (*env)->GetPrimitiveArrayCritical(env, data, NULL) == NULL) return;
  if (write(1, "held\n", 5) != 5) return;
  for (int i = 0; i < 60000 && access("asked", F_OK) != 0; i++) usleep(1000);
  exit(5);
}

/* Ends the process from native code in the way that is named. */
JNIEXPORT void JNICALL Java_Ends_end(JNIEnv* env, jclass self, jstring how) {
  const char* name = (*env)->GetStringUTFChars(env, how, NULL);
  (void)self;
  if (name == NULL) return;
  if (strcmp(name, "segv") == 0) *nowhere = 1;
  if (strcmp(name, "abort") == 0) abort();
  if (strcmp(name, "native-exit") == 0) exit(5);
  if (strcmp(name, "held-exit") == 0) ExitHeld(env);
  if (strcmp(name, "native-_exit") == 0) _exit(6);
  (*env)->ReleaseStringUTFChars(env, how, name);
}

/* A daemon that outlives its parent, the JVM: once that has gone it uses memory, writes its number into the file
 * PATH.NUMBER and ends by exit(), with all exit handlers. Its descriptors 0 to 2 are closed. Returns its number. */
JNIEXPORT jint JNICALL Java_Forks_daemon(JNIEnv* env, jclass self, jstring path) {
  const char* name = (*env)->GetStringUTFChars(env, path, NULL);
  char file[4096], text[32];
  const pid_t parent = getpid(), child = fork();
  (void)self;
  if (child != 0) {
    (*env)->ReleaseStringUTFChars(env, path, name);
    return child;
  }
  setsid();
  for (int i = 0; i < 3; i++) close(i);
  snprintf(file, sizeof file, "%s.%d", name, (int)getpid());
  for (int i = 0; i < 60000 && getppid() == parent; i++) usleep(1000);
  usleep(500000);
  for (int i = 1; i < 1000; i++) free(memset(malloc(1000 * i), 1, 1000 * i));
  const int out = open(file, O_WRONLY | O_CREAT | O_EXCL, 0644);
  snprintf(text, sizeof text, "%d\n", (int)getpid());
  if (write(out, text, strlen(text)) < 0) _exit(1);
  exit(0);
}

/* The same by the C library's own shell, which no fork handler sees; it sleeps for so many seconds. */
JNIEXPORT jint JNICALL Java_Forks_shell(JNIEnv* env, jclass self, jint seconds) {
  char command[64];
  (void)env, (void)self;
  snprintf(command, sizeof command, "sleep %d </dev/null >/dev/null 2>&1 &", (int)seconds);
  return system(command);
}
