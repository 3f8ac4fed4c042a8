// SPDX-License-Identifier: Apache-2.0
// The definitions in a trace: classes, methods, sites, threads, site-class pairs and stacks; and the object
// shapes that are made from the pairs.
//
// Thread safety: none. Ownership: owns everything it hands out references to.
// Units: bytes, or words of 8 bytes where a name says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/id_map.h"
#include "analyzer/model/object_shapes.h"
#include "analyzer/model/paged_table.h"
#include "analyzer/model/problems.h"
#include "trace/definition_records.h"
#include "trace/format.h"
#include "trace/object_runs.h"
#include "trace/wire.h"

namespace anttracks::analyzer {

using trace::kFirstSite;
using trace::kSiteFiller;
using trace::kSiteOverflow;
using trace::kSiteUnknown;
using trace::kSiteVm;

// Longer texts are cut to this length and end in "...", which bounds the width of tables whatever the trace
// contains.
inline constexpr size_t kMaxTextBytes = 1024;
std::string CutText(std::string_view text);
// The most superclasses of a class. Longer chains are cut.
inline constexpr uint16_t kMaxSuperclasses = 256;
// The most callers of a site; agents have 1000 at most. Longer chains are cut.
inline constexpr uint16_t kMaxCallers = 1024;
// The deepest stack; agents cut deeper ones at half of it. Longer chains are cut.
inline constexpr uint16_t kMaxStackDepth = 1024;

struct FieldInfo {
  std::string name;
  std::string signature;  // JVM descriptor
  uint64_t offset = 0;    // bytes from the object's start
  bool operator==(const FieldInfo&) const = default;
};

struct ClassInfo {
  bool defined = false;
  bool unloaded = false;
  std::string name;
  uint64_t flags = 0;
  uint64_t bytes = 0;
  uint64_t header_bytes = 0;
  uint64_t log2_element = 0;
  uint64_t super = 0;  // defined before this class; 0: none
  uint16_t superclasses = 0;
  uint32_t last_site_class = 0;  // the last pair of this class that was defined; 0: none. See SiteClass
  uint64_t loader = 0;
  std::string loader_name;
  bool fields_known = false;
  std::vector<FieldInfo> fields;  // those that the class itself declares; by offset, without overlaps
};

struct MethodInfo {
  bool defined = false;
  std::string class_name, name, signature, source_file;
};

struct SiteInfo {
  bool defined = false;
  uint32_t method = 0;
  int32_t bci = -1;
  int32_t line = -1;
  uint32_t caller = 0;   // defined before this site; 0: none
  uint16_t callers = 0;  // how many the chain of callers has
  uint8_t tier = 0;
  uint8_t flags = 0;
};

// A call stack: the place of its innermost frame, with the callers that it was inlined into, and the stack of
// the frames around these.
struct StackInfo {
  bool defined = false;
  uint32_t site = 0;    // 0: frames that were not recorded
  uint32_t caller = 0;  // defined before this stack; 0: none
  uint16_t depth = 0;   // how many stacks the chain of callers has, this one included
};

struct ThreadInfo {
  bool defined = false;
  std::string name;
  uint64_t java_id = 0;
  uint64_t os_id = 0;
};

struct SiteClass {
  bool defined = false;
  uint32_t site = 0;
  uint32_t class_id = 0;
  uint32_t site_class_before = 0;  // the pair of the same class that was defined before; 0: none
  uint32_t id = 0;                 // the first id of this site and class; objects have only that one
};

// Why there is no shape for a site-class pair and a length.
enum class ShapeError { kNone, kUndefinedSiteClass, kUnloadedClass, kBadLength, kBadSize };

class Definitions {
 public:
  explicit Definitions(Problems& problems) : problems_(&problems) {}

  // Bytes; must be a power of two of at least 8.
  void set_object_alignment(uint64_t bytes) { alignment_ = bytes; }
  // Whether an object's site may become <overflow> later, as in scheme ash, when its hash is asked for.
  void set_sites_may_overflow_later(bool may) { sites_may_overflow_later_ = may; }
  bool sites_may_overflow_later() const { return sites_may_overflow_later_; }

  // Reads the payload of a DEFINITIONS segment.
  void Read(std::span<const uint8_t> payload, const Position& position);
  // No objects of the class are made from now on. False: it is not defined, or was unloaded before.
  bool Unload(uint64_t class_id);

  // The shape of a pair with length 0, which most objects have. words is 0 if it is not known yet.
  struct PlainShape {
    uint32_t shape = 0, words = 0;
  };
  PlainShape Plain(uint64_t site_class) const {
    return site_class < plain_.size() ? plain_[site_class] : PlainShape();
  }

  ShapeError FindShape(uint64_t site_class, uint64_t length, uint32_t* shape) {
    const Recent& recent = recent_[Recent::Slot(site_class, length)];
    if (recent.site_class == site_class && recent.length == length && recent.shape != ObjectShapes::kNone &&
        !any_unloaded_) {
      *shape = recent.shape;
      return ShapeError::kNone;
    }
    const SiteClass* info = site_classes_.Find(site_class);
    if (info != nullptr && length <= UINT32_MAX && info->defined) {
      *shape = shapes_.Find(info->id, static_cast<uint32_t>(length));
      if (*shape != ObjectShapes::kNone && !any_unloaded_) {
        recent_[Recent::Slot(site_class, length)] = {site_class, length, *shape};
        SetPlain(site_class, static_cast<uint32_t>(length), *shape);
        return ShapeError::kNone;
      }
    }
    return FindShapeSlow(site_class, length, shape);
  }

  const ObjectShapes& shapes() const { return shapes_; }
  const SiteClass& site_class(uint64_t id) const { return Get(site_classes_, id); }
  const SiteClass& site_class_of_shape(uint32_t shape) const { return site_class(shapes_[shape].site_class); }
  const ClassInfo& class_info(uint64_t id) const { return Get(classes_, id); }
  const MethodInfo& method(uint64_t id) const { return Get(methods_, id); }
  const SiteInfo& site(uint64_t id) const { return Get(sites_, id); }
  const ThreadInfo& thread(uint64_t id) const { return Get(threads_, id); }
  const StackInfo& stack(uint64_t id) const { return Get(stacks_, id); }
  // Calls visit(id, const ClassInfo&) in the order of ids; the next one does the same for threads.
  template <class Visit>
  void ForEachClass(Visit&& visit) const {
    classes_.ForEach([&](uint64_t id, const ClassInfo& info) {
      if (info.defined) visit(id, info);
    });
  }
  template <class Visit>
  void ForEachThread(Visit&& visit) const {
    threads_.ForEach([&](uint64_t id, const ThreadInfo& info) {
      if (info.defined) visit(id, info);
    });
  }

  // Gives its memory back: nothing is defined any more, and no shape has a number.
  void Forget() { *this = Definitions(*problems_); }

  uint64_t classes() const { return class_count_; }
  uint64_t sites() const { return site_count_; }
  uint64_t methods() const { return method_count_; }
  uint64_t site_classes() const { return site_class_count_; }

 private:
  template <class T>
  static const T& Get(const PagedTable<T>& table, uint64_t id) {
    static const T undefined;
    const T* value = table.Find(id);
    return value == nullptr ? undefined : *value;
  }

  bool ReadRecord(uint8_t tag, std::span<const uint8_t> bytes, const Position& position);
  void ReadFields(trace::WireReader& in, const Position& position);
  void Define(const trace::ClassDefinition& definition, const Position& position);
  void Define(const trace::MethodDefinition& definition, const Position& position);
  void Define(const trace::SiteDefinition& definition, const Position& position);
  void Define(const trace::ThreadDefinition& definition, const Position& position);
  void Define(const trace::SiteClassDefinition& definition, const Position& position);
  void Define(const trace::StackDefinition& definition, const Position& position);
  uint32_t CallerOf(const trace::SiteDefinition& definition, const Position& position);
  void AddFields(uint64_t class_id, std::vector<FieldInfo> fields, const Position& position);
  // Where a definition is stored; nullptr, with a problem, if the id is impossible.
  template <class T>
  T* Slot(PagedTable<T>& table, std::string_view what, uint64_t id, const Position& position) {
    T* const slot = id == 0 ? nullptr : table.FindOrAdd(id);
    if (slot == nullptr)
      problems_->Add(ProblemKind::kUndefined, position, "{} has the impossible id {}", what, id);
    return slot;
  }
  ShapeError FindShapeSlow(uint64_t site_class, uint64_t length, uint32_t* shape);
  void SetPlain(uint64_t site_class, uint32_t length, uint32_t shape) {
    if (length == 0 && site_class < plain_.size()) plain_[site_class] = {shape, shapes_[shape].words};
  }

  // A shape that was asked for lately.
  struct Recent {
    static constexpr size_t kSlots = 2048;
    uint64_t site_class = 0, length = 0;
    uint32_t shape = ObjectShapes::kNone;
    static size_t Slot(uint64_t site_class, uint64_t length) { return (site_class * 61 + length) % kSlots; }
  };

  Problems* problems_;
  ObjectShapes shapes_;
  std::vector<Recent> recent_ = std::vector<Recent>(Recent::kSlots);
  uint64_t alignment_ = 8;
  bool sites_may_overflow_later_ = false;
  bool any_unloaded_ = false;
  PagedTable<ClassInfo> classes_;
  PagedTable<MethodInfo> methods_;
  PagedTable<SiteInfo> sites_;
  PagedTable<ThreadInfo> threads_;
  PagedTable<SiteClass> site_classes_;
  IdMap<uint32_t> first_ids_;  // of pairs, by site and class
  PagedTable<StackInfo> stacks_;
  std::vector<PlainShape> plain_ =
      std::vector<PlainShape>(trace::kSiteClassMask + 1);  // by the ids that fit in columns
  uint64_t class_count_ = 0, method_count_ = 0, site_count_ = 0, site_class_count_ = 0;
};

}  // namespace anttracks::analyzer
