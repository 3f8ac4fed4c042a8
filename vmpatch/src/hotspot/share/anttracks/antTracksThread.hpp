/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSTHREAD_HPP
#define SHARE_ANTTRACKS_ANTTRACKSTHREAD_HPP

#include "memory/allocation.hpp"
#include "utilities/globalDefinitions.hpp"

class AntTracksMultiArray;
class AntTracksRematerialization;
class JavaThread;
class frame;
class Method;

// What the runtime's site lookup (antTracksSites.hpp) remembers of the code that a thread came from. Valid for one
// epoch: until a method or the wrapper of a native method is freed, after which another one may have its address.
struct AntTracksCallers {
  enum { blobs = 32, natives = 512 };
  enum Kind { none, runtime_stub, native_wrapper };
  struct Blob {
    address _pc;
    int     _frame_words;
    Kind    _kind;
    Method* _native;  // of a wrapper
  };
  // The site of a native method that was called from a place in Java code, as long as the site of that place is the same.
  struct Native {
    Method*  _native;
    address  _caller;  // bcp or pc
    uint32_t _caller_site;
    uint32_t _site;

    // Returns the site.
    uint32_t set(Method* native, address caller, uint32_t caller_site, uint32_t site) {
      _native = native;
      _caller = caller;
      _caller_site = caller_site;
      _site = site;
      return site;
    }
  };
  uint    _epoch;
  Blob    _blobs[blobs];
  Native* _natives;  // table of that many; NULL until the thread allocates in a native method, or if there is no memory

  AntTracksCallers() : _epoch(0), _natives(NULL) { memset(_blobs, 0, sizeof(_blobs)); }
  ~AntTracksCallers();
  void clear(uint epoch);
  // The entry for a native method called from a place; NULL: no memory.
  Native* native_of(Method* native, address caller);
};

// Where the next sample point lies in what a thread allocates in TLABs, or outside of them.
struct AntTracksSamplePoint {
  size_t   _words;  // up to it
  uint32_t _bytes;  // the distance of points that it was drawn for; 0: not drawn yet
};

// What the VM keeps for each Java thread. Other threads have none, which is how the slow path of allocations tells them
// from Java threads: is_Java_thread() is a virtual call.
struct AntTracksThreadState {
  void*     _agent_slot;      // the agent's own word
  HeapWord* _reported;        // the current TLAB is reported up to here; NULL: not at all
  const bool _has_sites;      // AntTracksMark::has_sites(), beside what the slow path of allocations reads
  const AntTracksRematerialization* _rematerialization;  // that the thread is at; NULL: none
  AntTracksMultiArray* _multi_array;  // that the runtime is allocating; NULL: none
  uint64_t  _random;          // 0: not seeded yet
  AntTracksSamplePoint _in_tlab;  // from _reported on
  AntTracksSamplePoint _outside;
  AntTracksCallers _callers;

  // slot: of the thread; points to this from now on.
  explicit AntTracksThreadState(AntTracksThreadState** slot);
};

// Objects that the thread allocates while one of these lives were scalar replaced, and come back because their frame is
// deoptimized: their site is in that frame, and says so. The frame may be another thread's, or lie deeper in the thread's
// own stack (EscapeBarrier). Java code that runs meanwhile (a callback of an agent) has other frames, and its objects the
// sites of these.
class AntTracksRematerialization : public StackObj {
  AntTracksThreadState* const _state;
  const AntTracksRematerialization* const _outer;  // NULL: none
  AntTracksMultiArray* const _outer_array;         // whose callback walks the heap; NULL: none
  const intptr_t* const _sp;                       // where the thread left Java code
  const frame* const _deoptimized;
 public:
  AntTracksRematerialization(JavaThread* thread, const frame* deoptimized);
  ~AntTracksRematerialization();

  // The frame of the object that a thread allocates; NULL: none is brought back. last_java_sp: of the thread.
  static const frame* frame_at(const AntTracksRematerialization* current, const intptr_t* last_java_sp) {
    return current != NULL && current->_sp == last_java_sp ? current->_deoptimized : NULL;
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSTHREAD_HPP
