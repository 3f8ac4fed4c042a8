/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksOwnHash.hpp"
#include "anttracks/antTracksSiteCache.hpp"
#include "anttracks/antTracksSiteList.hpp"
#include "anttracks/antTracksSiteTable.hpp"
#include "anttracks/antTracksSites.hpp"
#include "anttracks/antTracksThread.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "code/codeCache.hpp"
#include "code/debugInfoRec.hpp"
#include "code/nmethod.hpp"
#include "code/scopeDesc.hpp"
#include "compiler/compilerDefinitions.hpp"
#include "gc/shared/collectedHeap.hpp"
#include "interpreter/interpreter.hpp"
#include "memory/resourceArea.hpp"
#include "memory/universe.hpp"
#include "oops/method.hpp"
#include "runtime/atomic.hpp"
#include "runtime/frame.inline.hpp"
#include "runtime/registerMap.hpp"
#include "runtime/stubRoutines.hpp"
#include ANTTRACKS_THREAD_HPP
#if ANTTRACKS_HAS_CONTINUATIONS
#include "runtime/continuation.hpp"
#endif

volatile uint AntTracksSites::_epoch = 0;

namespace {

uint32_t tier_of(int comp_level) {
  return is_c2_compile(comp_level) ? ANTTRACKS_TIER_C2 : ANTTRACKS_TIER_C1;
}

uint32_t site_of_scope(ScopeDesc* scope, uint32_t tier, uint32_t flags) {
  ScopeDesc* const sender = scope->sender();
  const uint32_t caller = sender == NULL ? 0 : site_of_scope(sender, tier, 0);
  return AntTracksSiteTable::site(scope->method(), scope->bci(), caller, tier, flags);
}

// The code address that stands for the frame's position.
address code_of(const frame& fr) {
  return fr.is_interpreted_frame() ? fr.interpreter_frame_bcp() : fr.pc();
}

// fr is an interpreted or compiled frame of a method that is not native.
uint32_t make_site(const frame& fr, uint32_t flags) {
  if (fr.is_interpreted_frame()) {
    return AntTracksSiteTable::site(fr.interpreter_frame_method(), fr.interpreter_frame_bci(), 0,
                                    ANTTRACKS_TIER_INTERPRETER, flags);
  }
  ResourceMark rm;
  nmethod* const nm = fr.cb()->as_nmethod();
  ScopeDesc* const scope = nm->scope_desc_at(fr.pc());
  const uint32_t tier = tier_of(nm->comp_level());
  return scope == NULL ? AntTracksSiteTable::site(nm->method(), 0, 0, tier, flags) : site_of_scope(scope, tier, flags);
}

uint32_t site_of_frame(const frame& fr, uint32_t flags) {
  if (flags != 0) return make_site(fr, flags);
  const address code = code_of(fr);
  uint32_t site = AntTracksSiteCache::get(code);
  if (site == 0) {
    site = make_site(fr, 0);
    // The interpreter's fast path, which reads the cache, must not make an object that is to be made old.
    const bool slow = AntTracksSiteList::at_allocation() && AntTracksSiteList::has(site);
    if (!fr.is_interpreted_frame() || !slow) AntTracksSiteCache::put(code, site);
  }
  return site;
}

Method* native_method_of(const frame& fr) {
  Method* const m = fr.is_interpreted_frame() ? fr.interpreter_frame_method()
                                              : fr.cb()->as_nmethod()->method();
  return m->is_native() ? m : NULL;
}

// Moves fr to the youngest Java frame, starting with fr itself; wrappers of native methods count. False: there is none.
bool find_java_frame(frame* fr, RegisterMap* map) {
  while (!fr->is_java_frame() && !fr->is_native_frame()) {
    if (fr->is_first_frame()) return false;
    *fr = fr->sender(map);
  }
  return true;
}

#if ANTTRACKS_HAS_CONTINUATIONS
// Where the frames of a virtual thread end, and those of its carrier begin.
bool is_mount(const frame& fr) { return Continuation::is_continuation_enterSpecial(fr); }
// Whether the frame's caller, of a virtual thread, was left in the heap for the time being.
bool caller_is_frozen(const frame& fr) { return Continuation::is_cont_barrier_frame(fr); }
#else
bool is_mount(const frame&) { return false; }
bool caller_is_frozen(const frame&) { return false; }
#endif

// Where a native method was called from.
struct NativeCaller {
  address  _code;  // bcp or pc; NULL: there is no native method, or nobody has called it
  uint32_t _site;  // 0: it was no Java method
};

// The site of a Java frame, or of a native method's wrapper. fr becomes the outermost frame that the site includes.
uint32_t site_and_last_frame(frame* fr, RegisterMap* map, uint32_t flags, NativeCaller* caller) {
  caller->_code = NULL;
  caller->_site = 0;
  Method* const native = native_method_of(*fr);
  if (native == NULL) return site_of_frame(*fr, flags);
  if (!fr->is_first_frame()) {
    const frame sender = fr->sender(map);
    caller->_code = sender.pc();
    if (sender.is_java_frame() && native_method_of(sender) == NULL) {
      caller->_code = code_of(sender);
      caller->_site = site_of_frame(sender, 0);
      *fr = sender;
    }
  }
  return AntTracksSiteTable::site(native, -1, caller->_site, ANTTRACKS_TIER_NATIVE, flags);
}

// The general way, for any stack.
uint32_t walk_to_site(JavaThread* thread, uint32_t flags, NativeCaller* caller) {
  caller->_code = NULL;
  ANTTRACKS_REGISTER_MAP(map, thread);
  frame fr = thread->last_frame();
  return find_java_frame(&fr, &map) ? site_and_last_frame(&fr, &map, flags, caller) : (uint32_t)ANTTRACKS_SITE_VM;
}

// The entry for a return address. Stubs are aligned, so that their addresses have most of their low bits in common.
AntTracksCallers::Blob* blob_of(AntTracksCallers* callers, address pc) {
  const uint64_t hash = (uint64_t)pc * UCONST64(0x9E3779B97F4A7C15);
  return &callers->_blobs[(hash >> 32) % AntTracksCallers::blobs];
}

void remember(AntTracksCallers::Blob* blob, address pc) {
  CodeBlob* const cb = CodeCache::find_blob(pc);
  blob->_pc = pc;
  blob->_frame_words = cb == NULL ? 0 : cb->frame_size();
  const bool native = cb != NULL && cb->is_nmethod() && cb->as_nmethod()->is_native_method();
  // Stubs stay for ever but for those that call native code by a method handle.
  const bool stub = cb != NULL && cb->is_runtime_stub() && strcmp(cb->name(), "nep_invoker_blob") != 0;
  blob->_native = native ? cb->as_nmethod()->method() : NULL;
  blob->_kind = stub ? AntTracksCallers::runtime_stub
              : native ? AntTracksCallers::native_wrapper
              : AntTracksCallers::none;
}

uint32_t walk_to_site(JavaThread* thread, uint32_t flags = 0) {
  NativeCaller caller;
  return walk_to_site(thread, flags, &caller);
}

// The site of a native method whose frame ends at sender_sp. It depends on nothing but the method and its caller's
// site, and the latter is in the cache of sites: a walk is needed only for a caller that the cache does not know. A
// caller that is remembered is still the same code if the cache has the same site for it, as the cache forgets code that
// is freed. Only the call stub, which nobody frees, is in no cache.
uint32_t site_of_native(JavaThread* thread, AntTracksCallers* callers, Method* native, intptr_t* sender_sp) {
  const address return_pc = (address)sender_sp[-1];
  const address code = Interpreter::contains(return_pc)
      ? (address)((intptr_t*)sender_sp[-frame::sender_sp_offset])[frame::interpreter_frame_bcp_offset] : return_pc;
  AntTracksCallers::Native* const known = callers->native_of(native, code);
  if (known == NULL) return walk_to_site(thread);
  const uint32_t caller_site = AntTracksSiteCache::get(code);
  if (known->_native == native && known->_caller == code && known->_caller_site == caller_site) return known->_site;
  if (caller_site != 0) {
    return known->set(native, code, caller_site, AntTracksSiteTable::site(native, -1, caller_site, ANTTRACKS_TIER_NATIVE));
  }
  NativeCaller caller;
  const uint32_t site = walk_to_site(thread, 0, &caller);
  if (caller._code == code && (caller._site != 0 || StubRoutines::returns_to_call_stub(return_pc))) {
    known->set(native, code, caller._site, site);
  }
  return site;
}

// Where the thread left Java code. Compiled code that calls the runtime stores only its stack pointer.
address last_pc(JavaThread* thread) {
  const address pc = thread->last_Java_pc();
  return pc != NULL ? pc : (address)thread->last_Java_sp()[-1];
}

uint32_t site_in_interpreter(JavaThread* thread, AntTracksCallers* callers) {
  intptr_t* const fp = thread->frame_anchor()->last_Java_fp();
  Method* const method = (Method*)fp[frame::interpreter_frame_method_offset];
  if (method->is_native()) return site_of_native(thread, callers, method, fp + frame::sender_sp_offset);
  const uint32_t site = AntTracksSiteCache::get((address)fp[frame::interpreter_frame_bcp_offset]);
  return site != 0 ? site : walk_to_site(thread);
}

}  // namespace

// The site of the youngest Java frame. Most allocations come from few places: this looks at the top of the stack as it
// is, and walks only if that place is new. A return address that deoptimization has patched is in no cache.
uint32_t AntTracksSites::current(JavaThread* thread) {
  AntTracksThreadState* const state = thread->anttracks();
  const frame* const deoptimized = AntTracksRematerialization::frame_at(state->_rematerialization, thread->last_Java_sp());
  if (deoptimized != NULL) return make_site(*deoptimized, ANTTRACKS_SITE_REMATERIALIZED);
  if (!thread->has_last_Java_frame()) return ANTTRACKS_SITE_VM;
  AntTracksCallers* const callers = &state->_callers;
  const uint epoch = Atomic::load(&_epoch);
  if (callers->_epoch != epoch) callers->clear(epoch);
  const address pc = last_pc(thread);
  AntTracksCallers::Blob* const blob = blob_of(callers, pc);
  if (blob->_pc != pc) {
    if (Interpreter::contains(pc)) return site_in_interpreter(thread, callers);
    remember(blob, pc);
  }
  if (blob->_kind == AntTracksCallers::none) return walk_to_site(thread);
  intptr_t* const sender_sp = thread->last_Java_sp() + blob->_frame_words;
  if (blob->_kind == AntTracksCallers::native_wrapper) return site_of_native(thread, callers, blob->_native, sender_sp);
  const uint32_t site = AntTracksSiteCache::get((address)sender_sp[-1]);
  return site != 0 ? site : walk_to_site(thread);
}

uint32_t AntTracksSites::stack(JavaThread* thread, uint32_t* sites) {
  uint32_t count = 0;
  const frame* const deoptimized =
      AntTracksRematerialization::frame_at(thread->anttracks()->_rematerialization, thread->last_Java_sp());
  if (deoptimized != NULL && !thread->is_in_full_stack((address)deoptimized->sp())) {
    // The frame of another thread, and so are its callers.
    sites[count++] = make_site(*deoptimized, ANTTRACKS_SITE_REMATERIALIZED);
    sites[count++] = ANTTRACKS_SITE_NONE;
  } else if (thread->has_last_Java_frame()) {
    uint32_t flags = deoptimized != NULL ? ANTTRACKS_SITE_REMATERIALIZED : 0;
    NativeCaller caller;
    ANTTRACKS_REGISTER_MAP(map, thread);
    bool cut = false;
    frame fr = deoptimized != NULL ? *deoptimized : thread->last_frame();
    for (; find_java_frame(&fr, &map) && !is_mount(fr); fr = fr.sender(&map)) {
      if ((cut = count == ANTTRACKS_MOST_FRAMES)) break;
      sites[count++] = site_and_last_frame(&fr, &map, flags, &caller);
      flags = 0;
      if (fr.is_first_frame()) break;
      if ((cut = caller_is_frozen(fr))) break;
    }
    if (cut) sites[count++] = ANTTRACKS_SITE_NONE;
  }
  if (count == 0) sites[count++] = ANTTRACKS_SITE_VM;
  return count;
}

// The site of the arrays of arrays that the thread is allocating; 0: it is not, or Java code runs meanwhile.
inline uint32_t AntTracksMultiArray::site_at(const AntTracksMultiArray* arrays, const intptr_t* sp) {
  return arrays != NULL && arrays->_sp == sp ? arrays->_site : 0;
}

uint32_t AntTracksSites::of_next_object(JavaThread* thread) {
  const uint32_t site = AntTracksMultiArray::site_at(thread->anttracks()->_multi_array, thread->last_Java_sp());
  return site != 0 ? site : current(thread);
}

// These two are no part of runtime_mark, so that its short ways save no registers for them.
NOINLINE markWord AntTracksSites::mark_by_vm(HeapWord* mem) {
  return AntTracksMark::has_sites() ? AntTracksMark::new_mark(ANTTRACKS_SITE_VM, mem, false) : markWord::prototype();
}

NOINLINE markWord AntTracksSites::mark_by_stack(JavaThread* thread, HeapWord* mem, const Klass* klass) {
  return AntTracksMark::new_mark(of_next_object(thread), mem, AntTracksOwnHash::eliminates(klass));
}

markWord AntTracksSites::runtime_mark(Thread* thread, HeapWord* mem, const Klass* klass) {
  const AntTracksThreadState* const state = thread->anttracks();
  if (state == NULL) return mark_by_vm(mem);  // of a thread of the VM
  if (!state->_has_sites) return markWord::prototype();
  // The filler that retires a TLAB begins at its top, where no object can: one inside lies below top, one outside
  // after the TLAB's reserve, which with compact headers there may be none of.
  if (mem == thread->tlab().top() && (!ANTTRACKS_COMPACT_HEADERS || ANTTRACKS_IS_FILLER_CLASS(klass))) {
    return AntTracksMark::with_site(ANTTRACKS_SITE_FILLER);
  }
  JavaThread* const jt = ANTTRACKS_JAVA_THREAD(thread);
  const uint32_t site = AntTracksMultiArray::site_at(state->_multi_array, jt->last_Java_sp());
  if (site == 0 || AntTracksMark::eliminates()) return mark_by_stack(jt, mem, klass);
  return AntTracksMark::new_mark(site, mem, false);
}

void AntTracksSites::forget_nmethod(nmethod* nm) {
  if (!AntTracksMark::has_sites()) return;
  AntTracksSiteCache::forget(nm->code_begin(), nm->code_end());
  // A native method's wrapper: up to 17 it has no method any more.
  if (nm->comp_level() == CompLevel_none) Atomic::inc(&_epoch);
}

void AntTracksSites::forget_method(Method* method) {
  if (!AntTracksMark::has_sites() || method->constMethod() == NULL) return;
  AntTracksSiteCache::forget(method->code_base(), method->code_base() + method->code_size());
  Atomic::inc(&_epoch);
  AntTracksSiteTable::forget_method(method);
}

void AntTracksSites::forget_unloading() {
  if (!AntTracksMark::has_sites()) return;
  Atomic::inc(&_epoch);
  AntTracksSiteTable::forget_unloading();
}

AntTracksMultiArray::AntTracksMultiArray(JavaThread* thread)
    : _state(thread->anttracks()), _outer(_state->_multi_array), _sp(thread->last_Java_sp()),
      _site(_state->_has_sites ? AntTracksSites::of_next_object(thread) : 0) {
  _state->_multi_array = this;
}
