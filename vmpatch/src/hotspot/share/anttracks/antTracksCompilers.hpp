/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSCOMPILERS_HPP
#define SHARE_ANTTRACKS_ANTTRACKSCOMPILERS_HPP

#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

class AllocateNode;
class CodeEmitInfo;

// The initial mark of an object allocated by the code that C1 or C2 is compiling.
class AntTracksCompilers : AllStatic {
 public:
  static intptr_t c1_mark(CodeEmitInfo* info);
  static intptr_t c2_mark(AllocateNode* allocation);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSCOMPILERS_HPP
