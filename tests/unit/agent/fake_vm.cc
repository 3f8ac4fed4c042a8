// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/fake_vm.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace anttracks::core {
namespace {

FakeVm* current = nullptr;

constexpr uint64_t kMirrorWords = 14;

constexpr uint64_t kLockBits = 3, kStackLocked = 0, kNeutral = 1, kInflated = 2;
// Other bits of a header: its age, a hash.
constexpr uint64_t kOtherBits = 0x5555500;
constexpr uint64_t kRandomPart = 0x555500;  // of a hash with a site

constexpr uint32_t kAbiHashShift = 8;  // where the ABI's numbers have the hash

thread_local bool is_known = false;

unsigned Moved(const AntTracksVM& vm) { return vm.hash_shift - kAbiHashShift; }

std::atomic_ref<uint64_t> MarkAt(uint64_t at) { return std::atomic_ref(*reinterpret_cast<uint64_t*>(at)); }
bool IsNeutral(uint64_t mark) { return (mark & kLockBits) == kNeutral; }
uint64_t Pointer(const FakeLock* lock, uint64_t state) { return reinterpret_cast<uint64_t>(lock) | state; }

// The site of an object whose mark says where its header is, if both could be read at the same time.
bool ReadDisplaced(uint64_t at, uint64_t mark, uint32_t* site) {
  if (mark == FakeVm::kBeingInflated || (mark & kLockBits) == FakeVm::kMarked) return false;
  const uint64_t header =
      reinterpret_cast<const FakeLock*>(mark & ~kLockBits)->header.load(std::memory_order_acquire);
  *site = current->vm().mark_site(header);
  return IsNeutral(header) && MarkAt(at).load(std::memory_order_acquire) == mark;
}

}  // namespace

KnownThread::KnownThread() { is_known = true; }
KnownThread::~KnownThread() { is_known = false; }

FakeVm::FakeVm(bool narrow, size_t heap_words) : heap_(heap_words) {
  current = this;
  classes_[kObject] = {"java.lang.Object", 16, -1, false, 0};
  classes_[kPoint] = {"Point", 24,      -1,
                      false,   kObject, {{"y", "I", 20}, {"name", "Ljava/lang/String;", 12}, {"x", "I", 16}}};
  classes_[kInts] = {"int[]", 0, 2, false, kObject};
  classes_[kMirror] = {"java.lang.Class", 0, -1, true, kObject};
  vm_.size = sizeof vm_;
  vm_.version = ANTTRACKS_ABI_VERSION;
  vm_.klass_offset = 8;
  vm_.klass_bytes = narrow ? 4 : 8;
  vm_.narrow_klass_base = kBase;
  vm_.narrow_klass_shift = 3;
  vm_.array_length_offset = narrow ? 12 : 16;
  vm_.object_alignment = 8;
  vm_.gc_workers = 2;
  vm_.site_scheme = ANTTRACKS_SITES_MARK;
  vm_.hash_shift = kAbiHashShift;
  vm_.mark_site = MarkSite;
  vm_.object_site = ObjectSite;
  vm_.object_bytes = ObjectBytes;
  vm_.describe_class = DescribeClass;
  vm_.describe_site = DescribeSite;
  vm_.describe_method = DescribeMethod;
  vm_.describe_thread = DescribeThread;
  vm_.describe_fields = DescribeFields;
  vm_.set_stack_bytes = [](uint32_t bytes) { current->stack_bytes = bytes; };
  vm_.heap_start = heap();
  vm_.heap_end = heap_end();
}

FakeVm::~FakeVm() { current = nullptr; }

void FakeVm::UseCompactHeaders() {
  vm_.klass_offset = 4;
  vm_.klass_shift = kClassBit - 32;
  vm_.array_length_offset = 8;
  UseScheme(ANTTRACKS_SITES_ASH);
  UseHashShift(11);
  classes_[kObject].bytes = 8;
}

uint64_t FakeVm::Put(uint64_t at, uint64_t klass, uint32_t site, uint32_t length) {
  char* p = reinterpret_cast<char*>(at);
  MarkAt(at).store(
      vm_.site_scheme == ANTTRACKS_SITES_ASH
          ? uint64_t{site} << (ANTTRACKS_ASH_SITE_SHIFT + Moved(vm_)) | ANTTRACKS_SITE_IN_HASH | kNeutral
          : HashedMark(site),
      std::memory_order_relaxed);
  const uint32_t value = static_cast<uint32_t>((klass - kBase) >> 3);
  if (vm_.klass_shift != 0) {
    SetMark(at, Mark(at) | uint64_t{value} << kClassBit);
  } else if (vm_.klass_bytes == 4) {
    std::memcpy(p + 8, &value, 4);
  } else {
    std::memcpy(p + 8, &klass, 8);
  }
  const FakeClass& c = classes_.at(klass);
  if (c.mirror) return at + kMirrorWords * 8;
  if (c.log2_element < 0) return at + c.bytes;
  std::memcpy(p + vm_.array_length_offset, &length, 4);
  const uint64_t bytes = vm_.array_length_offset + 4 + (uint64_t{length} << c.log2_element);
  return at + ((bytes + 7) & ~uint64_t{7});
}

uint64_t FakeVm::PutLocked(uint64_t at, uint64_t klass, uint32_t site) {
  const uint64_t end = Put(at, klass, site);
  const std::lock_guard lock(locks_mutex_);
  StackLock(at, &locks_.emplace_back());
  return end;
}

// The word is in its place before the mark says so.
bool FakeVm::StackLock(uint64_t at, FakeLock* lock) {
  uint64_t mark = MarkAt(at).load();
  if (!IsNeutral(mark)) return false;
  lock->header.store(mark);
  return MarkAt(at).compare_exchange_strong(mark, Pointer(lock, kStackLocked));
}

// The stack is used for something else then.
bool FakeVm::StackUnlock(uint64_t at, FakeLock* lock) {
  uint64_t mark = Pointer(lock, kStackLocked);
  if (!MarkAt(at).compare_exchange_strong(mark, lock->header.load())) return false;
  lock->header.store(0);
  return true;
}

bool FakeVm::Inflate(uint64_t at, FakeLock* monitor) {
  uint64_t mark = MarkAt(at).load();
  if (mark == FakeVm::kBeingInflated || ((mark & kLockBits) != kNeutral && (mark & kLockBits) != kStackLocked))
    return false;
  if (IsNeutral(mark)) {
    monitor->header.store(mark);
    return MarkAt(at).compare_exchange_strong(mark, Pointer(monitor, kInflated));
  }
  if (!MarkAt(at).compare_exchange_strong(mark, kBeingInflated)) return false;
  monitor->header.store(reinterpret_cast<const FakeLock*>(mark)->header.load());
  MarkAt(at).store(Pointer(monitor, kInflated));
  return true;
}

bool FakeVm::Deflate(uint64_t at, FakeLock* monitor) {
  uint64_t mark = Pointer(monitor, kInflated);
  if (!MarkAt(at).compare_exchange_strong(mark, monitor->header.load())) return false;
  monitor->header.store(0);
  return true;
}

uint64_t FakeVm::Mark(uint64_t at) { return MarkAt(at).load(); }

uint64_t FakeVm::SetMark(uint64_t at, uint64_t mark) { return MarkAt(at).exchange(mark); }

int32_t FakeVm::DescribeClass(uint64_t klass, AntTracksClass* out, char* text, size_t bytes) {
  const auto found = current->classes_.find(klass);
  if (found == current->classes_.end()) return -1;
  current->described_classes++;
  const FakeClass& c = found->second;
  if (bytes < c.name.size() + 5) return static_cast<int32_t>(c.name.size() + 5);
  std::memcpy(text, c.name.c_str(), c.name.size() + 1);
  std::memcpy(text + c.name.size() + 1, "app", 4);
  out->name = text;
  out->loader_name = text + c.name.size() + 1;
  out->loader = 77;
  out->is_array = c.log2_element >= 0;
  out->is_mirror = c.mirror;
  out->instance_bytes = out->is_array || c.mirror ? 0 : c.bytes;
  out->array_header_bytes = out->is_array ? current->vm_.array_length_offset + 4 : 0;
  out->array_log2_element_bytes = out->is_array ? static_cast<uint32_t>(c.log2_element) : 0;
  out->super_klass = c.super;
  return 0;
}

// Sites 16 to 99; a site over 20 was inlined into the one before.
int32_t FakeVm::DescribeSite(uint32_t site, AntTracksSite* out) {
  if (site < 16 || site >= 100) return -1;
  out->method = site / 2;
  out->bci = static_cast<int32_t>(site);
  out->line = -1;
  out->caller = site > 20 ? site - 1 : 0;
  out->tier = ANTTRACKS_TIER_C2;
  out->flags = 0;
  return 0;
}

int32_t FakeVm::DescribeMethod(uint32_t method, AntTracksMethod* out, char* text, size_t bytes) {
  const std::string name = "m" + std::to_string(method);
  if (bytes < name.size() + 1) return static_cast<int32_t>(name.size() + 1);
  std::memcpy(text, name.c_str(), name.size() + 1);
  out->class_name = "Some";
  out->name = text;
  out->signature = "()V";
  out->source_file = "";
  return 0;
}

// A thread is a number.
int32_t FakeVm::DescribeThread(void* thread, AntTracksThread* out, char* text, size_t bytes) {
  const std::string name = "thread " + std::to_string(reinterpret_cast<uintptr_t>(thread));
  if (bytes < name.size() + 1) return static_cast<int32_t>(name.size() + 1);
  std::memcpy(text, name.c_str(), name.size() + 1);
  out->is_java = 1;
  out->java_id = reinterpret_cast<uintptr_t>(thread);
  out->os_id = 1000 + reinterpret_cast<uintptr_t>(thread);
  out->name = text;
  return 0;
}

int32_t FakeVm::DescribeFields(uint64_t klass, void* context, void (*visit)(void*, const AntTracksField*)) {
  const std::vector<FakeField>& fields = current->classes_.at(klass).fields;
  for (const FakeField& field : fields) {
    // The text is gone after the visit.
    const std::string name = field.name, signature = field.signature;
    const AntTracksField seen{sizeof seen, field.offset, name.c_str(), signature.c_str()};
    visit(context, &seen);
  }
  return static_cast<int32_t>(fields.size());
}

// An id of ash is the site before 6 random bits here.
uint64_t FakeVm::HashedMark(uint32_t site) const {
  const unsigned moved = Moved(vm_);
  switch (vm_.site_scheme) {
    case ANTTRACKS_SITES_HASH:
      return (uint64_t{site} << ANTTRACKS_HASH_SITE_SHIFT | kRandomPart) << moved | ANTTRACKS_SITE_IN_HASH |
             kNeutral;
    case ANTTRACKS_SITES_ASH:
      return (ANTTRACKS_ASH_FILLED | uint64_t{site} << (ANTTRACKS_ASH_SITE_SHIFT + 6) | 0x1500) << moved |
             ANTTRACKS_SITE_IN_HASH | kNeutral;
    default:
      return uint64_t{site} << (ANTTRACKS_SITE_SHIFT + moved) | kOtherBits | kNeutral;
  }
}

uint32_t FakeVm::MarkSite(uint64_t mark) {
  const uint32_t scheme = current->vm_.site_scheme;
  if (scheme != ANTTRACKS_SITES_MARK && (mark & ANTTRACKS_SITE_IN_HASH) == 0) return ANTTRACKS_SITE_NONE;
  constexpr uint64_t kBelowFilled = ANTTRACKS_ASH_FILLED - 1;
  if (current->vm_.klass_shift != 0) mark &= (uint64_t{1} << kClassBit) - 1;
  mark >>= Moved(current->vm_);
  switch (scheme) {
    case ANTTRACKS_SITES_HASH:
      return static_cast<uint32_t>(mark >> ANTTRACKS_HASH_SITE_SHIFT);
    case ANTTRACKS_SITES_ASH:
      return static_cast<uint32_t>((mark & kBelowFilled) >>
                                   (ANTTRACKS_ASH_SITE_SHIFT + ((mark & ANTTRACKS_ASH_FILLED) != 0 ? 6 : 0)));
    default:
      return static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
  }
}

// The VM's protocol.
uint32_t FakeVm::ObjectSite(uint64_t address) {
  constexpr int kSpins = 1000, kMostMs = 60'000;
  for (int i = 0; i < kSpins + kMostMs; i++) {
    const uint64_t mark = MarkAt(address).load(std::memory_order_acquire);
    uint32_t site = 0;
    if (IsNeutral(mark)) return MarkSite(mark);
    const bool header_stays = current->vm_.klass_shift != 0 && (mark & kLockBits) != kMarked;
    if (header_stays) return MarkSite((mark & ~kLockBits) | kNeutral);
    if (ReadDisplaced(address, mark, &site)) return site;
    if (!is_known && ((mark & kLockBits) == kMarked || i >= kSpins)) break;
    if (i >= kSpins) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ANTTRACKS_SITE_CANNOT_TELL;
}

uint64_t FakeVm::ObjectBytes(uint64_t) { return kMirrorWords * 8; }

}  // namespace anttracks::core
