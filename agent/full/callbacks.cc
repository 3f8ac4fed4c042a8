// SPDX-License-Identifier: Apache-2.0
#include "agent/full/callbacks.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace anttracks::core {
namespace {

// What the VM orders and ThreadSanitizer cannot see: a collection comes after what threads have done until its
// safepoint, and they go on after its end; what is said of one worker is said in turn. One thread's callback is
// not ordered after another one's.
#ifdef __SANITIZE_THREAD__
constexpr size_t kWorkers = 32;
char* Place(Session& session, size_t number) { return reinterpret_cast<char*>(&session) + 8 * number; }
void EndOfThreadsCallback(Session& session) { __tsan_release(Place(session, 0)); }
void BeginOfCollection(Session& session) {
  for (size_t i = 0; i <= kWorkers + 1; i++) __tsan_acquire(Place(session, i));
}
void EndOfCollection(Session& session) { __tsan_release(Place(session, 1)); }
void BeginOfThreadsCallback(Session& session) { __tsan_acquire(Place(session, 1)); }
void BeginOfWorkersCallback(Session& session, uint32_t worker) {
  __tsan_acquire(Place(session, 2 + worker % kWorkers));
}
void EndOfWorkersCallback(Session& session, uint32_t worker) {
  __tsan_release(Place(session, 2 + worker % kWorkers));
}
static_assert(sizeof(Session) > 8 * (kWorkers + 2));
#else
void EndOfThreadsCallback(Session&) {}
void BeginOfCollection(Session&) {}
void EndOfCollection(Session&) {}
void BeginOfThreadsCallback(Session&) {}
void BeginOfWorkersCallback(Session&, uint32_t) {}
void EndOfWorkersCallback(Session&, uint32_t) {}
#endif

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

// For what threads report, at or between safepoints.
template <class Call>
void InThread(void* context, Call&& call) noexcept {
  Session& session = *static_cast<Session*>(context);
  BeginOfThreadsCallback(session);
  Guarded(context, call);
  EndOfThreadsCallback(session);
}

// For what is said of one of the collector's workers, by it or for it.
template <class Call>
void OfWorker(void* context, uint32_t worker, Call&& call) noexcept {
  Session& session = *static_cast<Session*>(context);
  BeginOfWorkersCallback(session, worker);
  IfActive(context, call);
  EndOfWorkersCallback(session, worker);
}

void SyncBegin(void* context, const AntTracksSpace* spaces, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.FirstSyncBegin({spaces, count}); });
}
void SyncObjects(void* context, uint32_t space, const uint64_t* addresses, uint32_t count) noexcept {
  IfActive(context, [&](Session& s) { s.sync_points().FirstEden(space, {addresses, count}); });
}
void SyncEnd(void* context) noexcept {
  IfActive(context, [](Session& s) { s.sync_points().FirstEdenEnd(); });
}
void Tlab(void* context, void* thread, void** slot, uint64_t start, uint64_t top,
          int32_t at_safepoint) noexcept {
  Session& session = *static_cast<Session*>(context);
  if (!session.failure().active()) return;
  const Moment moment = at_safepoint != 0 ? Moment::kSafepoint : Moment::kRunning;
  if (moment == Moment::kSafepoint) BeginOfCollection(session);  // the VM thread may do it for the thread
  InThread(context, [&](Session& s) { s.mutators().Alloc(thread, slot, start, top, moment); });
  if (moment == Moment::kSafepoint) EndOfCollection(session);
}
void Object(void* context, void* thread, void** slot, uint64_t address) noexcept {
  if (!static_cast<Session*>(context)->failure().active()) return;
  InThread(context, [&](Session& s) { s.mutators().Object(thread, slot, address); });
}
void Stack(void* context, void* thread, void** slot, const AntTracksStack* stack) noexcept {
  if (!static_cast<Session*>(context)->failure().active()) return;
  InThread(context, [&](Session& s) { s.mutators().Stack(thread, slot, *stack); });
}
// Also when tracing is off: the slot's state must go.
void ThreadExit(void* context, void* thread, void** slot) noexcept {
  if (*slot == nullptr) return;
  InThread(context, [&](Session& s) { s.mutators().ThreadExit(thread, slot); });
}
// At the return objects move. If all went well nobody is where they do; if not, and when tracing is off, the
// agent has to leave the whole heap.
void GcBegin(void* context, const AntTracksGC* gc) noexcept {
  Session& session = *static_cast<Session*>(context);
  BeginOfCollection(session);
  session.exit_gate().CollectionBegins();
  IfActive(context, [&](Session& s) { s.collections().Begin(*gc); });
  if (!session.failure().active()) session.LeaveHeap();
}
void Moves(void* context, uint32_t worker, const AntTracksMove* moves, uint32_t count) noexcept {
  OfWorker(context, worker, [&](Session& s) { s.gc_events().Moves(worker, {moves, count}); });
}
void Slides(void* context, uint32_t worker, const AntTracksSlide* slides, uint32_t count) noexcept {
  OfWorker(context, worker, [&](Session& s) { s.gc_events().Slides(worker, {slides, count}); });
}
void Fillers(void* context, uint32_t worker, const AntTracksFiller* fillers, uint32_t count) noexcept {
  OfWorker(context, worker, [&](Session& s) { s.gc_events().Fillers(worker, {fillers, count}); });
}
void ClassUnload(void* context, uint64_t klass) noexcept {
  IfActive(context, [&](Session& s) { s.collections().ClassUnload(klass); });
}
// When tracing is off nobody else tells a walk that stands still.
void GcEnd(void* context, const AntTracksGC* gc) noexcept {
  Session& session = *static_cast<Session*>(context);
  BeginOfCollection(session);
  IfActive(context, [&](Session& s) { s.collections().End(*gc); });
  if (!session.failure().active()) session.LeaveHeap();
  session.exit_gate().CollectionEnds();
  EndOfCollection(session);
}

}  // namespace

AntTracksCallbacks MakeCallbacks(Session* session) {
  AntTracksCallbacks callbacks{};
  callbacks.size = sizeof callbacks;
  callbacks.version = ANTTRACKS_ABI_VERSION;
  callbacks.context = session;
  callbacks.gc_begin = GcBegin;
  callbacks.class_unload = ClassUnload;
  callbacks.gc_end = GcEnd;
  if (session->census() != nullptr) return callbacks;
  callbacks.sync_begin = SyncBegin;
  callbacks.sync_objects = SyncObjects;
  callbacks.sync_end = SyncEnd;
  callbacks.tlab = Tlab;
  callbacks.object = Object;
  callbacks.thread_exit = ThreadExit;
  callbacks.moves = Moves;
  callbacks.slides = Slides;
  callbacks.fillers = Fillers;
  callbacks.stretch_bytes = session->stretch_bytes();
  callbacks.stack = Stack;
  callbacks.stack_bytes = session->cost().stack_bytes();
  return callbacks;
}

}  // namespace anttracks::core
