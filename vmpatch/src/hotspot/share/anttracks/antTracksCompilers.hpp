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
class Node;
class PhaseGVN;
class Type;

// The initial mark of an object allocated by the code that C1 or C2 is compiling, and what C2's code takes for its hash.
class AntTracksCompilers : AllStatic {
 public:
  // Without its random part. With AntTracksMark::no_random: it gets none.
  static intptr_t c1_mark(CodeEmitInfo* info);
  // obj: the new object's address. The node is not transformed unless it is a constant.
  static Node* c2_mark(AllocateNode* allocation, PhaseGVN* phase, Node* obj, Node* control);
  // With compact headers. mark: the class's, not transformed; nor is the result.
  static Node* c2_add_site(AllocateNode* allocation, PhaseGVN* phase, Node* mark);
  // What is known of that mark; otherwise: if nothing is.
  static const Type* c2_mark_type(AllocateNode* allocation, const Type* otherwise);
  // Whether the object must be made by the slow path: see AntTracksPretenure.
  static bool c2_is_slow(AllocateNode* allocation);
  // A BoolNode: an object has no hash yet. hash: what lies in its place in the mark.
  static Node* c2_no_hash(PhaseGVN* phase, Node* mark, Node* hash);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSCOMPILERS_HPP
