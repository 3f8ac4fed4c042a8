/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSITES_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSITES_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allocation.hpp"
#include "oops/markWord.hpp"
#include "utilities/globalDefinitions.hpp"

class AllocateNode;
class ClassLoaderData;
class CodeEmitInfo;
class JavaThread;
class Method;
class nmethod;

// The allocation sites: a tree of frames. A site is a method, a bci, the tier of
// the code, and the site of the caller into which it was inlined.
//
// The numbers are never reused. Names and lines are resolved when a site is made,
// so that a site outlives its class; only the way from a Method* to its number is
// forgotten when the method is freed.
//
// Threads: any, also compiler threads in native state and GC threads at a
// safepoint. One lock that is held for short and under which nothing blocks. In
// front of it is a cache from code address (bcp or pc) to site, read without a lock.
class AntTracksSites : AllStatic {
 public:
  // The site of the current thread's youngest Java frames.
  static uint32_t current(JavaThread* thread);

  // C1 and C2: the initial mark of an object allocated by the code being compiled.
  static intptr_t c1_mark(CodeEmitInfo* info);
  static intptr_t c2_mark(AllocateNode* allocation);

  // The interpreter's fast path reads this cache itself. The entry of a code
  // address is at address & cache_mask. It holds the site in its upper 25 bits and
  // address >> cache_bits in the lower 39; 0 is empty.
  enum { cache_bits = 16, cache_mask = (1 << cache_bits) - 1 };
  static volatile uint64_t* cache() { return _cache; }

  // Each is about to be freed: a code range [begin, end), compiled code, a method.
  static void forget_code(address begin, address end);
  static void forget_nmethod(nmethod* nm);
  static void forget_method(Method* method);
  // All methods whose class loaders are being unloaded.
  static void forget_unloading();

  static bool describe_site(uint32_t site, AntTracksSite* out);
  static int32_t describe_method(uint32_t method, AntTracksMethod* out, char* text, size_t text_bytes);

 private:
  static volatile uint64_t _cache[1 << cache_bits];
  static volatile uint _epoch;  // of all AntTracksCallers
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSITES_HPP
