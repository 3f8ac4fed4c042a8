/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksThread.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "memory/allocation.inline.hpp"
#include ANTTRACKS_THREAD_HPP

AntTracksCallers::~AntTracksCallers() {
  FREE_C_HEAP_ARRAY(Native, _natives);
}

void AntTracksCallers::clear(uint epoch) {
  memset(_blobs, 0, sizeof(_blobs));
  if (_natives != NULL) memset(_natives, 0, natives * sizeof(Native));
  _epoch = epoch;
}

AntTracksCallers::Native* AntTracksCallers::native_of(Method* native, address caller) {
  if (_natives == NULL) {
    _natives = NEW_C_HEAP_ARRAY_RETURN_NULL(Native, natives, mtServiceability);
    if (_natives == NULL) return NULL;
    memset(_natives, 0, natives * sizeof(Native));
  }
  const uint64_t hash = ((uint64_t)native ^ ((uint64_t)caller << 1)) * UCONST64(0x9E3779B97F4A7C15);
  return &_natives[(hash >> 32) % natives];
}

// Threads are made after the flags have their final values.
AntTracksThreadState::AntTracksThreadState(AntTracksThreadState** slot)
    : _agent_slot(NULL), _reported(NULL), _has_sites(AntTracksMark::has_sites()), _rematerialization(NULL),
      _multi_array(NULL), _random(0), _in_tlab(), _outside() {
  *slot = this;
}

AntTracksRematerialization::AntTracksRematerialization(JavaThread* thread, const frame* deoptimized)
    : _state(thread->anttracks()), _outer(_state->_rematerialization), _outer_array(_state->_multi_array),
      _sp(thread->last_Java_sp()), _deoptimized(deoptimized) {
  _state->_rematerialization = this;
  _state->_multi_array = NULL;
}

AntTracksRematerialization::~AntTracksRematerialization() {
  _state->_rematerialization = _outer;
  _state->_multi_array = _outer_array;
}
