/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSOWNHASH_HPP
#define SHARE_ANTTRACKS_ANTTRACKSOWNHASH_HPP

#include "anttracks/antTracksMark.hpp"
#include "memory/allStatic.hpp"

class Klass;
class Method;

// Which classes override hashCode (-XX:AntTracksSites=hash-eliminate): their objects get the random part of the hash
// when somebody asks for it, which is rare. For the others it is made with the object.
class AntTracksOwnHash : AllStatic {
  static Method* _objects;         // Object.hashCode
  static volatile int _index;      // of it in vtables; negative: not known yet

  static bool is_known();

 public:
  // Whether objects of the class are made without a random part. The class need not be linked, then it is false.
  static bool eliminates(const Klass* klass) { return AntTracksMark::eliminates() && overrides(klass); }
  static bool overrides(const Klass* klass);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSOWNHASH_HPP
