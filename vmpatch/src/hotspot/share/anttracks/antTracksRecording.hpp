/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSRECORDING_HPP
#define SHARE_ANTTRACKS_ANTTRACKSRECORDING_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "runtime/atomic.hpp"

// What is reported to an agent's callbacks. Changes only at a safepoint.
class AntTracksRecording : AllStatic {
  static volatile bool _listened_to, _active;
  static AntTracksCallbacks _callbacks;
  static volatile uint32_t _stack_bytes;

 public:
  // An agent has started: collections and unloaded classes are reported.
  static bool listened_to() { return _listened_to; }
  // So are all objects, and where they move.
  static bool active() { return _active; }
  static const AntTracksCallbacks& callbacks() { return _callbacks; }
  static void start(const AntTracksCallbacks& callbacks);
  static void stop();

  // As in the callbacks, but may change while it is active.
  static uint32_t stack_bytes() { return Atomic::load(&_stack_bytes); }
  static void set_stack_bytes(uint32_t bytes) { Atomic::store(&_stack_bytes, bytes); }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSRECORDING_HPP
