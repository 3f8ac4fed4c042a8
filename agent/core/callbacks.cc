// SPDX-License-Identifier: Apache-2.0
#include "agent/core/callbacks.h"

namespace anttracks::core {
namespace {

template <class Call>
void Guarded(void* context, Call&& call) noexcept {
  Session& session = *static_cast<Session*>(context);
  session.failure().Guard([&] { call(session); });
}

template <class Call>
void IfActive(void* context, Call&& call) noexcept {
  if (!static_cast<Session*>(context)->failure().active()) return;
  Guarded(context, call);
}

void SyncBegin(void* context, const AntTracksSpace* spaces, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.SyncBegin({spaces, count}); });
}
void SyncObjects(void* context, uint32_t space, const uint64_t* addresses, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.SyncObjects(space, {addresses, count}); });
}
void SyncEnd(void* context) noexcept {
  IfActive(context, [](Session& s) { s.FirstSyncEnd(); });
}
void Tlab(void* context, void* thread, void** slot, uint64_t start, uint64_t top, int32_t at_safepoint) noexcept {
  IfActive(context, [&](Session& s) { s.Alloc(thread, slot, start, top, at_safepoint != 0); });
}
void Object(void* context, void* thread, void** slot, uint64_t address) noexcept {
  IfActive(context, [&](Session& s) { s.Object(thread, slot, address); });
}
// Also when tracing is off: the slot's state must go.
void ThreadExit(void* context, void* thread, void** slot) noexcept {
  if (*slot == nullptr) return;
  Guarded(context, [&](Session& s) { s.ThreadExit(thread, slot); });
}
// At the return objects move. If all went well nobody is where they do; if not, and when tracing is off, the agent has
// to leave the whole heap.
void GcBegin(void* context, const AntTracksGC* gc) noexcept {
  Session& session = *static_cast<Session*>(context);
  session.exit_gate().CollectionBegins();
  IfActive(context, [&](Session& s) { s.CollectionBegin(*gc); });
  if (!session.failure().active()) session.LeaveHeap();
}
void Moves(void* context, uint32_t worker, const AntTracksMove* moves, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.Moves(worker, {moves, count}); });
}
void Slides(void* context, uint32_t worker, const AntTracksSlide* slides, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.Slides(worker, {slides, count}); });
}
void Fillers(void* context, uint32_t worker, const AntTracksFiller* fillers, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.Fillers(worker, {fillers, count}); });
}
void ClassUnload(void* context, uint64_t klass) noexcept {
  IfActive(context, [&](Session& s) { s.ClassUnload(klass); });
}
void GcEnd(void* context, const AntTracksGC* gc) noexcept {
  IfActive(context, [&](Session& s) { s.CollectionEnd(*gc); });
  static_cast<Session*>(context)->exit_gate().CollectionEnds();
}

}  // namespace

AntTracksCallbacks MakeCallbacks(Session* session) {
  AntTracksCallbacks callbacks{};
  callbacks.size = sizeof callbacks;
  callbacks.version = ANTTRACKS_ABI_VERSION;
  callbacks.context = session;
  callbacks.sync_begin = SyncBegin;
  callbacks.sync_objects = SyncObjects;
  callbacks.sync_end = SyncEnd;
  callbacks.tlab = Tlab;
  callbacks.object = Object;
  callbacks.thread_exit = ThreadExit;
  callbacks.gc_begin = GcBegin;
  callbacks.moves = Moves;
  callbacks.slides = Slides;
  callbacks.fillers = Fillers;
  callbacks.class_unload = ClassUnload;
  callbacks.gc_end = GcEnd;
  callbacks.stretch_bytes = session->stretch_bytes();
  return callbacks;
}

}  // namespace anttracks::core
