/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSVERSION_HPP
#define SHARE_ANTTRACKS_ANTTRACKSVERSION_HPP

// The JDK whose HotSpot these files are compiled in, found by headers that only some have, and what has another name
// there, or is done in another way. Only this file asks for ANTTRACKS_JDK: the others ask for what there is.
#if __has_include("gc/shared/fullGCForwarding.hpp")
#define ANTTRACKS_JDK 25
#elif __has_include("runtime/javaThread.hpp")
#define ANTTRACKS_JDK 21
#else
#define ANTTRACKS_JDK 17
#endif

// Where the identity hash begins in a mark.
#if ANTTRACKS_JDK >= 25
#define ANTTRACKS_HASH_SHIFT 11
#else
#define ANTTRACKS_HASH_SHIFT 8
#endif

#if ANTTRACKS_JDK >= 21

// Headers that have JavaThread, and WorkerThread.
#define ANTTRACKS_THREAD_HPP        "runtime/javaThread.hpp"
#define ANTTRACKS_THREAD_INLINE_HPP "runtime/javaThread.inline.hpp"
#define ANTTRACKS_WORKER_HPP        "gc/shared/workerThread.hpp"
#define ANTTRACKS_JAVA_THREAD(thread) JavaThread::cast(thread)
#define ANTTRACKS_THREAD_NAME(java_thread) (java_thread)->name()
// The number of the current thread, which is such a worker.
#define ANTTRACKS_WORKER_ID(worker_thread) WorkerThread::worker_id()
#define ANTTRACKS_MUTEX PlatformMutex
// Virtual threads, whose frames may lie in the heap.
#define ANTTRACKS_HAS_CONTINUATIONS 1
// Several of G1's workers retire TLABs at once.
#define ANTTRACKS_WORKERS_RETIRE_TLABS true
// A map that is not updated, of frames that lie on the thread's stack.
#define ANTTRACKS_REGISTER_MAP(name, thread) \
  RegisterMap name(thread, RegisterMap::UpdateMap::skip, RegisterMap::ProcessFrames::include, \
                   RegisterMap::WalkContinuation::skip)
#define ANTTRACKS_HASHTABLE(K, V, size, hash, equals) \
  ResourceHashtable<K, V, size, AnyObj::C_HEAP, mtServiceability, hash, equals>

// Locking. A mark has the header of the locked object itself, or the address of the owner's copy.
#define ANTTRACKS_BIASED_LOCKING false
#define ANTTRACKS_IS_BIASED(mark) false
#define ANTTRACKS_IS_STACK_LOCKED(mark) (LockingMode == LM_LEGACY && (mark).has_locker())

// Instances have different sizes.
#define ANTTRACKS_IS_VARIABLE_SIZE(instance_klass) \
  ((instance_klass)->is_mirror_instance_klass() || (instance_klass)->is_stack_chunk_instance_klass())
// Of an exact TypeKlassPtr; may be NULL.
#define ANTTRACKS_EXACT_KLASS(type) (type)->exact_klass(true)

#if ANTTRACKS_JDK >= 25

// The class lies in the mark, above the identity hash. Then a site can lie in the hash only (scheme ash).
#define ANTTRACKS_COMPACT_HEADERS UseCompactObjectHeaders
// How far it lies to the left in the 4 bytes at oopDesc::klass_offset_in_bytes().
#define ANTTRACKS_KLASS_SHIFT (UseCompactObjectHeaders ? markWord::klass_shift_at_offset : 0)
// The class of objects that make dead space parsable. Fillers made before the class FillerObject is loaded are of class
// Object and not known by this; they lie beside the archive's objects and stay as long.
#define ANTTRACKS_IS_FILLER_CLASS(klass) \
  ((klass) == Universe::fillerArrayKlass() || (klass) == CollectedHeap::filler_object_klass())
// The header of the locked object is in the mark itself: of a monitor, too, if those are in a table.
#define ANTTRACKS_HEADER_STAYS(mark) \
  ((LockingMode == LM_LIGHTWEIGHT && (mark).is_fast_locked()) || (UseObjectMonitorTable && (mark).has_monitor()))
#define ANTTRACKS_MONITOR_HEADER(monitor) (monitor)->metadata_addr()
// Parallel's full collection keeps forwarding pointers in marks, as Serial's and G1's do.
#define ANTTRACKS_PARALLEL_FORWARDS true
// What helps, beside a smaller heap, where the heap is too large for the others' full collection.
#define ANTTRACKS_OR_PARALLEL ""
#define ANTTRACKS_LARGEST_FORWARDING_HEAP "4 TB"
// What MaxHeapSize may become, apart from its alignment, after the first thread has asked for it.
#define ANTTRACKS_MOST_HEAP MaxHeapSize

#define ANTTRACKS_REGION G1HeapRegion
#define ANTTRACKS_REGION_CLOSURE G1HeapRegionClosure
#define ANTTRACKS_REGION_INLINE_HPP "gc/g1/g1HeapRegion.inline.hpp"
#define ANTTRACKS_MAX_REGIONS(heap) (heap)->max_num_regions()

#define ANTTRACKS_SERIAL_OPERATIONS_HPP "gc/serial/serialVMOperations.hpp"
#define ANTTRACKS_SERIAL_OLD_SPACE(heap) (heap)->old_gen()->space()
// The young generation lies below the old one.
#define ANTTRACKS_SERIAL_RESERVED(heap) (heap)->young_gen()->reserved()._union((heap)->old_gen()->reserved())
#define ANTTRACKS_SERIAL_ALLOCATE_OLD(words) SerialHeap::heap()->old_gen()->allocate(words)
#define ANTTRACKS_SERIAL_COLLECT_YOUNG(name, collections, full_collections, cause) \
  VM_SerialGCCollect name(false, collections, full_collections, cause)
#define ANTTRACKS_PARALLEL_COLLECT_YOUNG() ParallelScavengeHeap::heap()->collect_at_safepoint(false)
// A declaration that an operation of ours needs for a young collection of Parallel; here the collection has one itself.
#define ANTTRACKS_PARALLEL_YOUNG_MARKER(name) static_assert(true, "")
#define ANTTRACKS_SAMPLE_OUTSIDE_TLAB(thread, bytes) (thread)->heap_sampler().inc_outside_tlab_bytes(bytes)
// Whether the young collection that begins takes old regions, too.
#define ANTTRACKS_G1_TAKES_OLD_REGIONS(heap) (!(heap)->collection_set()->only_contains_young_regions())
// The stock VM's mark of a new object of that class: with compact headers it has the class.
#define ANTTRACKS_PROTOTYPE(obj) (obj)->prototype_mark()

#else

#define ANTTRACKS_HEADER_STAYS(mark) (LockingMode == LM_LIGHTWEIGHT && (mark).is_fast_locked())

#endif // ANTTRACKS_JDK >= 25

// G1. Archived objects lie in old regions. Below a region's parsable bottom only the bitmap of marks knows what is an object.
#define ANTTRACKS_HAS_PARSABLE_BOTTOM 1
#define ANTTRACKS_IS_ARCHIVE(region) false
#define ANTTRACKS_IS_CLOSED_ARCHIVE(region) false
#define ANTTRACKS_IS_HUMONGOUS_CANDIDATE(attr) (attr).is_humongous_candidate()
#define ANTTRACKS_G1_COLLECT(name, collections, cause) VM_G1CollectForAllocation name(0, collections, cause)

#else

#define ANTTRACKS_THREAD_HPP        "runtime/thread.hpp"
#define ANTTRACKS_THREAD_INLINE_HPP "runtime/thread.inline.hpp"
#define ANTTRACKS_WORKER_HPP        "runtime/nonJavaThread.hpp"
#define ANTTRACKS_JAVA_THREAD(thread) (thread)->as_Java_thread()
#define ANTTRACKS_THREAD_NAME(java_thread) (java_thread)->get_thread_name()
#define ANTTRACKS_WORKER_ID(worker_thread) WorkerThread::cast(worker_thread)->id()
#define ANTTRACKS_MUTEX os::PlatformMutex
#define ANTTRACKS_HAS_CONTINUATIONS 0
#define ANTTRACKS_WORKERS_RETIRE_TLABS false
#define ANTTRACKS_REGISTER_MAP(name, thread) RegisterMap name(thread, false)
#define ANTTRACKS_HASHTABLE(K, V, size, hash, equals) \
  ResourceHashtable<K, V, hash, equals, size, ResourceObj::C_HEAP, mtServiceability>

#define ANTTRACKS_BIASED_LOCKING UseBiasedLocking
#define ANTTRACKS_IS_BIASED(mark) (UseBiasedLocking && (mark).has_bias_pattern())
#define ANTTRACKS_HEADER_STAYS(mark) false
#define ANTTRACKS_IS_STACK_LOCKED(mark) (mark).has_locker()

#define ANTTRACKS_IS_VARIABLE_SIZE(instance_klass) (instance_klass)->is_mirror_instance_klass()
#define ANTTRACKS_EXACT_KLASS(type) (type)->klass()

#define ANTTRACKS_HAS_PARSABLE_BOTTOM 0
#define ANTTRACKS_IS_ARCHIVE(region) (region)->is_archive()
#define ANTTRACKS_IS_CLOSED_ARCHIVE(region) (region)->is_closed_archive()
#define ANTTRACKS_IS_HUMONGOUS_CANDIDATE(attr) (attr).is_humongous()
#define ANTTRACKS_G1_COLLECT(name, collections, cause) \
  VM_G1CollectForAllocation name(0, collections, cause, G1CollectedHeap::heap()->policy()->max_pause_time_ms())

#endif // ANTTRACKS_JDK >= 21

#if ANTTRACKS_JDK < 25

#define ANTTRACKS_COMPACT_HEADERS false
#define ANTTRACKS_KLASS_SHIFT 0
#define ANTTRACKS_IS_FILLER_CLASS(klass) false
#define ANTTRACKS_MONITOR_HEADER(monitor) (monitor)->header_addr()
#define ANTTRACKS_PARALLEL_FORWARDS false
#define ANTTRACKS_OR_PARALLEL ", or -XX:+UseParallelGC"
#define ANTTRACKS_LARGEST_FORWARDING_HEAP "512 GB"
// (-XX:OldSize; with -Xmx the generations give way.)
#define ANTTRACKS_MOST_HEAP \
  (UseSerialGC && !FLAG_IS_CMDLINE(MaxHeapSize) ? MAX2(MaxHeapSize, NewSize + OldSize) : MaxHeapSize)

#define ANTTRACKS_REGION HeapRegion
#define ANTTRACKS_REGION_CLOSURE HeapRegionClosure
#define ANTTRACKS_REGION_INLINE_HPP "gc/g1/heapRegion.inline.hpp"
#define ANTTRACKS_MAX_REGIONS(heap) (heap)->max_regions()

#define ANTTRACKS_SERIAL_OPERATIONS_HPP "gc/shared/gcVMOperations.hpp"
#define ANTTRACKS_SERIAL_OLD_SPACE(heap) (ContiguousSpace*)(heap)->old_gen()->first_compaction_space()
#define ANTTRACKS_SERIAL_RESERVED(heap) (heap)->reserved_region()
#define ANTTRACKS_SERIAL_ALLOCATE_OLD(words) SerialHeap::heap()->old_gen()->allocate(words, false)
#define ANTTRACKS_SERIAL_COLLECT_YOUNG(name, collections, full_collections, cause) \
  VM_GenCollectFull name(collections, full_collections, cause, GenCollectedHeap::YoungGen)
#define ANTTRACKS_PARALLEL_COLLECT_YOUNG() ParallelScavengeHeap::heap()->invoke_scavenge()
#define ANTTRACKS_PARALLEL_YOUNG_MARKER(name) SvcGCMarker name(SvcGCMarker::MINOR)
#define ANTTRACKS_SAMPLE_OUTSIDE_TLAB(thread, bytes) ((void)0)
#define ANTTRACKS_G1_TAKES_OLD_REGIONS(heap) (heap)->collector_state()->in_mixed_phase()
#define ANTTRACKS_PROTOTYPE(obj) markWord::prototype()

#endif // ANTTRACKS_JDK < 25

#endif // SHARE_ANTTRACKS_ANTTRACKSVERSION_HPP
