// SPDX-License-Identifier: Apache-2.0
// The objects and classes of a heap dump. Objects are numbered by address, classes in the order of the file.
//
// An object's id in a dump of the JVM is its address. The id of a class is that of its java.lang.Class object,
// which has no other record: it is an object here, too, its "mirror".
//
// Thread safety: full after Read. Ownership: borrows the reader.
// Memory: 16 bytes per object, and 4 to find it by its address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/hprof/hprof_reader.h"
#include "analyzer/model/id_map.h"

namespace anttracks::hprof {

inline constexpr uint32_t kNone = UINT32_MAX;

struct DumpField {
  std::string_view name;  // in the reader's mapping
  uint32_t offset = 0;    // in the class's part of an instance's values
  Type type = Type::kObject;
};

struct DumpClass {
  uint64_t id = 0;        // 0: primitive arrays, and mirrors
  std::string name;       // as in Java source
  bool dumped = false;    // it has a CLASS_DUMP
  bool resolved = false;  // while the dump is read
  uint32_t super = kNone;
  uint32_t superclasses = 0;
  uint32_t mirror = kNone;        // object
  uint32_t value_bytes = 0;       // of an instance; own fields are the first of them
  std::vector<DumpField> fields;  // own ones
  // Offsets of references in the values of an instance, but for the next one; if the class has instances.
  std::vector<uint32_t> references;
  // Offset of java.lang.ref.Reference.referent if the class is a soft, weak, final or phantom reference.
  uint32_t referent = kNone;
  bool is_array = false;
  Type element = Type::kObject;  // of arrays
};

struct DumpObject {
  uint64_t address = 0;
  uint32_t class_index = 0;
  uint32_t length = 0;  // of an array; of a mirror the class for which it stands
};

class Dump {
 public:
  // Error: a record is damaged, an object has no class, two objects have the same id, and so on.
  static trace::Result<std::unique_ptr<Dump>> Read(const HprofReader& reader);

  const std::vector<DumpObject>& objects() const { return objects_; }
  const std::vector<DumpClass>& classes() const { return classes_; }
  uint32_t size() const { return static_cast<uint32_t>(objects_.size()); }
  const DumpClass& class_of(uint32_t object) const { return classes_[objects_[object].class_index]; }
  bool is_mirror(uint32_t object) const { return objects_[object].class_index == kMirrors; }
  // The object with this id; kNone if there is none. hint: the number that it may have.
  uint32_t Find(uint64_t id, uint32_t hint = kNone) const {
    if (hint < objects_.size() && objects_[hint].address == id) return hint;
    if (id < first_ || id > last_) return kNone;
    const uint64_t bucket = (id - first_) >> shift_;
    uint32_t from = buckets_[bucket], to = buckets_[bucket + 1];
    while (from < to) {
      const uint32_t middle = from + (to - from) / 2;
      if (objects_[middle].address == id) return middle;
      if (objects_[middle].address < id) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return kNone;
  }
  // kNone: there is none.
  uint32_t FindClass(uint64_t id) const {
    const auto found = class_by_id_.find(id);
    return found == class_by_id_.end() ? kNone : found->second;
  }

 private:
  // The first classes: arrays of primitives by type, and the class of the mirrors.
  static constexpr uint32_t kMirrors = 12, kFirstClass = 13;

  Dump() = default;
  trace::Status ReadClasses(const HprofReader& reader);
  trace::Status ReadObjects(const HprofReader& reader);
  trace::Status Add(const HprofReader& reader, const ClassRecord& record);
  trace::Status Add(const HprofReader& reader, const InstanceRecord& record);
  trace::Status Add(const HprofReader& reader, const ArrayRecord& record);
  trace::Status AddObject(const HprofReader& reader, uint64_t offset, const DumpObject& object);
  trace::Status Resolve(const HprofReader& reader);
  trace::Status ResolveSupers(const HprofReader& reader, uint32_t index);
  void FindReferences(DumpClass* its) const;
  trace::Status Index(const HprofReader& reader);

  std::vector<DumpClass> classes_;
  analyzer::IdMap<uint32_t> class_by_id_;
  std::vector<uint64_t> supers_;  // ids, while classes are read
  std::vector<DumpObject> objects_;
  uint64_t first_ = 1, last_ = 0;  // addresses
  int shift_ = 0;
  std::vector<uint32_t> buckets_;  // the first object of each, and the number of all
};

}  // namespace anttracks::hprof
