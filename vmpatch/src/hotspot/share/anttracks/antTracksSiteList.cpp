/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksSiteList.hpp"
#include "jvm_io.h"
#include "memory/allocation.hpp"
#include "oops/symbol.hpp"
#include "runtime/atomic.hpp"
#include "runtime/globals.hpp"
#include "runtime/os.hpp"
#include "utilities/defaultStream.hpp"
#include "utilities/growableArray.hpp"

volatile uint32_t* AntTracksSiteList::_bits = NULL;

namespace {

// Before there is a symbol table, names are text.
struct ListedFrame {
  const char* _class_name;  // with slashes
  const char* _method;
  const char* _signature;
  int _bci;

  bool is(const AntTracksSiteList::Frame& f) const {
    return f._bci == _bci && f._method->equals(_method) && f._class_name->equals(_class_name) &&
           f._signature->equals(_signature);
  }
};

struct Line {
  ListedFrame _frames[AntTracksSiteList::most_frames];
  int _count;

  bool begins(const AntTracksSiteList::Frame* frames, int count) const {
    if (count < _count) return false;
    for (int i = 0; i < _count; i++) {
      if (!_frames[i].is(frames[i])) return false;
    }
    return true;
  }
};

GrowableArrayCHeap<Line, mtServiceability>* lines = NULL;  // never freed, as the VM's flags are

// Cuts text, "a.B.method(I)V:12", into its parts. False: it is not of that form.
bool cut(char* text, ListedFrame* frame) {
  char* const signature = strchr(text, '(');
  char* const colon = strrchr(text, ':');
  if (signature == NULL || colon == NULL || colon < signature) return false;
  *colon = '\0';
  char* end = NULL;
  const long bci = strtol(colon + 1, &end, 10);
  if (!isdigit(colon[1]) || *end != '\0' || bci > max_jushort) return false;
  frame->_bci = (int)bci;
  frame->_signature = os::strdup(signature, mtServiceability);
  *signature = '\0';
  char* const dot = strrchr(text, '.');
  if (dot == NULL) return false;
  *dot = '\0';
  for (char* c = text; *c != '\0'; c++) {
    if (*c == '.') *c = '/';
  }
  frame->_class_name = os::strdup(text, mtServiceability);
  frame->_method = os::strdup(dot + 1, mtServiceability);
  return true;
}

// False: the line is wrong.
bool add_line(char* text) {
  Line line;
  line._count = 0;
  char* rest = NULL;
  for (char* word = strtok_r(text, " \t\r\n", &rest); word != NULL; word = strtok_r(NULL, " \t\r\n", &rest)) {
    if (word[0] == '#') break;
    if (strcmp(word, "<") == 0) continue;
    if (line._count == AntTracksSiteList::most_frames || !cut(word, &line._frames[line._count])) return false;
    line._count++;
  }
  if (line._count != 0) lines->append(line);
  return true;
}

void say_cannot_read() {
  jio_fprintf(defaultStream::error_stream(), "AntTracksPretenure: cannot read %s: %s\n", AntTracksPretenure,
              os::strerror(errno));
}

}  // namespace

jint AntTracksSiteList::initialize() {
  if (AntTracksPretenure == NULL) return JNI_OK;
  FILE* const file = fopen(AntTracksPretenure, "r");
  if (file == NULL) {
    say_cannot_read();
    return JNI_EINVAL;
  }
  lines = new GrowableArrayCHeap<Line, mtServiceability>();
  static char text[8192];
  bool good = true;
  for (int number = 1; good && fgets(text, sizeof(text), file) != NULL; number++) {
    if (strchr(text, '\n') == NULL && !feof(file)) {
      good = false;
      jio_fprintf(defaultStream::error_stream(), "AntTracksPretenure: line %d of %s is longer than %d characters\n",
                  number, AntTracksPretenure, (int)sizeof(text) - 2);
    } else if (!add_line(text)) {
      good = false;
      jio_fprintf(defaultStream::error_stream(), "AntTracksPretenure: line %d of %s is no site; one is "
                  "package.Class.method(signature):bci, with \" < \" before each caller, %d frames at most\n",
                  number, AntTracksPretenure, (int)most_frames);
    }
  }
  if (good && ferror(file)) {
    good = false;
    say_cannot_read();
  }
  fclose(file);
  if (!good) return JNI_EINVAL;
  _bits = NEW_C_HEAP_ARRAY(uint32_t, most_sites / 32, mtServiceability);
  memset((void*)_bits, 0, most_sites / 8);
  return JNI_OK;
}

void AntTracksSiteList::consider(uint32_t site, const Frame* frames, int count) {
  for (int i = 0; i < lines->length() && site < most_sites; i++) {
    if (!lines->at(i).begins(frames, count)) continue;
    volatile uint32_t* const word = &_bits[site / 32];
    Atomic::store(word, *word | (1u << (site % 32)));  // the caller holds the lock of the table of sites
    return;
  }
}
