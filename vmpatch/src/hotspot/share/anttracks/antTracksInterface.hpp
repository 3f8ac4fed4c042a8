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

#include "anttracks/anttracks_abi.h"
#include "jvmtifiles/jvmti.h"
#include "memory/allocation.hpp"

// The table of functions that the agent gets through a JVMTI extension function.
class AntTracksInterface : AllStatic {
 public:
  // Batches of collectors that have no worker to hold them.
  static void make_batches();
  static jvmtiExtensionFunctionInfo* extension_function();

  // Copies strings behind each other into a buffer of the caller's; counts on when it is full.
  class Text {
    char* const _buffer;
    const size_t _size;
    size_t _used;
   public:
    Text(char* buffer, size_t size) : _buffer(buffer), _size(size), _used(0) {}
    const char* add(const char* s);
    int32_t result() const { return _used <= _size ? 0 : (int32_t)_used; }
  };

  // A hidden class is called "p.Name+0x1234" in its symbol, but "p.Name/0x1234" everywhere else.
  static const char* hidden_form(const char* external_name);
  // "int[][]" for "[[I", "java.lang.String" for "java/lang/String".
  static const char* source_form(const char* external_name);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSINTERFACE_HPP
