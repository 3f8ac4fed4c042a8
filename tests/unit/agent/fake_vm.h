// SPDX-License-Identifier: Apache-2.0
// A VM interface over a heap of plain memory, so that the core runs without a JVM.
//
// Objects have the headers of HotSpot 17, or the compact ones of 25. The mark is a word with the site, or with
// nothing but its lowest bits says where that word is while the object is locked.
//
//     site..01  neutral
//     lock..00  locked by a thread: the word lies on its stack
//     lock..10  inflated: the word lies in a monitor
//            0  being inflated: nobody can tell the site
//     ......11  a heap walk of JVM TI is under way, and has been here
//
// Thread safety: as the real one's: queries from any thread; Put* on disjoint memory; marks change while others
// read them. One FakeVm at a time, since the interface's functions have no context.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct FakeField {
  std::string name, signature;
  uint32_t offset;
};

struct FakeClass {
  std::string name;
  uint64_t bytes = 16;  // of an instance
  int log2_element = -1;
  bool mirror = false;
  uint64_t super = 0;
  std::vector<FakeField> fields = {};
};

// The word of an object's header while the object is locked: on a thread's stack, or in a monitor.
struct FakeLock {
  alignas(8) std::atomic<uint64_t> header{0};
};

// While it lives the VM knows its thread, which then waits for marks that are about to change.
class KnownThread {
 public:
  KnownThread();
  ~KnownThread();
  KnownThread(const KnownThread&) = delete;
};

class FakeVm {
 public:
  static constexpr uint64_t kBase = 0x7f0000000000;
  static constexpr uint64_t kObject = kBase + 0x100, kPoint = kBase + 0x200, kInts = kBase + 0x300,
                            kMirror = kBase + 0x400;

  explicit FakeVm(bool narrow = true, size_t heap_words = 1 << 16);
  ~FakeVm();

  AntTracksVM& vm() { return vm_; }
  // Where Put puts sites from now on: ANTTRACKS_SITES_*. To begin with MARK. Before a session is made.
  void UseScheme(uint32_t scheme) { vm_.site_scheme = scheme; }
  // Where identity hashes begin: 8, as in JDK 17, to begin with. Before a session is made.
  void UseHashShift(uint32_t shift) { vm_.hash_shift = shift; }
  // Those of JDK 25, with sites as in scheme ash: the class lies in the mark, and an Object has nothing but
  // that. Before a session is made.
  void UseCompactHeaders();
  // A mark with this site, whose object has an identity hash of its own: in ash an id stands for the site.
  uint64_t HashedMark(uint32_t site) const;
  std::map<uint64_t, FakeClass>& classes() { return classes_; }

  // Writes an object at the address; gives the address behind it.
  uint64_t Put(uint64_t at, uint64_t klass, uint32_t site, uint32_t length = 0);
  // As Put, but another thread holds its lock: the site is known to object_site only.
  uint64_t PutLocked(uint64_t at, uint64_t klass, uint32_t site);

  // The object's mark. False: it is not in the state that this begins with.
  // With compact headers only LockInPlace.
  static bool StackLock(uint64_t at, FakeLock* lock);
  static bool StackUnlock(uint64_t at, FakeLock* lock);
  // Of a neutral object, or of one that is locked on a stack: that lock's word is the caller's to give up.
  static bool Inflate(uint64_t at, FakeLock* monitor);
  static bool Deflate(uint64_t at, FakeLock* monitor);
  // Any other; what was there before. kMarked is for while the world stands still.
  static constexpr uint64_t kBeingInflated = 0, kMarked = 3;
  static uint64_t SetMark(uint64_t at, uint64_t mark);
  // With compact headers: the object has an identity hash of its own, or is locked. The rest of the mark stays.
  void SetHashed(uint64_t at, uint32_t site) {
    SetMark(at, Mark(at) >> kClassBit << kClassBit | HashedMark(site));
  }
  static void LockInPlace(uint64_t at) { SetMark(at, Mark(at) & ~uint64_t{3}); }
  uint64_t heap() const { return reinterpret_cast<uint64_t>(heap_.data()); }
  uint64_t heap_end() const { return heap() + heap_.size() * 8; }

  // What start was given.
  AntTracksCallbacks callbacks{};
  std::atomic<int> described_classes{0};
  std::atomic<uint32_t> stack_bytes{0};  // what set_stack_bytes was given

 private:
  static constexpr unsigned kClassBit = 42;  // of a mark with compact headers

  static uint64_t Mark(uint64_t at);
  static int32_t DescribeClass(uint64_t, AntTracksClass*, char*, size_t);
  static int32_t DescribeSite(uint32_t, AntTracksSite*);
  static int32_t DescribeMethod(uint32_t, AntTracksMethod*, char*, size_t);
  static int32_t DescribeThread(void*, AntTracksThread*, char*, size_t);
  static int32_t DescribeFields(uint64_t, void*, void (*)(void*, const AntTracksField*));
  static uint32_t ObjectSite(uint64_t);
  static uint32_t MarkSite(uint64_t mark);
  static uint64_t ObjectBytes(uint64_t);

  AntTracksVM vm_{};
  std::map<uint64_t, FakeClass> classes_;
  std::mutex locks_mutex_;
  std::deque<FakeLock> locks_;  // of PutLocked; guarded by locks_mutex_
  std::vector<uint64_t> heap_;
};

}  // namespace anttracks::core
