/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded: a disk that hangs. Once HANG_AFTER writes went to files below the folder HANG_FOLDER, every operation on
 * such a file takes for ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long writes;

static int is_below(const char* path) {
  const char* folder = getenv("HANG_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0 && path[strlen(folder)] == '/';
}

static int is_file_below(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = '\0';
  return is_below(path);
}

static void hang_if(int below) {
  const char* after = getenv("HANG_AFTER");
  if (!below || after == NULL || __atomic_load_n(&writes, __ATOMIC_SEQ_CST) < atol(after)) return;
  for (;;) pause();
}

ssize_t write(int fd, const void* bytes, size_t count) {
  static ssize_t (*real)(int, const void*, size_t);
  if (real == NULL) real = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const int below = is_file_below(fd);
  hang_if(below);
  if (below) __atomic_fetch_add(&writes, 1, __ATOMIC_SEQ_CST);
  return real(fd, bytes, count);
}

static int open_any(const char* name, const char* path, int flags, int mode) {
  int (*real)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name);
  hang_if(is_below(path));
  return real(path, flags, mode);
}

#define OPEN(name)                             \
  int name(const char* path, int flags, ...) { \
    va_list more;                              \
    va_start(more, flags);                     \
    const int mode = va_arg(more, int);        \
    va_end(more);                              \
    return open_any(#name, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define ON_FILE(name, type)                                      \
  int name(int fd, type length) {                                \
    int (*real)(int, type) = (int (*)(int, type))dlsym(RTLD_NEXT, #name); \
    hang_if(is_file_below(fd));                                  \
    return real(fd, length);                                     \
  }
ON_FILE(ftruncate, off_t)
ON_FILE(ftruncate64, off64_t)

int rename(const char* from, const char* to) {
  int (*real)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  hang_if(is_below(from));
  return real(from, to);
}

int unlink(const char* path) {
  int (*real)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "unlink");
  hang_if(is_below(path));
  return real(path);
}
