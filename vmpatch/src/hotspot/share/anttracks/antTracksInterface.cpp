/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracks.hpp"
#include "anttracks/antTracksG1Regions.hpp"
#include "anttracks/antTracksHeap.hpp"
#include "anttracks/antTracksInterface.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksRecording.hpp"
#include "anttracks/antTracksSiteTable.hpp"
#include "anttracks/antTracksText.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "classfile/classLoaderData.inline.hpp"
#include "classfile/javaClasses.inline.hpp"
#include "memory/resourceArea.hpp"
#include "oops/arrayOop.hpp"
#include "oops/fieldStreams.inline.hpp"
#include "oops/compressedOops.inline.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/init.hpp"
#include "runtime/interfaceSupport.inline.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/objectMonitor.inline.hpp"
#include "runtime/orderAccess.hpp"
#include "runtime/osThread.hpp"
#include "runtime/safefetch.hpp"
#include "runtime/synchronizer.hpp"
#include ANTTRACKS_THREAD_INLINE_HPP
#include "runtime/vmOperations.hpp"
#include "runtime/vmThread.hpp"

namespace {

AntTracksVM the_vm;

// Starts or stops recording at a safepoint.
class VM_AntTracks : public VM_Operation {
  const AntTracksCallbacks* const _callbacks;  // NULL: stop
  int32_t _result;
 public:
  VM_AntTracks(const AntTracksCallbacks* callbacks) : _callbacks(callbacks), _result(0) {}
  virtual VMOp_Type type() const { return VMOp_AntTracks; }
  virtual void doit() { _result = _callbacks != NULL ? AntTracks::start(*_callbacks) : AntTracks::stop(); }
  int32_t result() const { return _result; }
};

int32_t execute(const AntTracksCallbacks* callbacks) {
  JavaThread* const thread = JavaThread::current();
  ThreadInVMfromNative in_vm(thread);
  VM_AntTracks op(callbacks);
  MutexLocker ml(Heap_lock);
  VMThread::execute(&op);
  return op.result();
}

int32_t start(const AntTracksCallbacks* callbacks) {
  if (callbacks == NULL || callbacks->version != ANTTRACKS_ABI_VERSION || callbacks->size < sizeof(*callbacks)) return -2;
  if (the_vm.unsupported != NULL) return -3;
  return execute(callbacks);
}

int32_t stop() {
  return execute(NULL);
}

int32_t collect() {
  ThreadInVMfromNative in_vm(JavaThread::current());
  return AntTracksHeap::collect_young() ? 0 : -1;
}

// The header of an object that is locked without a monitor lies on its owner's stack. Unless the owner is the current
// thread, or stopped, it may unlock the object and lock another one in the same place before the header is read. A
// thread in the VM gives such an object a monitor. A thread in native state, which lists spaces while the program runs,
// must not; it looks several times instead: to mislead it, the owner would have to alternate between two objects in
// step with it.
bool is_stable(const Thread* thread, markWord mark) {
  if (thread->is_Java_thread()) return ANTTRACKS_JAVA_THREAD(thread)->is_lock_owned((address)mark.locker());
  return SafepointSynchronize::is_at_safepoint();
}

markWord locked_header(oop obj, markWord mark) {
  const int looks = 4;
  const markWord first(SafeFetchN((intptr_t*)mark.locker(), 0));
  for (int i = 0; i < looks; i++) {
    OrderAccess::loadload();
    if (obj->mark_acquire() != mark || SafeFetchN((intptr_t*)mark.locker(), 0) != (intptr_t)first.value()) return markWord(0);
  }
  OrderAccess::loadload();
  return obj->mark_acquire() == mark ? first : markWord(0);
}

// Threads that do not stop at safepoints may meet marks that a heap walk of JVM TI has set for its duration. Some of them
// (the agent's own) are unknown to the VM: those neither wait nor read stacks. The VM's own threads do not wait at a
// safepoint, where nothing changes.
uint32_t object_site(uint64_t address) {
  const oop obj = cast_to_oop(address);
  Thread* const thread = Thread::current_or_null();
  const int spins = 10000, most_ms = 60000;
  for (int i = 0; i < spins + most_ms; i++) {
    const markWord mark = obj->mark_acquire();
    if (mark.is_neutral()) return AntTracksMark::site_of(mark);
    if (ANTTRACKS_HEADER_STAYS(mark)) {
      return AntTracksMark::site_of(markWord((mark.value() & ~markWord::lock_mask_in_place) | markWord::unlocked_value));
    }
    if (mark.is_marked()) {
      // Tested before has_monitor(), which is true of such a mark, although the rest of it is no address.
      if (thread == NULL) break;
    } else if (mark.has_monitor()) {
      const markWord header(SafeFetchN((intptr_t*)ANTTRACKS_MONITOR_HEADER(mark.monitor()), 0));
      if (header.is_neutral() && obj->mark_acquire() == mark) return AntTracksMark::site_of(header);
    } else if (ANTTRACKS_IS_STACK_LOCKED(mark) && mark != markWord::INFLATING()) {
      if (thread == NULL) break;
      if (is_stable(thread, mark)) return AntTracksMark::site_of(mark.displaced_mark_helper());
      if (thread->is_Java_thread() && ANTTRACKS_JAVA_THREAD(thread)->thread_state() == _thread_in_vm) {
        ObjectSynchronizer::inflate(thread, obj, ObjectSynchronizer::inflate_cause_vm_internal);
        continue;
      }
      const markWord header = locked_header(obj, mark);
      if (header.is_neutral()) return AntTracksMark::site_of(header);
    }
    if (thread == NULL ? i >= spins : !thread->is_Java_thread() && SafepointSynchronize::is_at_safepoint()) break;
    if (i < spins) SpinPause(); else os::naked_short_sleep(1);  // being inflated, or locked by a thread that runs
  }
  return ANTTRACKS_SITE_CANNOT_TELL;
}

uint32_t mark_site(uint64_t mark) { return AntTracksMark::site_of(markWord((uintptr_t)mark)); }

uint64_t object_bytes(uint64_t address) {
  return (uint64_t)cast_to_oop(address)->size() * HeapWordSize;
}

void describe_layout(Klass* k, AntTracksClass* out) {
  const jint lh = k->layout_helper();
  out->is_array = k->is_array_klass();
  out->is_mirror = k->is_instance_klass() && ANTTRACKS_IS_VARIABLE_SIZE(InstanceKlass::cast(k));
  out->is_hidden = k->is_hidden();
  out->instance_bytes = 0;
  out->array_header_bytes = out->array_log2_element_bytes = 0;
  if (out->is_array) {
    out->array_header_bytes = Klass::layout_helper_header_size(lh);
    out->array_log2_element_bytes = Klass::layout_helper_log2_element_size(lh);
  } else if (!out->is_mirror) {
    out->instance_bytes = (uint64_t)InstanceKlass::cast(k)->size_helper() * HeapWordSize;
  }
}

int32_t describe_class(uint64_t klass, AntTracksClass* out, char* text, size_t text_bytes) {
  Klass* const k = (Klass*)klass;
  describe_layout(k, out);
  ClassLoaderData* const cld = k->class_loader_data();  // NULL: of an archived object, and not loaded yet
  out->super_klass = (uint64_t)k->super();
  out->loader = cld == NULL || cld->is_boot_class_loader_data() ? 0 : (uint64_t)cld;
  ResourceMark rm;
  AntTracksText strings(text, text_bytes);
  out->name = strings.add(AntTracksText::source_form(k->external_name()));
  out->loader_name = strings.add(cld == NULL ? "" : cld->loader_name());
  return strings.result();
}

int32_t describe_fields(uint64_t klass, void* context, void (*visit)(void*, const AntTracksField*)) {
  Klass* const k = (Klass*)klass;
  if (!k->is_instance_klass()) return 0;
  ResourceMark rm;
  int32_t fields = 0;
  for (JavaFieldStream fs(InstanceKlass::cast(k)); !fs.done(); fs.next()) {
    if (fs.access_flags().is_static()) continue;
    AntTracksField field;
    field.size = sizeof(field);
    field.offset = fs.offset();
    field.name = fs.name()->as_utf8();
    field.signature = fs.signature()->as_utf8();
    visit(context, &field);
    fields++;
  }
  return fields;
}

int32_t describe_thread(void* thread, AntTracksThread* out, char* text, size_t text_bytes) {
  JavaThread* const t = ANTTRACKS_JAVA_THREAD((Thread*)thread);
  const oop java_thread = t->threadObj();
  out->is_java = !t->is_hidden_from_external_view();
  out->java_id = java_thread == NULL ? 0 : (uint64_t)java_lang_Thread::thread_id(java_thread);
  out->os_id = t->osthread() == NULL ? 0 : (uint64_t)t->osthread()->thread_id();
  ResourceMark rm;
  AntTracksText strings(text, text_bytes);
  stringStream name;
  name.print_raw(ANTTRACKS_THREAD_NAME(t));
  // Virtual threads allocate in the TLABs of the thread that carries them, and are not told apart.
  const bool carries = java_thread != NULL && strcmp(java_thread->klass()->external_name(), "jdk.internal.misc.CarrierThread") == 0;
  if (carries) name.print_raw(" (carries virtual threads)");
  out->name = strings.add(name.as_string());
  return strings.result();
}

const char* unsupported() {
  if (UseZGC)           return "-XX:+UseZGC is not supported: run with -XX:+UseG1GC or -XX:+UseParallelGC";
  if (UseShenandoahGC)  return "-XX:+UseShenandoahGC is not supported: run with -XX:+UseG1GC or -XX:+UseParallelGC";
  if (UseEpsilonGC)     return "-XX:+UseEpsilonGC never collects: run with -XX:+UseG1GC or -XX:+UseParallelGC";
  if (ANTTRACKS_BIASED_LOCKING) return "-XX:+UseBiasedLocking needs the header bits that hold the allocation site: leave it out";
  if (ANTTRACKS_COMPACT_HEADERS && AntTracksMark::scheme() != ANTTRACKS_SITES_ASH) {
    return "-XX:+UseCompactObjectHeaders puts the class into the header bits that hold the allocation site: say "
           "-XX:AntTracksSites=ash, which keeps it in the identity hash, or leave it out";
  }
  if (AntTracksMark::lets_compilers_in()) {
    return "-XX:+EnableJVMCI (-XX:+UseJVMCICompiler or --add-modules=jdk.internal.vm.ci turn it on, too) lets compilers in "
           "that do not know of the allocation site in the header: leave it out";
  }
  if (!UseTLAB)         return "-XX:-UseTLAB is not supported: leave it out";
  if (AntTracksMark::scheme() == ANTTRACKS_SITES_OFF) {
    return "-XX:AntTracksSites=off leaves objects without their allocation site: say mark, hash or ash, or leave it out";
  }
  if (!AntTracksMark::has_sites() && AntTracksMark::in_hash()) {
    return "with this collector and -XX:AntTracksSites=hash or ash the heap may have 16 GB at most: a smaller -Xmx" ANTTRACKS_OR_PARALLEL;
  }
  if (!AntTracksMark::has_sites()) {
    return "with this collector the heap may have " ANTTRACKS_LARGEST_FORWARDING_HEAP " at most: a smaller -Xmx" ANTTRACKS_OR_PARALLEL;
  }
  if (UseNUMA)          return "-XX:+UseNUMA is not supported: leave it out";
  return NULL;
}

void fill_table() {
  AntTracks::make_workers();
  the_vm.size = sizeof(the_vm);
  the_vm.version = ANTTRACKS_ABI_VERSION;
  the_vm.unsupported = unsupported();
  the_vm.klass_offset = oopDesc::klass_offset_in_bytes();
  the_vm.klass_bytes = UseCompressedClassPointers ? 4 : 8;
  the_vm.klass_shift = ANTTRACKS_KLASS_SHIFT;
  the_vm.object_alignment = ObjectAlignmentInBytes;
  the_vm.start = &start;
  the_vm.stop = &stop;
  the_vm.object_site = &object_site;
  the_vm.object_bytes = &object_bytes;
  the_vm.describe_class = &describe_class;
  the_vm.describe_site = &AntTracksSiteTable::describe_site;
  the_vm.describe_method = &AntTracksSiteTable::describe_method;
  the_vm.describe_thread = &describe_thread;
  the_vm.describe_fields = &describe_fields;
  the_vm.collect = &collect;
  the_vm.set_stack_bytes = &AntTracksRecording::set_stack_bytes;
  the_vm.site_scheme = AntTracksMark::scheme();
  the_vm.mark_site = &mark_site;
  the_vm.hash_shift = AntTracksHash::shift;
  the_vm.next_objects = UseG1GC ? &AntTracksG1Regions::next_objects : NULL;
}

void fill_heap() {
  const MemRegion heap = AntTracksHeap::reserved();
  the_vm.heap_start = (uint64_t)heap.start();
  the_vm.heap_end = (uint64_t)heap.end();
  the_vm.array_length_offset = arrayOopDesc::length_offset_in_bytes();  // 25 does not know it before
  the_vm.narrow_klass_base = (uint64_t)CompressedKlassPointers::base();
  the_vm.narrow_klass_shift = CompressedKlassPointers::shift();
  the_vm.gc_workers = AntTracksFillers::worker() + 1;
}

jvmtiError JNICALL get_vm(const jvmtiEnv* env, ...) {
  va_list ap;
  va_start(ap, env);
  const jint version = va_arg(ap, jint);
  const AntTracksVM** const out = va_arg(ap, const AntTracksVM**);
  va_end(ap);
  if (out == NULL) return JVMTI_ERROR_NULL_POINTER;
  if (version != ANTTRACKS_ABI_VERSION) return JVMTI_ERROR_UNSUPPORTED_VERSION;
  if (the_vm.size == 0) fill_table();
  if (the_vm.unsupported == NULL && is_init_completed()) fill_heap();
  *out = &the_vm;
  return JVMTI_ERROR_NONE;
}

}  // namespace

jvmtiExtensionFunctionInfo* AntTracksInterface::extension_function() {
  static jvmtiParamInfo params[] = {
    { (char*)"version", JVMTI_KIND_IN, JVMTI_TYPE_JINT, JNI_FALSE },
    { (char*)"vm", JVMTI_KIND_OUT, JVMTI_TYPE_CVOID, JNI_FALSE }
  };
  static jvmtiError errors[] = { JVMTI_ERROR_UNSUPPORTED_VERSION };
  static jvmtiExtensionFunctionInfo function = {
    (jvmtiExtensionFunction)&get_vm,
    (char*)ANTTRACKS_EXTENSION_ID,
    (char*)"The interface for tracing every object (AntTracks)",
    ARRAY_SIZE(params), params, ARRAY_SIZE(errors), errors
  };
  return &function;
}
