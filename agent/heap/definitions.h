// SPDX-License-Identifier: Apache-2.0
// Records which classes, methods, sites, site-class pairs and threads are defined in the trace, asks the VM
// about new ones, and holds their records until the writer takes them.
//
// Uses the VM interface's plain C structs directly: structs of our own would only add conversions.
//
// Order: a record is here before its id is in any buffer, and the writer takes records after it has taken
// buffers, so a definition precedes its first use in the file.
//
// Thread safety: full; one mutex, never held during I/O. The VM's describe functions are called under it.
// Ownership: holds no pointer into the VM, except klass addresses as keys until class_unload.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/base/counters.h"
#include "agent/heap/layout_table.h"
#include "agent/heap/site_class_table.h"
#include "trace/format.h"
#include "trace/wire.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct DefinitionCounts {
  uint64_t classes = 0, sites = 0, methods = 0, site_classes = 0, threads = 0, unknown_sites = 0;
  uint64_t live_site_classes = 0;  // site-class pairs of loaded classes
  uint64_t table_bytes = 0;        // approximate memory of the tables
};

class Definitions {
 public:
  // most_id: the largest id of each sort. Ids are never reused, since readers would confuse the old and the new
  // meaning. keeps_layouts: for LayoutOf.
  explicit Definitions(const AntTracksVM& vm, uint32_t most_id = trace::kMaxId, bool keeps_layouts = false)
      : vm_(vm), most_id_(most_id), keeps_layouts_(keeps_layouts) {}

  const SiteClassTable& site_classes() const { return site_classes_; }
  // The part of site_classes() that walks use.
  LayoutTable& layouts() { return layouts_; }

  // klass: as in the object's header. Id 0: the VM does not know the class, or no id is left.
  SiteClass Resolve(uint32_t site, uint64_t klass);
  // For a pair that many objects have: gives it a second id, one that fits into a column of ids, unless it has
  // such an id. Id 0: there is none left, or the pair is not known.
  SiteClass GiveColumnId(uint32_t site, uint64_t klass);

  // The layout of the objects of a pair that Resolve has numbered, and whose class is loaded.
  ObjectLayout LayoutOf(uint32_t site_class) const;

  // Defines a stack, whose number is new, and the caller's known (0: none).
  void DefineStack(uint32_t id, uint32_t caller, uint32_t site);

  // Defines a new thread, with its name and Java id; returns its id. 0: no id is left.
  uint32_t DefineThread(void* thread, std::string* name, uint64_t* java_id);
  // Defines the thread again if its name or Java id has changed.
  void RefreshThread(uint32_t id, void* thread, std::string* name, uint64_t* java_id);

  // klass: an address. Returns the class's id; 0 if it was never defined. At a safepoint.
  uint64_t Unload(uint64_t klass);
  // Frees the memory of unloaded classes. At a safepoint, while no thread uses site_classes().
  void Shrink();

  // An id was needed and none was left. Relaxed: the thread that needed it asks, or it is true for good.
  bool exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
  std::string ExhaustedText() const;

  // For the writer: everything that was defined since the last call, in blocks of records.
  std::vector<trace::ByteBuffer> Take();
  bool pending() const { return pending_.load(std::memory_order_acquire); }

  DefinitionCounts counts() const;
  void Count(CounterValues* values) const;

 private:
  struct Class {
    uint32_t id = 0;
    ObjectLayout layout;
    std::vector<uint32_t> sites;  // sites of its pairs in site_classes_
  };
  static constexpr size_t kBlockBytes = 256 << 10;
  // So many of the ids that fit into a column are given to the first pairs. The start of a program has tens of
  // thousands of pairs that one object has, such as the text of each string constant; the pairs that matter
  // come later, with the code that the compilers make.
  static constexpr uint32_t kFirstColumnIds = 8192;

  uint64_t KlassAddress(uint64_t value) const {
    return vm_.klass_bytes == 4 ? vm_.narrow_klass_base + (value << vm_.narrow_klass_shift) : value;
  }
  uint64_t KlassValue(uint64_t address) const {
    return vm_.klass_bytes == 4 ? (address - vm_.narrow_klass_base) >> vm_.narrow_klass_shift : address;
  }

  // The following need mutex_ to be held.
  trace::ByteBuffer* Block();
  uint32_t NextId(uint32_t* last);
  uint32_t NextSiteClassId();
  Class* DefineClass(uint64_t klass);
  void DefineFields(uint64_t klass, uint32_t id);
  bool DefineMethod(uint32_t method);
  bool DefineSite(uint32_t site);
  uint32_t NamedSite(uint32_t site);
  bool AppendSite(uint32_t site, const AntTracksSite& described);
  bool DescribeThread(void* thread, AntTracksThread* out);
  // Calls describe(text, bytes) with as large a buffer as it needs. False: there is no such id.
  template <class Describe>
  bool WithText(Describe&& describe);

  const AntTracksVM& vm_;
  const uint32_t most_id_;
  const bool keeps_layouts_;
  SiteClassTable site_classes_;
  LayoutTable layouts_;

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Class> classes_;  // by klass address
  std::unordered_map<uint32_t, ObjectLayout> pair_layouts_;
  std::vector<bool> sites_, methods_;  // defined ones, by id
  std::vector<trace::ByteBuffer> blocks_;
  std::vector<char> text_;
  uint32_t last_class_ = 0, last_thread_ = 0;
  // Site-class pairs: ids that fit into a column, and others.
  uint32_t last_column_id_ = 0, last_wide_id_ = trace::kSiteClassMask;
  DefinitionCounts counts_;
  std::atomic<bool> pending_{false}, exhausted_{false}, column_ids_left_{true};
};

}  // namespace anttracks::core
