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

#include "anttracks/antTracksThread.hpp"
#include "memory/allocation.hpp"
#include "memory/allStatic.hpp"
#include "oops/markWord.hpp"
#include "utilities/globalDefinitions.hpp"

class JavaThread;
class Klass;
class Method;
class nmethod;
class Thread;

// (The flag AntTracksSites has the same name: see AntTracksMark.)
//
// Finds, from the current thread's stack, the site of an object that the runtime
// allocates, and those of its callers; forgets what is known of code that is freed.
class AntTracksSites : AllStatic {
  static volatile uint _epoch;  // of all AntTracksCallers

  static uint32_t current(JavaThread* thread);
  static markWord mark_by_vm(HeapWord* mem);
  static markWord mark_by_stack(JavaThread* thread, HeapWord* mem, const Klass* klass);

 public:
  // The site of the object that the runtime is about to make for the current thread, which has_sites.
  static uint32_t of_next_object(JavaThread* thread);
  // The mark of an object that the runtime is about to create at mem.
  static markWord runtime_mark(Thread* thread, HeapWord* mem, const Klass* klass);

  // The sites of the frames of the current thread's stack, as the callback stack gets them. Returns how many; at most
  // ANTTRACKS_MOST_FRAMES + 1, for which there must be room.
  static uint32_t stack(JavaThread* thread, uint32_t* sites);

  // The compiled code, or the method, is about to be freed.
  static void forget_nmethod(nmethod* nm);
  static void forget_method(Method* method);
  // All methods whose class loaders are being unloaded.
  static void forget_unloading();
};

// While one of these lives its thread allocates an array of arrays, all of which have one site: it is looked up once.
// Java code that runs meanwhile (a callback of an agent) has other frames, and its objects the sites of these.
class AntTracksMultiArray : public StackObj {
  friend class AntTracksSites;

  AntTracksThreadState* const _state;
  AntTracksMultiArray* const _outer;  // NULL: none
  intptr_t* const _sp;                // of the frame that asks for the arrays
  const uint32_t _site;

  static uint32_t site_at(const AntTracksMultiArray* arrays, const intptr_t* sp);

 public:
  AntTracksMultiArray(JavaThread* thread);
  ~AntTracksMultiArray() { _state->_multi_array = _outer; }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSITES_HPP
