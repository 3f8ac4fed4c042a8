/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksText.hpp"
#include "memory/resourceArea.hpp"

const char* AntTracksText::add(const char* s) {
  if (s == NULL) s = "";
  const size_t bytes = strlen(s) + 1;
  const size_t at = _used;
  _used += bytes;
  if (_used > _size) return "";
  return (const char*)memcpy(_buffer + at, s, bytes);
}

const char* AntTracksText::hidden_form(const char* name) {
  char* const copy = strcpy(NEW_RESOURCE_ARRAY(char, strlen(name) + 1), name);
  char* const plus = strrchr(copy, '+');
  if (plus != NULL) *plus = '/';
  return copy;
}

static const char* primitive_name(char descriptor) {
  for (int type = T_BOOLEAN; type <= T_LONG; type++) {
    if (type2char((BasicType)type) == descriptor) return type2name((BasicType)type);
  }
  return NULL;
}

const char* AntTracksText::source_form(const char* name) {
  int dimensions = 0;
  while (name[dimensions] == '[') dimensions++;
  if (dimensions == 0) return name;
  const char* element = name + dimensions;
  size_t length = strlen(element);
  if (*element == 'L') {
    element++;
    length -= 2;  // L and ;
  } else if (primitive_name(*element) != NULL) {
    element = primitive_name(*element);
    length = strlen(element);
  }
  char* const result = NEW_RESOURCE_ARRAY(char, length + 2 * dimensions + 1);
  memcpy(result, element, length);
  for (int i = 0; i < dimensions; i++) memcpy(result + length + 2 * i, "[]", 2);
  result[length + 2 * dimensions] = 0;
  return result;
}
