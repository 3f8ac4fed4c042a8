/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSTACKS_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSTACKS_HPP

#include "anttracks/antTracksRecording.hpp"
#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

class JavaThread;
struct AntTracksSamplePoint;
struct AntTracksThreadState;

// Reports the stacks of those allocations that contain a sample point. The points lie at exponentially distributed distances
// in the bytes that a thread allocates, apart for TLABs and for objects outside of them: an object of s bytes contains
// s / stack_bytes of them on average, whatever was allocated before it.
// When their distance changes, or a point was passed that nobody looked at, a new point is drawn: how far the next one is
// does not depend on where the last one was, so that all that follows is right.
class AntTracksStacks : AllStatic {
  static size_t draw(AntTracksThreadState* state, uint32_t bytes);
  static void seed(JavaThread* thread);
  static void set(AntTracksThreadState* state, AntTracksSamplePoint* point, size_t after);
  static void report_points_in(JavaThread* thread, AntTracksSamplePoint* point, size_t words);

 public:
  // While AntTracksRecording is active.
  static bool wanted() { return AntTracksRecording::stack_bytes() != 0; }

  // How many words the thread may allocate in its TLAB before an object contains the point. What is not reported yet is at
  // most the object that took the slow path; if it contains the point its stack is reported, and the point is a later one.
  static size_t words_to_point(JavaThread* thread);
  // Before words_to_point, where what is not reported yet is older than this allocation: what was allocated while nobody
  // looked for points, as another agent had sampled allocation events, gives no stack.
  static void look_away(JavaThread* thread);
  // What the thread has allocated there so far is reported, or can no longer be.
  static void pass(AntTracksThreadState* state, AntTracksSamplePoint* point, size_t words);
  // The thread, which is the current one, has allocated an object of that size.
  static void allocated_outside(JavaThread* thread, size_t words);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSTACKS_HPP
