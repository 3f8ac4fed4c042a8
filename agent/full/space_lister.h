// SPDX-License-Identifier: Apache-2.0
// Reads the objects of the heap, space by space, and writes them as SYNC_OBJECTS, the objects of a sync point;
// or has them counted, for a census.
//
// A space is read in bulk, since its objects lie next to each other (ICPE'16, section 3.3); with G1 the VM says
// which parts of a space are filled with objects. Objects that the VM reports one by one can be listed, too.
//
// Thread safety: none: for one thread at a time, but EstimatedBytes for any. Ownership: owns what is written
// until it is queued; borrows the rest. Units: bytes unless a name says words.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/full/census.h"
#include "agent/heap/object_reader.h"
#include "agent/heap/site_class_table.h"
#include "agent/stream/outlet.h"
#include "agent/stream/segment_stream.h"
#include "agent/stream/wait_budget.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class SpaceLister {
 public:
  // census: nullptr if the objects are to be written.
  SpaceLister(const AntTracksVM& vm, ObjectReader& reader, const Outlet& outlet, Census* census)
      : vm_(vm), reader_(reader), outlet_(outlet), census_(census) {}
  ~SpaceLister() { Release(); }
  SpaceLister(const SpaceLister&) = delete;

  // Begins a sync point of these spaces. mode: what happens when the queue is full; limit: how long it may wait
  // for the writer in total.
  void Begin(std::span<const AntTracksSpace> spaces, PushMode mode, std::chrono::milliseconds limit);
  const std::vector<AntTracksSpace>& spaces() const { return spaces_; }

  // Each of the next three returns false if listed objects were lost or tracing has failed. List takes objects
  // by address.
  bool List(uint32_t space, std::span<const uint64_t> addresses);
  // Lists the first objects of a part of a space, at most a block of them, and takes them off the part. A part
  // begins and ends where an object or the space does.
  bool ListSome(uint32_t space, AddressRange* part);
  // Takes what the VM knows to be dead off the begin of a part.
  void SkipDead(AddressRange* part);
  // Queues what was listed.
  bool Close();

  // Counts the spaces of that kind as read; others list them.
  void CountAsRead(uint32_t kind);
  void Release() { stream_.Release(outlet_.queue); }
  void ForgetSiteClasses() { site_classes_.Clear(); }
  uint64_t objects() const { return objects_; }
  uint64_t words() const { return words_; }
  // The size of the whole sync point before compression, estimated from the part that was read. 0: not known
  // yet.
  double EstimatedBytes() const;

 private:
  // Adjacent objects that were listed one by one, and are not in the stream yet.
  struct Listed {
    static constexpr size_t kMost = 1000;
    AddressRange range;
    std::vector<uint16_t> ids;
    std::vector<uint32_t> lengths;
  };

  uint64_t ListOne(uint32_t space, uint64_t address);
  bool WriteListed(uint32_t space);
  bool WriteRun(uint32_t space, const AddressRange& range, std::span<const uint16_t> ids,
                std::span<const uint32_t> lengths);
  uint64_t ListBlock(uint32_t space, const AddressRange& run);
  uint64_t ListArchive(uint32_t space, const AddressRange& run);
  bool IsArchive(uint32_t space) const;
  void ReadTo(uint64_t address, AddressRange* part);

  const AntTracksVM& vm_;
  ObjectReader& reader_;
  const Outlet outlet_;
  Census* const census_;
  std::vector<AntTracksSpace> spaces_;
  PushMode mode_ = PushMode::kGiveUp;
  WaitBudget wait_;
  RunStream stream_;
  uint32_t space_ = 0;  // of the open segment
  Listed listed_;
  SiteClassCache site_classes_;
  Scratch scratch_;
  uint64_t objects_ = 0, words_ = 0;
  std::atomic<uint64_t> words_read_{0}, all_words_{0}, bytes_written_{0};
};

}  // namespace anttracks::core
