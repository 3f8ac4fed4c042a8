/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSiteCache.hpp"
#include "anttracks/antTracksSiteList.hpp"
#include "anttracks/antTracksSiteTable.hpp"
#include "anttracks/antTracksText.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "classfile/classLoaderData.hpp"
#include "memory/resourceArea.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/method.hpp"
#include "oops/symbol.hpp"
#include "runtime/os.inline.hpp"
#include "utilities/growableArray.hpp"
#include "utilities/resourceHash.hpp"

namespace {

struct MethodRecord {
  Symbol* _class_name;  // all with a reference of their own
  Symbol* _name;
  Symbol* _signature;
  Symbol* _source_file; // NULL: not known
  bool _hidden;
};

struct Site {
  uint32_t _method;
  int _bci;
  uint32_t _caller;
  uint32_t _tier_and_flags;
};

bool equal(const Site& a, const Site& b) {
  return a._method == b._method && a._bci == b._bci && a._caller == b._caller && a._tier_and_flags == b._tier_and_flags;
}

unsigned hash(const Site& s) {
  return (s._method * 31 + (unsigned)s._bci) * 0x9E3779B1u ^ s._caller * 0x85EBCA77u ^ s._tier_and_flags;
}

typedef ANTTRACKS_HASHTABLE(Site, uint32_t, 65521, &hash, &equal) SiteTable;
typedef ANTTRACKS_HASHTABLE(Method*, uint32_t, 16381, primitive_hash<Method*>, primitive_equals<Method*>) MethodTable;

// All state, guarded by _lock.
struct Tables : public CHeapObj<mtServiceability> {
  ANTTRACKS_MUTEX _lock;
  SiteTable _site_ids;
  GrowableArrayCHeap<Site, mtServiceability> _sites;
  GrowableArrayCHeap<int, mtServiceability> _lines;
  MethodTable _method_ids;
  GrowableArrayCHeap<MethodRecord, mtServiceability> _methods;
};

// The main thread's first allocations make the tables, long before there is a second thread.
Tables* tables() {
  static Tables* the_tables = NULL;
  if (the_tables == NULL) the_tables = new Tables();
  return the_tables;
}

class Locked : public StackObj {
 public:
  Tables* const _t;
  Locked() : _t(tables()) { _t->_lock.lock(); }
  ~Locked() { _t->_lock.unlock(); }
  Tables* operator->() const { return _t; }
};

Symbol* keep(Symbol* s) {
  if (s != NULL) s->increment_refcount();
  return s;
}

uint32_t method_id(const Locked& t, Method* method) {
  uint32_t* const known = t->_method_ids.get(method);
  if (known != NULL) return *known;
  MethodRecord r;
  InstanceKlass* const holder = method->method_holder();
  r._class_name = keep(holder->name());
  r._name = keep(method->name());
  r._signature = keep(method->signature());
  r._source_file = keep(holder->source_file_name());
  r._hidden = holder->is_hidden();
  t->_methods.append(r);
  const uint32_t id = t->_methods.length();
  t->_method_ids.put(method, id);
  return id;
}

// Tells the list of sites of a new one.
void consider(const Locked& t, uint32_t site) {
  AntTracksSiteList::Frame frames[AntTracksSiteList::most_frames];
  int count = 0;
  for (uint32_t id = site; id >= ANTTRACKS_SITE_FIRST && count < AntTracksSiteList::most_frames; count++) {
    const Site& s = t->_sites.at(id - ANTTRACKS_SITE_FIRST);
    const MethodRecord& m = t->_methods.at(s._method - 1);
    frames[count] = AntTracksSiteList::Frame{ m._class_name, m._name, m._signature, s._bci };
    id = s._caller;
  }
  AntTracksSiteList::consider(site, frames, count);
}

// Also meets old versions of redefined methods, which no class names any more.
class ForgetUnloading : public StackObj {
 public:
  bool do_entry(Method* const& method, uint32_t const&) {
    if (!method->method_holder()->class_loader_data()->is_unloading()) return false;
    AntTracksSiteCache::forget(method->code_base(), method->code_base() + method->code_size());
    return true;
  }
};

}  // namespace

uint32_t AntTracksSiteTable::site(Method* method, int bci, uint32_t caller, uint32_t tier, uint32_t flags) {
  Locked t;
  const uint32_t id = t->_sites.length() + ANTTRACKS_SITE_FIRST;
  const bool full = id > AntTracksMark::max_site();
  // The record of a method without sites would be kept for nothing.
  if (full && t->_method_ids.get(method) == NULL) return ANTTRACKS_SITE_OVERFLOW;
  Site s;
  s._method = method_id(t, method);
  s._bci = MAX2(bci, 0);
  s._caller = caller;
  s._tier_and_flags = tier | (flags << 8);
  uint32_t* const known = t->_site_ids.get(s);
  if (known != NULL) return *known;
  if (full) return ANTTRACKS_SITE_OVERFLOW;
  t->_sites.append(s);
  t->_lines.append(method->is_native() ? -1 : method->line_number_from_bci(s._bci));
  t->_site_ids.put(s, id);
  if (!AntTracksSiteList::is_empty()) consider(t, id);
  return id;
}

void AntTracksSiteTable::forget_method(Method* method) {
  Locked t;
  t->_method_ids.remove(method);
}

// Only methods in the table have sites. It is walked once, however many class loaders go.
void AntTracksSiteTable::forget_unloading() {
  ForgetUnloading filter;
  Locked t;
  t->_method_ids.unlink(&filter);
}

int32_t AntTracksSiteTable::describe_site(uint32_t site, AntTracksSite* out) {
  Locked t;
  if (site < ANTTRACKS_SITE_FIRST || site - ANTTRACKS_SITE_FIRST >= (uint32_t)t->_sites.length()) return -1;
  const Site& s = t->_sites.at(site - ANTTRACKS_SITE_FIRST);
  out->method = s._method;
  out->tier = s._tier_and_flags & 0xff;
  out->flags = s._tier_and_flags >> 8;
  out->bci = out->tier == ANTTRACKS_TIER_NATIVE ? -1 : s._bci;
  out->line = t->_lines.at(site - ANTTRACKS_SITE_FIRST);
  out->caller = s._caller;
  return 0;
}

int32_t AntTracksSiteTable::describe_method(uint32_t method, AntTracksMethod* out, char* text, size_t text_bytes) {
  MethodRecord r;
  {
    Locked t;
    if (method < 1 || method > (uint32_t)t->_methods.length()) return -1;
    r = t->_methods.at(method - 1);
  }
  ResourceMark rm;
  AntTracksText strings(text, text_bytes);
  const char* const name = r._class_name->as_klass_external_name();
  out->class_name = strings.add(r._hidden ? AntTracksText::hidden_form(name) : name);
  out->name = strings.add(r._name->as_utf8());
  out->signature = strings.add(r._signature->as_utf8());
  out->source_file = strings.add(r._source_file == NULL ? "" : r._source_file->as_utf8());
  return strings.result();
}
