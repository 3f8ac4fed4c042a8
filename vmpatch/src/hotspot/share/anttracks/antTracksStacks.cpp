/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksSites.hpp"
#include "anttracks/antTracksStacks.hpp"
#include "anttracks/antTracksThread.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/shared/threadLocalAllocBuffer.inline.hpp"
#include "runtime/os.hpp"
#include ANTTRACKS_THREAD_HPP

#include <math.h>

// Words up to the next point. The generator is xorshift64* (Vigna, 2016).
size_t AntTracksStacks::draw(AntTracksThreadState* state, uint32_t bytes) {
  uint64_t x = state->_random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  state->_random = x;
  const uint64_t bits = (x * UCONST64(0x2545F4914F6CDD1D)) >> 11;
  const double uniform = ((double)bits + 1) / ((double)(UCONST64(1) << 53) + 1);  // above 0
  return (size_t)(-log(uniform) * (bytes / (double)HeapWordSize));
}

void AntTracksStacks::seed(JavaThread* thread) {
  AntTracksThreadState* const state = thread->anttracks();
  if (state->_random != 0) return;
  state->_random = ((uint64_t)(uintptr_t)thread * UCONST64(0x9E3779B97F4A7C15) ^ (uint64_t)os::elapsed_counter()) | 1;
  for (int i = 0; i < 4; i++) draw(state, 0);  // the first numbers of similar seeds are similar
}

// The point is the first one behind so many words.
void AntTracksStacks::set(AntTracksThreadState* state, AntTracksSamplePoint* point, size_t after) {
  point->_bytes = AntTracksRecording::stack_bytes();
  point->_words = after + draw(state, point->_bytes);
}

void AntTracksStacks::pass(AntTracksThreadState* state, AntTracksSamplePoint* point, size_t words) {
  if (words <= point->_words) {
    point->_words -= words;
  } else if (point->_bytes != 0) {
    set(state, point, 0);
  }
}

// The object that the thread allocates ends `words` words behind the place from which the point is counted. If it contains
// the point its stack is reported, and the point becomes the first one behind the object.
void AntTracksStacks::report_points_in(JavaThread* thread, AntTracksSamplePoint* point, size_t words) {
  uint32_t points = 0;
  for (; point->_words < words; points++) point->_words += draw(thread->anttracks(), point->_bytes);
  if (points == 0) return;
  AntTracksStack stack;
  stack.begin_cpu_ns = (uint64_t)os::current_thread_cpu_time();
  uint32_t sites[ANTTRACKS_MOST_FRAMES + 1];
  stack.sites = sites;
  stack.count = AntTracksSites::stack(thread, sites);
  stack.points = points;
  stack.stack_bytes = point->_bytes;
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  callbacks.stack(callbacks.context, thread, &thread->anttracks()->_agent_slot, &stack);
}

// Words in the TLAB.
static size_t unreported_words(JavaThread* thread) {
  HeapWord* const reported = thread->anttracks()->_reported;
  return pointer_delta(thread->tlab().top(), reported != NULL ? reported : thread->tlab().start());
}

void AntTracksStacks::look_away(JavaThread* thread) {
  seed(thread);
  AntTracksThreadState* const state = thread->anttracks();
  AntTracksSamplePoint* const point = &state->_in_tlab;
  const size_t unreported = unreported_words(thread);
  if (point->_bytes == 0 || point->_words < unreported) set(state, point, unreported);
}

size_t AntTracksStacks::words_to_point(JavaThread* thread) {
  seed(thread);
  AntTracksThreadState* const state = thread->anttracks();
  AntTracksSamplePoint* const point = &state->_in_tlab;
  if (point->_bytes == 0) set(state, point, 0);
  const size_t unreported = unreported_words(thread);
  report_points_in(thread, point, unreported);
  if (point->_bytes != AntTracksRecording::stack_bytes()) set(state, point, unreported);
  return point->_words - unreported;
}

// Beside what the TLAB has.
void AntTracksStacks::allocated_outside(JavaThread* thread, size_t words) {
  seed(thread);
  AntTracksThreadState* const state = thread->anttracks();
  AntTracksSamplePoint* const point = &state->_outside;
  if (point->_bytes != AntTracksRecording::stack_bytes()) set(state, point, 0);
  report_points_in(thread, point, words);
  pass(state, point, words);
}
