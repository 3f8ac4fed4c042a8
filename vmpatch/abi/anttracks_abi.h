/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between a patched HotSpot and the AntTracks agent.
 *
 *     HotSpot (vmpatch/)                        agent (agent/jvmti/)
 *       GetExtensionFunctions  ---------------->  finds ANTTRACKS_EXTENSION_ID
 *       AntTracksVM            <----------------  calls it once with its version
 *       start(callbacks)       <----------------  at VMInit or attach
 *       sync_begin, sync_objects*, sync_end --->  the spaces and eden's objects as they stand at that safepoint
 *       tlab, object, thread_exit ------------->  in mutators, and at safepoints for all threads
 *       stack --------------------------------->  in mutators, for some of the objects
 *       gc_begin, moves*, slides*, fillers*,
 *       class_unload*, gc_end ----------------->  in GC workers and the VM thread
 *       stop()                 <----------------  reports what is left in all TLABs, then silence
 *
 * The VM side is C++ inside libjvm.so, the agent side is a shared library; only C types with an
 * explicit size cross. Every struct starts with its size, so that a newer side can tell an older.
 *
 * Addresses and lengths are bytes unless a name says words. A word is 8 bytes (64-bit VMs only).
 * Ranges are half open: [start, top).
 *
 * Threads. Callbacks run in VM state or at a safepoint, some of them while GC workers run. They must
 * not call JNI, JVMTI or start/stop, must not block for a safepoint, and must return.  They may call the
 * query functions of AntTracksVM. Calls for one thread slot, and for one worker number, never overlap.
 *
 * Ownership. Arrays passed to callbacks belong to the VM and are valid during the call.
 */
#ifndef ANTTRACKS_ABI_H
#define ANTTRACKS_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a member changes its meaning or place. Members are only appended within a version. */
#define ANTTRACKS_ABI_VERSION 9

/* Name of the JVMTI extension function: jvmtiError f(jvmtiEnv*, jint version, const AntTracksVM** out).
 * JVMTI_ERROR_UNSUPPORTED_VERSION when the VM has no interface of that version. */
#define ANTTRACKS_EXTENSION_ID "com.github.anttracks.functions.GetVM"

/* Where the allocation site lives: schemes, see site_scheme of AntTracksVM. */
enum {
  ANTTRACKS_SITES_OFF = 0,  /* nowhere */
  ANTTRACKS_SITES_MARK = 1, /* in bits of the mark word that the VM does not use */
  ANTTRACKS_SITES_HASH = 2, /* in the upper bits of an identity hash that is made with the object */
  ANTTRACKS_SITES_ASH = 3   /* in the place of the identity hash until that is asked for; then as an id in its upper bits */
};

/* Where bits of the mark word lie in a VM whose identity hash begins at bit 8, see hash_shift of AntTracksVM. In a VM that
 * has it further to the left, all lie so much further to the left, too, but for ANTTRACKS_SITE_IN_HASH; and a site of scheme
 * mark has so many bits less. */
/* In scheme mark site ids live in bits 39 to 63 of the mark word. */
#define ANTTRACKS_SITE_SHIFT 39
#define ANTTRACKS_SITE_BITS 25
/* In the schemes hash and ash this bit of a neutral mark says that it has a site. The identity hash lies in bits 8 to 38. */
#define ANTTRACKS_SITE_IN_HASH ((uint64_t)1 << 7)
/* hash: in bits 23 to 38. */
#define ANTTRACKS_HASH_SITE_SHIFT 23
#define ANTTRACKS_HASH_SITE_BITS 16
/* ash: in bits 8 to 32, as long as this bit is 0. If it is set the object has its hash code: see mark_site. */
#define ANTTRACKS_ASH_SITE_SHIFT 8
#define ANTTRACKS_ASH_FILLED ((uint64_t)1 << 38)

/* Ids below ANTTRACKS_SITE_FIRST are reserved. */
enum {
  ANTTRACKS_SITE_NONE = 0,     /* made while sites were off, or not known */
  ANTTRACKS_SITE_VM = 1,       /* made by the VM with no Java frame below */
  ANTTRACKS_SITE_FILLER = 2,   /* dead space made parsable: never reachable */
  ANTTRACKS_SITE_OVERFLOW = 3, /* the id space is used up */
  ANTTRACKS_SITE_ARCHIVE = 4,  /* in the archive of shared classes; JDK 21 and later with scheme mark */
  ANTTRACKS_SITE_FIRST = 16
};
/* The most frames of a stack that are reported. */
#define ANTTRACKS_MOST_FRAMES 512
/* No id: what object_site says of an object whose header cannot be read now. */
#define ANTTRACKS_SITE_CANNOT_TELL UINT32_MAX

/* What allocated: the code that ran in the innermost frame. */
enum {
  ANTTRACKS_TIER_INTERPRETER = 0,
  ANTTRACKS_TIER_C1 = 1,
  ANTTRACKS_TIER_C2 = 2,
  ANTTRACKS_TIER_NATIVE = 3 /* innermost frame is a native method: clone, reflection, JNI */
};

/* Site flags. */
enum { ANTTRACKS_SITE_REMATERIALIZED = 1 /* deoptimization recreated it: bci is the deoptimization's */ };

/* The last two are G1's: objects of at least half a region, and objects of the shared archive. */
enum {
  ANTTRACKS_SPACE_EDEN = 0,
  ANTTRACKS_SPACE_SURVIVOR = 1,
  ANTTRACKS_SPACE_OLD = 2,
  ANTTRACKS_SPACE_HUMONGOUS = 3,
  ANTTRACKS_SPACE_ARCHIVE = 4
};
/* The last two are G1's: the pause at the end of marking, in which nothing moves but regions without a live object
 * are freed, and a young collection that takes old regions, too. 2 is not used. */
enum { ANTTRACKS_GC_YOUNG = 0, ANTTRACKS_GC_FULL = 1, ANTTRACKS_GC_REMARK = 3, ANTTRACKS_GC_MIXED = 4 };
enum { ANTTRACKS_NOT_COLLECTED = 0, ANTTRACKS_COLLECTED = 1, ANTTRACKS_OPTIONAL = 2 };

/* A contiguous space of the heap: objects in [bottom, top), room up to end. */
typedef struct AntTracksSpace {
  uint32_t kind;      /* ANTTRACKS_SPACE_* */
  /* gc_begin: COLLECTED: what lies here and is not reported by moves or slides dies; OPTIONAL: gc_end says whether.
   * gc_end: OPTIONAL: it was: what lay in [bottom, end) at gc_begin and was not reported died. */
  uint32_t collected;
  uint64_t bottom, top, end;
} AntTracksSpace;

typedef struct AntTracksGC {
  uint32_t size;
  uint32_t id;       /* the number that -Xlog:gc prints as GC(id) */
  uint32_t kind;     /* ANTTRACKS_GC_* */
  uint32_t nspaces;
  const char* cause; /* as in -Xlog:gc, UTF-8, NUL-terminated */
  const AntTracksSpace* spaces; /* gc_begin: before, gc_end: after the collection */
} AntTracksGC;

/* An object that a young collection copied. */
typedef struct AntTracksMove {
  uint64_t from;
  uint64_t to;        /* bit 0 set: copied to the old generation; mask it off */
  uint64_t words;     /* size of the object */
} AntTracksMove;

/* An object that a full collection slid, or that stays where it is (to == from): a full collection's
 * unmoved objects, and the objects that a young collection failed to promote. */
typedef struct AntTracksSlide {
  uint64_t from, to, words;
} AntTracksSlide;

/* Dead space that the collector made parsable with one object (an int[] or a java.lang.Object, from JDK 21 on a
 * jdk.internal.vm.FillerElement[] or a jdk.internal.vm.FillerObject; outside eden). It counts in the JVM's own histograms
 * and dumps. Its header is already written. A filler that another JVM TI agent holds is kept: it is told once more for each
 * collection that moved it, where it lies when the collection ends. */
typedef struct AntTracksFiller {
  uint64_t address, words;
} AntTracksFiller;

/* The call stack of an object that contains a sample point: see the callback stack. */
typedef struct AntTracksStack {
  const uint32_t* sites;
  uint32_t count;        /* of sites, at least 1 */
  uint32_t points;       /* at least 1 */
  uint32_t stack_bytes;  /* the distance of the points, as it was when the first of them was drawn */
  uint64_t begin_cpu_ns; /* the thread's CPU time when the VM began to look at the stack */
} AntTracksStack;

/* thread is an opaque identity, equal for equal live threads; slot is the agent's own word of the thread,
 * NULL when the thread is new. */
typedef struct AntTracksCallbacks {
  uint32_t size;
  uint32_t version; /* ANTTRACKS_ABI_VERSION the agent was built with */
  void* context;    /* handed back as first argument */

  /* The heap at the start, in one safepoint: begin, the objects of each eden space in address order, end. count addresses
   * of objects; fillers are left out. The other spaces are the agent's to read, then or later, as after a collection: see
   * next_objects. */
  void (*sync_begin)(void* context, const AntTracksSpace* spaces, uint32_t nspaces);
  void (*sync_objects)(void* context, uint32_t space_index, const uint64_t* addresses, uint32_t count);
  void (*sync_end)(void* context);

  /* NULL: of a census. Only gc_begin, class_unload and gc_end are called, the others may be NULL, too: the agent reads the
   * heap when it wants to.
   * thread allocated the objects that lie one behind the other in [start, top). Runs in the thread itself,
   * or in the VM thread or a GC worker, one at a time, with at_safepoint set. A TLAB may be reported in several stretches. */
  void (*tlab)(void* context, void* thread, void** slot, uint64_t start, uint64_t top, int32_t at_safepoint);
  /* thread allocated one object outside its TLAB. Runs in the thread itself, header and length are set. */
  void (*object)(void* context, void* thread, void** slot, uint64_t address);
  /* thread ends; its last tlab was reported; *slot must be released. */
  void (*thread_exit)(void* context, void* thread, void** slot);

  /* At a safepoint in the VM thread, all TLABs reported before gc_begin. */
  void (*gc_begin)(void* context, const AntTracksGC* gc);
  /* In GC workers. Workers are numbered from 0; batches of one worker are in order. */
  void (*moves)(void* context, uint32_t worker, const AntTracksMove* moves, uint32_t count);
  void (*slides)(void* context, uint32_t worker, const AntTracksSlide* slides, uint32_t count);
  void (*fillers)(void* context, uint32_t worker, const AntTracksFiller* fillers, uint32_t count);
  /* A class is about to be freed: klass must not be used any more after this call returns. */
  void (*class_unload)(void* context, uint64_t klass);
  void (*gc_end)(void* context, const AntTracksGC* gc);

  /* A TLAB is reported whenever about so many bytes of it are filled, while they are in the processor's cache.
   * 0: only when it is retired, or a sample point lies there (see stack). Not while another agent has sampled allocation events enabled. */
  uint32_t stretch_bytes;

  /* thread is about to allocate, or has just allocated, an object that contains a sample point. Sample points lie at
   * exponentially distributed distances in the bytes that each thread allocates, stack_bytes on average; 0: there are none.
   * Nor are there in TLABs while another agent has sampled allocation events enabled. sites: a site for each frame of
   * compiled or interpreted code, innermost first. The first is the site of the object; the others are the places of calls,
   * each with the callers that it was inlined into. A native method's site includes its caller, as always. The last is
   * ANTTRACKS_SITE_NONE if there are more than ANTTRACKS_MOST_FRAMES, or if the callers of a virtual thread's frames are still
   * in the heap. A virtual thread's stack has no frames of its carrier. points: how many sample points the object contains, which
   * is in proportion to its size, on average. Runs in the thread itself. */
  void (*stack)(void* context, void* thread, void** slot, const AntTracksStack* stack);
  uint32_t stack_bytes; /* to begin with: see set_stack_bytes */
} AntTracksCallbacks;

/* Text members point into the buffer that the caller gave; UTF-8, NUL-terminated, "" when unknown. */
typedef struct AntTracksClass {
  uint32_t size;
  uint32_t is_array;
  uint32_t is_mirror;       /* every instance has its own size, see object_bytes: java.lang.Class, jdk.internal.vm.StackChunk */
  uint32_t is_hidden;
  uint64_t instance_bytes;  /* of one instance; 0 for arrays and if is_mirror */
  uint32_t array_header_bytes, array_log2_element_bytes; /* bytes = align(header + (length << log2)) */
  uint64_t super_klass;     /* 0: none */
  uint64_t loader;          /* identity of the class loader's data, 0: the boot loader */
  const char* name;         /* as Class.getName(), but arrays as in Java source: "int[]", "java.lang.String[][]" */
  const char* loader_name;  /* "bootstrap", "app", "platform", or name or class of the loader; "": not loaded yet */
} AntTracksClass;

/* An instance field that a class declares itself, injected ones (which have no Java name) left out. */
typedef struct AntTracksField {
  uint32_t size;
  uint32_t offset;       /* from the object's start */
  const char* name;      /* UTF-8, valid during the visit */
  const char* signature; /* JVM descriptor */
} AntTracksField;

typedef struct AntTracksSite {
  uint32_t size;
  uint32_t method;  /* dense number of the method, from 1; see describe_method */
  int32_t bci;      /* -1 in native methods */
  int32_t line;     /* -1: no line number table */
  uint32_t caller;  /* site of the caller that this frame was inlined into, or of a native method's caller; 0: none */
  uint32_t tier;    /* ANTTRACKS_TIER_* */
  uint32_t flags;
} AntTracksSite;

typedef struct AntTracksMethod {
  uint32_t size;
  const char* class_name; /* as AntTracksClass::name */
  const char* name;
  const char* signature;  /* JVM descriptor */
  const char* source_file;
} AntTracksMethod;

typedef struct AntTracksThread {
  uint32_t size;
  uint32_t is_java;
  uint64_t java_id; /* Thread.getId(), 0 when not yet known */
  uint64_t os_id;
  const char* name;
} AntTracksThread;

typedef struct AntTracksVM {
  uint32_t size;
  uint32_t version;

  /* NULL, or why this VM cannot be traced, and what to change: "-XX:+UseG1GC: ...". Fixed at VM start. */
  const char* unsupported;

  /* Object layout. At address + 0: mark word, which is neutral when (mark & 3) == 1: its site is what site_scheme says. Else
   * ask object_site. */
  uint32_t klass_offset, klass_bytes; /* 4: klass = narrow_klass_base + (value >> klass_shift << narrow_klass_shift); 8: klass */
  uint64_t narrow_klass_base;
  uint32_t narrow_klass_shift;
  uint32_t array_length_offset;       /* of the 32-bit length */
  uint32_t object_alignment;          /* bytes, a power of two, at least 8 */
  /* Known only when the VM is initialized: call the extension function again then. Narrow klass, too. */
  uint32_t gc_workers;                /* worker numbers in callbacks are below this */
  uint64_t heap_start, heap_end;      /* reserved range */

  /* Called in native state by a thread that is attached to the VM. start: 0, or -1 when already started,
   * -2 for a wrong version or size, -3 when unsupported. callbacks are copied. The sync callbacks have run when it
   * returns. stop: 0, or -1 when not started; no callback runs after it returned. */
  int32_t (*start)(const AntTracksCallbacks* callbacks);
  int32_t (*stop)(void);

  /* Queries, from callbacks. object_site also reads the mark of a locked object, and may be asked by any thread of the
   * process while the object stays where it is. A thread that the VM knows waits for a mark that is about to change, for a
   * minute at most, and gives an object whose lock lies on another thread's stack a monitor; one that it does not know waits
   * for less than a millisecond, and reads no stack. ANTTRACKS_SITE_CANNOT_TELL: the mark of the object was not readable. */
  uint32_t (*object_site)(uint64_t address);
  uint64_t (*object_bytes)(uint64_t address);
  /* 0: done. Positive: the bytes that text must have (call again). -1: no such id. */
  int32_t (*describe_class)(uint64_t klass, AntTracksClass* out, char* text, size_t text_bytes);
  int32_t (*describe_site)(uint32_t site, AntTracksSite* out);
  int32_t (*describe_method)(uint32_t method, AntTracksMethod* out, char* text, size_t text_bytes);
  int32_t (*describe_thread)(void* thread, AntTracksThread* out, char* text, size_t text_bytes);
  /* Visits the fields in no particular order. How many there are; 0 for an array class. */
  int32_t (*describe_fields)(uint64_t klass, void* context, void (*visit)(void* context, const AntTracksField* field));

  /* Called like start: a young collection, now. 0: done; -1: another
   * collection came first, or critical native code (GCLocker) prevented it. */
  int32_t (*collect)(void);

  /* NULL: objects of the spaces that gc_end gives (and sync_begin, eden apart) lie one behind the other, all with their class. Otherwise not: some
   * dead ones have lost it. Then this finds, in [*from, top) of such a space, the next objects that do so: they begin
   * at *from afterwards and end at the address that it returns, which is the next from; both are top when there are none left. The
   * first from is the space's bottom. Fillers, and what is known to be dead, are left out. Not later than gc_begin of a
   * full or mixed collection returns, nor between the return of a remark's gc_begin and its gc_end; for eden, survivor
   * and humongous spaces not later than gc_begin of any collection. */
  uint64_t (*next_objects)(uint64_t* from, uint64_t top);

  /* Changes stack_bytes of the callbacks; neither may be 0. By any thread, while started. Each thread takes the new
   * distance when it next reports allocations. */
  void (*set_stack_bytes)(uint32_t bytes);

  /* ANTTRACKS_SITES_*: where sites live. Fixed at VM start. Not OFF, unless unsupported is set. */
  uint32_t site_scheme;
  /* The site of a neutral mark, whatever the scheme. Any thread of the process may ask; takes no lock. */
  uint32_t (*mark_site)(uint64_t mark);

  /* Where the identity hash begins in a neutral mark: at bit 8 in JDK 17 and 21, at 11 in 25. Sites in marks move with it:
   * see ANTTRACKS_SITE_SHIFT. */
  uint32_t hash_shift;

  /* So many bits to the left lies the class in the klass_bytes at klass_offset, which is in the mark word if it is not 0
   * (compact headers, JDK 25): above the identity hash, and also while the object is locked. */
  uint32_t klass_shift;
} AntTracksVM;

#ifdef __cplusplus
}
#endif
#endif
