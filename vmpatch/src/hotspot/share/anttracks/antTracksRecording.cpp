/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksRecording.hpp"
#include "runtime/safepoint.hpp"

volatile bool AntTracksRecording::_listened_to = false;
volatile bool AntTracksRecording::_active = false;
AntTracksCallbacks AntTracksRecording::_callbacks;
volatile uint32_t AntTracksRecording::_stack_bytes = 0;

void AntTracksRecording::start(const AntTracksCallbacks& callbacks) {
  assert_at_safepoint();
  _callbacks = callbacks;
  set_stack_bytes(callbacks.stack_bytes);
  _listened_to = true;
  _active = callbacks.tlab != NULL;
}

void AntTracksRecording::stop() {
  assert_at_safepoint();
  _listened_to = _active = false;
}
