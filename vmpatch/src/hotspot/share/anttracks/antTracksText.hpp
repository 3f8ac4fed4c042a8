/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSTEXT_HPP
#define SHARE_ANTTRACKS_ANTTRACKSTEXT_HPP

#include "memory/allocation.hpp"
#include "utilities/globalDefinitions.hpp"

// Copies strings into the buffer that the agent gave, one after the other; goes on counting when it is full.
class AntTracksText : public StackObj {
  char* const _buffer;
  const size_t _size;
  size_t _used;
 public:
  AntTracksText(char* buffer, size_t size) : _buffer(buffer), _size(size), _used(0) {}
  const char* add(const char* s);
  // What a describe function returns: 0, or the bytes that the buffer must have.
  int32_t result() const { return _used <= _size ? 0 : (int32_t)_used; }

  // Both take what external_name() returns, and return it or a string in the caller's resource area.
  // A hidden class is called "p.Name+0x1234" in its symbol, but "p.Name/0x1234" everywhere else.
  static const char* hidden_form(const char* name);
  // "int[][]" for "[[I", "java.lang.String[]" for "[Ljava.lang.String;".
  static const char* source_form(const char* name);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSTEXT_HPP
