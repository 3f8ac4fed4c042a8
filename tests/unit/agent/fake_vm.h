// SPDX-License-Identifier: Apache-2.0
// A VM interface over a heap of plain memory, so that the core runs without a JVM.
//
// Thread safety: as the real one's: queries from any thread; Put* on disjoint memory. One FakeVm at a time,
// since the interface's functions have no context.
#pragma once

#include <atomic>
#include <cstdint>
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

class FakeVm {
 public:
  static constexpr uint64_t kBase = 0x7f0000000000;
  static constexpr uint64_t kObject = kBase + 0x100, kPoint = kBase + 0x200, kInts = kBase + 0x300,
                            kMirror = kBase + 0x400;

  explicit FakeVm(bool narrow = true, size_t heap_words = 1 << 16);
  ~FakeVm();

  AntTracksVM& vm() { return vm_; }
  std::map<uint64_t, FakeClass>& classes() { return classes_; }

  // Writes an object at the address; gives the address behind it.
  uint64_t Put(uint64_t at, uint64_t klass, uint32_t site, uint32_t length = 0);
  // As Put, but the header is displaced: its site is known to object_site only.
  uint64_t PutLocked(uint64_t at, uint64_t klass, uint32_t site);
  uint64_t heap() const { return reinterpret_cast<uint64_t>(heap_.data()); }
  uint64_t heap_end() const { return heap() + heap_.size() * 8; }

  // What start was given.
  AntTracksCallbacks callbacks{};
  std::atomic<int> described_classes{0};

 private:
  static int32_t DescribeClass(uint64_t, AntTracksClass*, char*, size_t);
  static int32_t DescribeSite(uint32_t, AntTracksSite*);
  static int32_t DescribeMethod(uint32_t, AntTracksMethod*, char*, size_t);
  static int32_t DescribeThread(void*, AntTracksThread*, char*, size_t);
  static int32_t DescribeFields(uint64_t, void*, void (*)(void*, const AntTracksField*));
  static uint32_t ObjectSite(uint64_t);
  static uint64_t ObjectBytes(uint64_t);

  AntTracksVM vm_{};
  std::map<uint64_t, FakeClass> classes_;
  std::mutex displaced_mutex_;
  std::map<uint64_t, uint32_t> displaced_;  // guarded by displaced_mutex_
  std::vector<uint64_t> heap_;
};

}  // namespace anttracks::core
