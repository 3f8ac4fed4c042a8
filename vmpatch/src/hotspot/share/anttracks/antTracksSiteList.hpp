/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSITELIST_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSITELIST_HPP

#include "jni.h"
#include "gc/shared/gc_globals.hpp"
#include "memory/allStatic.hpp"
#include "runtime/globals.hpp"
#include "utilities/globalDefinitions.hpp"

class Symbol;

// The sites whose objects are made old, or copied there at once (-XX:AntTracksPretenure=FILE). A line of the file is one site: its frames,
// the youngest first, with " < " between; # begins a comment. It stands for all sites that begin with these frames.
//
//     java.util.HashMap.newNode(ILjava/lang/Object;)Ljava/util/HashMap$Node;:0 < java.util.HashMap.putVal(I)V:63
//
// Threads: the list is read before there is a second one. The bits are set and read by any.
class AntTracksSiteList : AllStatic {
  static volatile uint32_t* _bits;  // NULL: no list

 public:
  enum { most_frames = 8, most_sites = 1 << 20 };  // of a line; whose bits there is room for

  struct Frame {
    const Symbol* _class_name;
    const Symbol* _method;
    const Symbol* _signature;
    int _bci;
  };

  // Reads the file that the flag names. JNI_EINVAL: it cannot be read or understood, and was said to be.
  static jint initialize();

  static bool is_empty() { return _bits == NULL; }
  // Whether objects of these sites are made old when they are allocated: whether the collector lets them.
  static bool at_allocation() { return _bits != NULL && !AntTracksPretenureByCopy && (UseParallelGC || UseSerialGC); }
  static bool has(uint32_t site) {
    return _bits != NULL && site < most_sites && (_bits[site / 32] & (1u << (site % 32))) != 0;
  }
  // A new site: is it in the list? frames: its youngest, most_frames at most.
  static void consider(uint32_t site, const Frame* frames, int count);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSITELIST_HPP
