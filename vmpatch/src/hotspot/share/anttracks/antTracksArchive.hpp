/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSARCHIVE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSARCHIVE_HPP

#include "anttracks/antTracksMark.hpp"

// Objects in the archive of shared classes, from JDK 21 on. It is dumped with the marks of the run that makes it, whose sites
// would be read as others in every later run.
class AntTracksArchive : AllStatic {
 public:
  // The mark of an object that is dumped. mark: a new object's in the stock VM, or that with an identity hash. The VM that
  // reads the archive may have another scheme, so that only a site beside the hash can go into it.
  static markWord mark(markWord mark) {
    if (AntTracksMark::in_hash() || !AntTracksMark::has_sites()) return mark;
    return markWord(mark.value() | AntTracksMark::with_site(ANTTRACKS_SITE_ARCHIVE).value());
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSARCHIVE_HPP
