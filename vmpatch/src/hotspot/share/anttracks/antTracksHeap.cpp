/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksG1Regions.hpp"
#include "anttracks/antTracksHeap.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/g1/g1CollectedHeap.inline.hpp"
#include "gc/g1/g1Policy.hpp"
#include "gc/g1/g1VMOperations.hpp"
#include ANTTRACKS_REGION_INLINE_HPP
#include "gc/parallel/parallelScavengeHeap.inline.hpp"
#include "gc/parallel/psOldGen.hpp"
#include "gc/parallel/psYoungGen.hpp"
#include "gc/serial/defNewGeneration.hpp"
#include "gc/serial/serialHeap.hpp"
#include "gc/serial/tenuredGeneration.inline.hpp"
#include ANTTRACKS_SERIAL_OPERATIONS_HPP
#include "gc/shared/gcVMOperations.hpp"
#include "memory/iterator.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/vmThread.hpp"

namespace {

template <class Space>
void add(AntTracksSpaces* out, uint32_t kind, uint32_t collected, const Space* space) {
  out->add(kind, collected, space->bottom(), space->top(), space->end());
}

// Hands the objects of eden to the agent in batches.
class EdenClosure : public ObjectClosure {
  const AntTracksCallbacks& _callbacks;
  uint32_t _space;
  uint32_t _length;
  uint64_t _addresses[1024];

  void flush() {
    if (_length > 0) _callbacks.sync_objects(_callbacks.context, _space, _addresses, _length);
    _length = 0;
  }
 public:
  EdenClosure(const AntTracksCallbacks& callbacks) : _callbacks(callbacks), _space(0), _length(0) {}
  ~EdenClosure() { flush(); }
  void in_space(uint32_t space) {
    if (space != _space) flush();
    _space = space;
  }
  virtual void do_object(oop obj) {
    if (AntTracksMark::is_filler(obj->mark())) return;
    if (_length == ARRAY_SIZE(_addresses)) flush();
    _addresses[_length++] = cast_from_oop<uint64_t>(obj);
  }
};

class EdenRegionClosure : public ANTTRACKS_REGION_CLOSURE {
  const AntTracksSpaces& _spaces;
  EdenClosure* const _objects;
  uint32_t _at;
 public:
  EdenRegionClosure(const AntTracksSpaces& spaces, EdenClosure* objects) : _spaces(spaces), _objects(objects), _at(0) {}
  virtual bool do_heap_region(ANTTRACKS_REGION* region) {
    if (!region->is_eden()) return false;
    _objects->in_space(_spaces.find((uint64_t)region->bottom(), &_at));
    region->object_iterate(_objects);
    return false;
  }
};

// A young collection that the agent requests, with the Parallel collector.
class VM_AntTracksCollect : public VM_GC_Operation {
 public:
  VM_AntTracksCollect(uint collections) : VM_GC_Operation(collections, GCCause::_jvmti_force_gc) {}
  virtual VMOp_Type type() const { return VMOp_AntTracksCollect; }
  virtual void doit() {
    ANTTRACKS_PARALLEL_YOUNG_MARKER(marker);
    GCCauseSetter cause(Universe::heap(), _gc_cause);
    ANTTRACKS_PARALLEL_COLLECT_YOUNG();
  }
};

}  // namespace

void AntTracksHeap::describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind) {
  const bool begin = moment == AntTracksSpaces::at_gc_begin;
  const uint32_t in_any_gc = begin ? ANTTRACKS_COLLECTED : ANTTRACKS_NOT_COLLECTED;
  const uint32_t in_full_gc = begin && gc_kind == ANTTRACKS_GC_FULL ? ANTTRACKS_COLLECTED : ANTTRACKS_NOT_COLLECTED;
  if (UseG1GC) {
    AntTracksG1Regions::describe(out, moment, gc_kind);
  } else if (UseSerialGC) {
    SerialHeap* const heap = SerialHeap::heap();
    add(out, ANTTRACKS_SPACE_EDEN, in_any_gc, heap->young_gen()->eden());
    add(out, ANTTRACKS_SPACE_SURVIVOR, in_any_gc, heap->young_gen()->from());
    add(out, ANTTRACKS_SPACE_SURVIVOR, in_full_gc, heap->young_gen()->to());
    add(out, ANTTRACKS_SPACE_OLD, in_full_gc, ANTTRACKS_SERIAL_OLD_SPACE(heap));
  } else {
    ParallelScavengeHeap* const heap = ParallelScavengeHeap::heap();
    add(out, ANTTRACKS_SPACE_EDEN, in_any_gc, heap->young_gen()->eden_space());
    add(out, ANTTRACKS_SPACE_SURVIVOR, in_any_gc, heap->young_gen()->from_space());
    add(out, ANTTRACKS_SPACE_SURVIVOR, in_full_gc, heap->young_gen()->to_space());
    add(out, ANTTRACKS_SPACE_OLD, in_full_gc, heap->old_gen()->object_space());
  }
}

void AntTracksHeap::walk_eden(const AntTracksCallbacks& callbacks, const AntTracksSpaces& spaces) {
  EdenClosure objects(callbacks);
  if (UseG1GC) {
    EdenRegionClosure regions(spaces, &objects);
    G1CollectedHeap::heap()->heap_region_iterate(&regions);
    return;
  }
  for (uint32_t i = 0; i < spaces.count(); i++) {
    const AntTracksSpace& space = spaces.data()[i];
    if (space.kind != ANTTRACKS_SPACE_EDEN) continue;
    objects.in_space(i);
    for (HeapWord* at = (HeapWord*)space.bottom; at < (HeapWord*)space.top; at += cast_to_oop(at)->size()) {
      objects.do_object(cast_to_oop(at));
    }
  }
}

MemRegion AntTracksHeap::reserved() {
  if (UseG1GC) return G1CollectedHeap::heap()->reserved();
  return UseSerialGC ? ANTTRACKS_SERIAL_RESERVED(SerialHeap::heap()) : ParallelScavengeHeap::heap()->reserved_region();
}

bool AntTracksHeap::collect_young() {
  const GCCause::Cause cause = GCCause::_jvmti_force_gc;
  uint collections, full_collections;
  {
    MutexLocker ml(Heap_lock);
    collections = Universe::heap()->total_collections();
    full_collections = Universe::heap()->total_full_collections();
  }
  if (UseG1GC) {
    ANTTRACKS_G1_COLLECT(op, collections, cause);
    VMThread::execute(&op);
    return op.gc_succeeded();
  }
  if (UseSerialGC) {
    ANTTRACKS_SERIAL_COLLECT_YOUNG(op, collections, full_collections, cause);
    VMThread::execute(&op);
  } else {
    VM_AntTracksCollect op(collections);
    VMThread::execute(&op);
  }
  return Universe::heap()->total_collections() != collections;
}
