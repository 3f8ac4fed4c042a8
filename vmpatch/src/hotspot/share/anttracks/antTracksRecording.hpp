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

// Whether an agent has started, so that events are reported to its callbacks. Changes only at a safepoint.
class AntTracksRecording : AllStatic {
  static volatile bool _active;
  static AntTracksCallbacks _callbacks;

 public:
  static bool active() { return _active; }
  static const AntTracksCallbacks& callbacks() { return _callbacks; }
  static void start(const AntTracksCallbacks& callbacks);
  static void stop();
};

#endif // SHARE_ANTTRACKS_ANTTRACKSRECORDING_HPP
