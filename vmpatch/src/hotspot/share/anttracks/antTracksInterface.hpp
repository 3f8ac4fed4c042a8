/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSINTERFACE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSINTERFACE_HPP

#include "jvmtifiles/jvmti.h"
#include "memory/allStatic.hpp"

// The table of functions that the agent gets through a JVMTI extension function.
class AntTracksInterface : AllStatic {
 public:
  static jvmtiExtensionFunctionInfo* extension_function();
};

#endif // SHARE_ANTTRACKS_ANTTRACKSINTERFACE_HPP
