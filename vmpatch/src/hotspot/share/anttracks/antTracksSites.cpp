/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "precompiled.hpp"
#include "anttracks/antTracksInterface.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSites.hpp"
#include "anttracks/antTracksThread.hpp"
#include "classfile/classLoaderData.hpp"
#include "code/codeCache.hpp"
#include "code/debugInfoRec.hpp"
#include "code/nmethod.hpp"
#include "code/scopeDesc.hpp"
#include "compiler/compilerDefinitions.hpp"
#include "interpreter/interpreter.hpp"
#include "memory/resourceArea.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/method.hpp"
#include "oops/symbol.hpp"
#include "runtime/atomic.hpp"
#include "runtime/frame.inline.hpp"
#include "runtime/os.inline.hpp"
#include "runtime/registerMap.hpp"
#include "runtime/stubRoutines.hpp"
#include "runtime/thread.hpp"
#include "utilities/growableArray.hpp"
#include "utilities/resourceHash.hpp"
#ifdef COMPILER1
#include "c1/c1_IR.hpp"
#include "c1/c1_ValueStack.hpp"
#endif
#ifdef COMPILER2
#include "opto/callnode.hpp"
#endif

volatile uint64_t AntTracksSites::_cache[1 << AntTracksSites::cache_bits];
volatile uint AntTracksSites::_epoch = 0;

namespace {

const uint32_t max_site = (1u << ANTTRACKS_SITE_BITS) - 1;

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

typedef ResourceHashtable<Site, uint32_t, &hash, &equal, 65521, ResourceObj::C_HEAP, mtServiceability> SiteTable;
typedef ResourceHashtable<Method*, uint32_t, primitive_hash<Method*>, primitive_equals<Method*>, 16381,
                          ResourceObj::C_HEAP, mtServiceability> MethodTable;

// All state, guarded by _lock.
struct Tables : public CHeapObj<mtServiceability> {
  os::PlatformMutex _lock;
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

uint32_t site_id(Method* method, int bci, uint32_t caller, uint32_t tier, uint32_t flags = 0) {
  Locked t;
  Site s;
  s._method = method_id(t, method);
  s._bci = bci;
  s._caller = caller;
  s._tier_and_flags = tier | (flags << 8);
  uint32_t* const known = t->_site_ids.get(s);
  if (known != NULL) return *known;
  const uint32_t id = t->_sites.length() + ANTTRACKS_SITE_FIRST;
  if (id > max_site) return ANTTRACKS_SITE_OVERFLOW;
  t->_sites.append(s);
  t->_lines.append(method->is_native() || bci < 0 ? -1 : method->line_number_from_bci(bci));
  t->_site_ids.put(s, id);
  return id;
}

inline volatile uint64_t* entry_of(uint64_t code) {
  return &AntTracksSites::cache()[code & AntTracksSites::cache_mask];
}

inline uint32_t cached(address code) {
  const uint64_t word = Atomic::load(entry_of((uint64_t)code));
  const uint64_t tag = word & (((uint64_t)1 << ANTTRACKS_SITE_SHIFT) - 1);
  return tag == (uint64_t)code >> AntTracksSites::cache_bits ? (uint32_t)(word >> ANTTRACKS_SITE_SHIFT) : 0;
}

inline void cache(address code, uint32_t site) {
  Atomic::store(entry_of((uint64_t)code),
                ((uint64_t)site << ANTTRACKS_SITE_SHIFT) | ((uint64_t)code >> AntTracksSites::cache_bits));
}

uint32_t tier_of(int comp_level) {
  return is_c2_compile(comp_level) ? ANTTRACKS_TIER_C2 : ANTTRACKS_TIER_C1;
}

int clean_bci(int bci) {
  return bci < 0 ? 0 : bci;  // SynchronizationEntryBCI: the method's monitor enter
}

uint32_t site_of_scope(ScopeDesc* scope, uint32_t tier, uint32_t flags) {
  ScopeDesc* const sender = scope->sender();
  const uint32_t caller = sender == NULL ? 0 : site_of_scope(sender, tier, 0);
  return site_id(scope->method(), clean_bci(scope->bci()), caller, tier, flags);
}

// The code address that stands for the frame's position.
address code_of(const frame& fr) {
  return fr.is_interpreted_frame() ? fr.interpreter_frame_bcp() : fr.pc();
}

// fr is an interpreted or compiled frame of a method that is not native.
uint32_t make_site(const frame& fr, uint32_t flags) {
  if (fr.is_interpreted_frame()) {
    return site_id(fr.interpreter_frame_method(), clean_bci(fr.interpreter_frame_bci()), 0,
                   ANTTRACKS_TIER_INTERPRETER, flags);
  }
  ResourceMark rm;
  CompiledMethod* const cm = fr.cb()->as_compiled_method();
  ScopeDesc* const scope = cm->scope_desc_at(fr.pc());
  const uint32_t tier = tier_of(cm->comp_level());
  return scope == NULL ? site_id(cm->method(), 0, 0, tier, flags) : site_of_scope(scope, tier, flags);
}

uint32_t site_of_frame(const frame& fr, uint32_t flags) {
  if (flags != 0) return make_site(fr, flags);
  const address code = code_of(fr);
  uint32_t site = cached(code);
  if (site == 0) {
    site = make_site(fr, 0);
    cache(code, site);
  }
  return site;
}

Method* native_method_of(const frame& fr) {
  Method* const m = fr.is_interpreted_frame() ? fr.interpreter_frame_method()
                                              : fr.cb()->as_compiled_method()->method();
  return m->is_native() ? m : NULL;
}

// Moves fr to the next Java frame, itself and wrappers of native methods included; false when there is none.
bool find_java_frame(frame* fr, RegisterMap* map) {
  while (!fr->is_java_frame() && !fr->is_native_frame()) {
    if (fr->is_first_frame()) return false;
    *fr = fr->sender(map);
  }
  return true;
}

}  // namespace

// Where a native method at the top was called from.
struct NativeCaller {
  address  _code;  // bcp or pc; NULL: there is no native method, or nobody has called it
  uint32_t _site;  // 0: it was no Java method
};

// The general way.
static uint32_t walk_to_site(JavaThread* thread, uint32_t flags, NativeCaller* caller) {
  caller->_code = NULL;
  caller->_site = 0;
  RegisterMap map(thread, false);
  frame fr = thread->last_frame();
  if (!find_java_frame(&fr, &map)) return ANTTRACKS_SITE_VM;
  Method* const native = native_method_of(fr);
  if (native == NULL) return site_of_frame(fr, flags);
  if (!fr.is_first_frame()) {
    fr = fr.sender(&map);
    caller->_code = fr.pc();
    if (fr.is_java_frame() && native_method_of(fr) == NULL) {
      caller->_code = code_of(fr);
      caller->_site = site_of_frame(fr, 0);
    }
  }
  return site_id(native, -1, caller->_site, ANTTRACKS_TIER_NATIVE, flags);
}

static AntTracksCallers::Blob* blob_of(AntTracksCallers* callers, address pc) {
  AntTracksCallers::Blob* const blob = &callers->_blobs[((uintptr_t)pc >> 2) % AntTracksCallers::blobs];
  if (blob->_pc != pc) {
    CodeBlob* const cb = CodeCache::find_blob(pc);
    blob->_pc = pc;
    blob->_frame_words = cb == NULL ? 0 : cb->frame_size();
    const bool native = cb != NULL && cb->is_nmethod() && cb->as_nmethod()->is_native_method();
    blob->_native = native ? cb->as_nmethod()->method() : NULL;
    blob->_kind = cb == NULL ? AntTracksCallers::none
                : cb->is_runtime_stub() ? AntTracksCallers::runtime_stub
                : native ? AntTracksCallers::native_wrapper
                : AntTracksCallers::none;
  }
  return blob;
}

static uint32_t walk_to_site(JavaThread* thread) {
  NativeCaller caller;
  return walk_to_site(thread, 0, &caller);
}

// The site of a native method whose frame ends at sender_sp. What its caller's code has in the cache of sites tells
// whether that code is still the same: the cache forgets code that is freed. Only the call stub, which nobody frees, is
// in no cache. The caller's site and the method are all that the site depends on: a walk is needed only for a caller that
// the cache does not know.
static uint32_t site_of_native(JavaThread* thread, AntTracksCallers* callers, Method* native, intptr_t* sender_sp) {
  const address return_pc = (address)sender_sp[-1];
  const address code = Interpreter::contains(return_pc)
      ? (address)((intptr_t*)sender_sp[-frame::sender_sp_offset])[frame::interpreter_frame_bcp_offset] : return_pc;
  AntTracksCallers::Native* const known = callers->native_of(native, code);
  if (known == NULL) return walk_to_site(thread);
  const uint32_t caller_site = cached(code);
  if (known->_native == native && known->_caller == code && known->_caller_site == caller_site) return known->_site;
  if (caller_site != 0) return known->set(native, code, caller_site, site_id(native, -1, caller_site, ANTTRACKS_TIER_NATIVE));
  NativeCaller caller;
  const uint32_t site = walk_to_site(thread, 0, &caller);
  if (caller._code == code && (caller._site != 0 || StubRoutines::returns_to_call_stub(return_pc))) {
    known->set(native, code, caller._site, site);
  }
  return site;
}

// Most allocations come from few places: look at the top of the stack as it is, and walk only when
// that place is new. A return address that deoptimization has patched is in no cache.
uint32_t AntTracksSites::current(JavaThread* thread) {
  if (!thread->has_last_Java_frame()) return ANTTRACKS_SITE_VM;
  AntTracksThreadState* const state = thread->anttracks();
  if (state->_rematerializing) {
    NativeCaller caller;
    return walk_to_site(thread, ANTTRACKS_SITE_REMATERIALIZED, &caller);
  }
  AntTracksCallers* const callers = &state->_callers;
  const uint epoch = Atomic::load(&_epoch);
  if (callers->_epoch != epoch) callers->clear(epoch);
  thread->frame_anchor()->make_walkable();
  const address pc = thread->last_Java_pc();
  if (Interpreter::contains(pc)) {
    intptr_t* const fp = thread->frame_anchor()->last_Java_fp();
    Method* const method = (Method*)fp[frame::interpreter_frame_method_offset];
    if (method->is_native()) return site_of_native(thread, callers, method, fp + frame::sender_sp_offset);
    const uint32_t site = cached((address)fp[frame::interpreter_frame_bcp_offset]);
    return site != 0 ? site : walk_to_site(thread);
  }

  AntTracksCallers::Blob* const blob = blob_of(callers, pc);
  if (blob->_kind == AntTracksCallers::none) return walk_to_site(thread);
  intptr_t* const sender_sp = thread->last_Java_sp() + blob->_frame_words;
  if (blob->_kind == AntTracksCallers::native_wrapper) return site_of_native(thread, callers, blob->_native, sender_sp);
  const uint32_t site = cached((address)sender_sp[-1]);
  return site != 0 ? site : walk_to_site(thread);
}

#ifdef COMPILER1
static uint32_t site_of_state(ValueStack* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller_state());
  Method* const method = (Method*)state->scope()->method()->constant_encoding();
  return site_id(method, clean_bci(state->bci()), caller, ANTTRACKS_TIER_C1);
}

intptr_t AntTracksSites::c1_mark(CodeEmitInfo* info) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  return AntTracksMark::with_site(site_of_state(info->stack())).value();
}
#endif

#ifdef COMPILER2
static uint32_t site_of_state(JVMState* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller());
  if (!state->has_method()) return caller;
  Method* const method = (Method*)state->method()->constant_encoding();
  return site_id(method, clean_bci(state->bci()), caller, ANTTRACKS_TIER_C2);
}

intptr_t AntTracksSites::c2_mark(AllocateNode* allocation) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  return AntTracksMark::with_site(site_of_state(allocation->jvms())).value();
}
#endif

void AntTracksSites::forget_code(address begin, address end) {
  if (!AntTracksMark::has_sites()) return;
  for (address code = begin; code < end; code++) {
    if (cached(code) != 0) Atomic::store(entry_of((uint64_t)code), (uint64_t)0);
  }
}

void AntTracksSites::forget_nmethod(nmethod* nm) {
  forget_code(nm->code_begin(), nm->code_end());
  if (nm->is_native_method()) Atomic::inc(&_epoch);
}

void AntTracksSites::forget_method(Method* method) {
  if (!AntTracksMark::has_sites() || method->constMethod() == NULL) return;
  forget_code(method->code_base(), method->code_base() + method->code_size());
  Atomic::inc(&_epoch);
  Locked t;
  t->_method_ids.remove(method);
}

namespace {
// Also old versions of redefined methods, which no class names any more.
class ForgetUnloading : public StackObj {
 public:
  bool do_entry(Method* const& method, uint32_t const&) {
    if (!method->method_holder()->class_loader_data()->is_unloading()) return false;
    AntTracksSites::forget_code(method->code_base(), method->code_base() + method->code_size());
    return true;
  }
};
}

// Only methods in the table have sites. It is walked once, however many class loaders go.
void AntTracksSites::forget_unloading() {
  ForgetUnloading filter;
  Atomic::inc(&_epoch);
  Locked t;
  t->_method_ids.unlink(&filter);
}

bool AntTracksSites::describe_site(uint32_t site, AntTracksSite* out) {
  Locked t;
  if (site < ANTTRACKS_SITE_FIRST || site - ANTTRACKS_SITE_FIRST >= (uint32_t)t->_sites.length()) return false;
  const Site& s = t->_sites.at(site - ANTTRACKS_SITE_FIRST);
  out->method = s._method;
  out->bci = s._tier_and_flags == ANTTRACKS_TIER_NATIVE ? -1 : s._bci;
  out->line = t->_lines.at(site - ANTTRACKS_SITE_FIRST);
  out->caller = s._caller;
  out->tier = s._tier_and_flags & 0xff;
  out->flags = s._tier_and_flags >> 8;
  return true;
}

int32_t AntTracksSites::describe_method(uint32_t method, AntTracksMethod* out, char* text, size_t text_bytes) {
  MethodRecord r;
  {
    Locked t;
    if (method < 1 || method > (uint32_t)t->_methods.length()) return -1;
    r = t->_methods.at(method - 1);
  }
  ResourceMark rm;
  AntTracksInterface::Text strings(text, text_bytes);
  const char* const name = r._class_name->as_klass_external_name();
  out->class_name = strings.add(r._hidden ? AntTracksInterface::hidden_form(name) : name);
  out->name = strings.add(r._name->as_utf8());
  out->signature = strings.add(r._signature->as_utf8());
  out->source_file = strings.add(r._source_file == NULL ? "" : r._source_file->as_utf8());
  return strings.result();
}
