// SPDX-License-Identifier: Apache-2.0
// One trace being recorded: turns what the VM reports into segments and queues them. Knows neither JVMTI nor
// files. Uses the VM interface's plain C structs as they are, since conversion on these paths would cost.
//
// Thread safety: Alloc, Object and ThreadExit run in application threads, each with its own state; Collection*,
// Sync* and ClassUnload in the VM thread at a safepoint, where no application thread is in a callback; Moves,
// Slides and Fillers in GC workers, each with its own number. Registry and symbols have a mutex each, which is
// never held while anything is queued. Everything else is atomic or lives in Failure and BufferQueue.
//
// Ownership: the session owns thread states (reached through the VM's slots), worker states, pool, queue and
// symbols. AntTracksVM must outlive it. It must not be destroyed before the VM's stop returned.
//
// Failure: see Failure. Nothing here throws to the VM; callbacks.cc catches.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "agent/core/background.h"
#include "agent/core/budget.h"
#include "agent/core/counter.h"
#include "agent/core/event_source.h"
#include "agent/core/readers.h"
#include "agent/core/skipped_map.h"
#include "agent/core/symbols.h"
#include "agent/core/thread_state.h"
#include "trace/events.h"
#include "trace/gc_records.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct SessionConfig {
  size_t buffer_bytes = 64 << 10;
  size_t queue_bytes = 32 << 20;
  size_t wait_bytes = 0;  // queued, before threads wait; 0: queue_bytes
  double fuzz = 0.1;  // of the size of buffers
  WhenFull when_full = WhenFull::kBlock;
  // Of a TLAB, read at once while it is in the cache; 0: whole TLABs.
  uint32_t stretch_bytes = 64 << 10;
  double budget_percent = 0;  // of the program's CPU time; 0: no budget
  uint32_t share = trace::kWholeShare;  // of the stretches that are read, without a budget
  unsigned readers = 0;  // threads that read what others have allocated
  Readers::Waited reader_waited = {};  // for tests
  // How long the host may wait for the writer; see wait_budget.h.
  std::chrono::milliseconds wait_limit = limits::kHangs;
  std::chrono::milliseconds report_limit = limits::kReport;
  std::chrono::milliseconds pause_limit = limits::kPause;
  std::chrono::milliseconds first_sight_limit = limits::kFirstSight;
  uint32_t most_id = trace::kMaxId;  // see Symbols
};

class Session final : public EventSource {
 public:
  Session(const AntTracksVM& vm, const SessionConfig& config);
  ~Session() override;

  // Before the VM's start. The heap and the GC workers are known now.
  void Begin(trace::SyncReason reason);
  // Before the VM's stop: the walk of the old space ends, and none begins; its sync point stays incomplete. Nobody waits
  // for the writer any more: threads that did would keep the VM from its safepoint, and stop itself waits in one.
  void PrepareStop();
  // After the VM's stop: hands over what is left and closes the queue.
  void Finish(std::string_view reason) noexcept override;
  // Without the VM's stop (it is gone already): threads' open buffers are lost and say so.
  void Abandon(std::string_view reason) noexcept override;

  void SyncBegin(std::span<const AntTracksSpace> spaces);
  void SyncObjects(uint32_t space, std::span<const uint64_t> addresses);
  void FirstSyncEnd();
  void Alloc(void* thread, void** slot, uint64_t start, uint64_t top, bool at_safepoint);
  // Reads what was reported and not yet read. At a safepoint, or when no thread allocates.
  void WalkAll();
  void Object(void* thread, void** slot, uint64_t address);
  void ThreadExit(void* thread, void** slot);
  void CollectionBegin(const AntTracksGC& gc);
  // When tracing has gone off, before objects move: nobody is in the heap at the return, and nobody goes there any more.
  void LeaveHeap() noexcept;
  void Moves(uint32_t worker, std::span<const AntTracksMove> moves);
  void Slides(uint32_t worker, std::span<const AntTracksSlide> slides);
  void Fillers(uint32_t worker, std::span<const AntTracksFiller> fillers);
  void ClassUnload(uint64_t klass);

  // Rotation. The next collection that can be one shall be a sync point and begin a new file. Any thread.
  void WantSyncPoint() override { sync_wanted_.store(true, std::memory_order_relaxed); }
  // What was wanted while a new file was under way was wanted of the file before it: so the mark is asked for first.
  bool sync_point_wanted() const {
    return !next_file_queued_.load(std::memory_order_acquire) && sync_wanted_.load(std::memory_order_relaxed);
  }
  // From the writer, at the mark.
  void NextFileBegun() override {
    sync_wanted_.store(false, std::memory_order_relaxed);  // released by the next line
    next_file_queued_.store(false, std::memory_order_release);
  }
  // About how many bytes, before compression, the youngest sync point takes, from the part that was read. 0: not known
  // yet. Any thread.
  double SyncPointBytes() const override;
  void RequestCollection() override { background_.RequestCollection(); }

  // What tracing may cost from now on, in percent of the program's CPU time; 100 and more: whatever it does. False: there is no memory
  // for it. Any thread, one at a time.
  bool SetBudget(double percent);
  const Budget& budget() const { return budget_; }
  void HandOver() override;
  Background& background() { return background_; }
  void CollectionEnd(const AntTracksGC& gc);

  // By readers; refused: left to their threads.
  uint64_t batches_read() const { return readers_.batches_read(); }
  uint64_t batches_refused() const { return readers_.batches_refused(); }
  uint64_t reader_rests() const { return readers_.rests(); }
  uint32_t stretch_bytes() const { return stretch_bytes_; }
  const AntTracksVM& vm() const { return vm_; }
  Symbols& symbols() { return symbols_; }
  bool symbols_pending() const override { return symbols_.pending(); }
  std::vector<trace::ByteBuffer> TakeSymbols() override { return symbols_.Take(); }

  std::string end_reason() const override;
  // Counters of threads that run may lag behind each other.
  std::string CountersJson() const override;

 private:
  template <class Encoder>
  struct GcStream {
    Buffer* buffer = nullptr;
    uint8_t* out = nullptr;
    uint8_t* limit = nullptr;
    Counter count;
    Encoder encoder;
  };
  struct alignas(64) Worker {
    GcStream<trace::MoveEncoder> moves;
    GcStream<trace::SlideEncoder> slides;
    GcStream<trace::FillerEncoder> fillers;
    GcStream<trace::FoundEncoder> found;
    std::vector<AntTracksSlide> stayed;  // in a young collection, where something was skipped
    Counter hook_ns;
  };
  struct Sync;
  // An object's header, read.
  struct Header {
    uint32_t site = 0;
    uint64_t klass = 0;
    Kind kind;
    uint32_t length = 0;
    uint64_t words = 0;
    bool has_length = false;
    bool locked = false;  // the mark was not in the header
  };
  // What a walk reads stretches into before they are written.
  struct Scratch {
    struct Lane {
      std::vector<uint16_t> ids;
      std::vector<uint32_t> lengths;
      size_t id_count = 0, length_count = 0;
      std::span<const uint16_t> id_span() const { return {ids.data(), id_count}; }
      std::span<const uint32_t> length_span() const { return {lengths.data(), length_count}; }
    };
    Lane lanes[kLanes];
    uint64_t ends[kLanes] = {};
  };
  static constexpr size_t kMostOutside = 32;  // in a batch
  // Bytes of objects in a run; more than readers take at a time.
  static constexpr uint64_t kMostOfRun = 4 << 20;

  static constexpr size_t kStagingBytes = 256 << 10;
  // Small segments are copied together, so that they do not queue whole buffers.
  static bool IsSmall(const Buffer& buffer, size_t used) {
    return used < buffer.capacity / 4 && used < kStagingBytes / 16;
  }

  // Threads.
  ThreadState* State(void* thread, void** slot);
  bool OpenSegment(ThreadState& state, size_t bytes, uint32_t share);
  void CloseSegment(ThreadState& state, PushMode mode);
  void AppendOpenSegment(ThreadState& state, trace::ByteBuffer* out);
  void HandOverAll(PushMode mode, bool read_skipped = false);
  void LastWords(ThreadState& state, void* thread);
  void StageThread(ThreadState& state, PushMode mode);
  void PushStaged(PushMode mode);
  void PushFrame(const trace::ByteBuffer& segment, bool flush = false);

  // Objects.
  bool ReadHeader(uint64_t address, Header* header, bool ask_vm = true);
  uint64_t ReadOdd(KindCache& cache, uint64_t address, Columns* columns, bool ask_vm);
  template <bool kPlain>
  bool ReadSomeStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch, bool ask_vm);
  bool ReadStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch, bool ask_vm);
  bool RoomForRun(ThreadState& state, size_t bytes, uint32_t share, PushMode mode);
  void WriteRun(ThreadState& state, const Stretch& range, trace::How how, uint32_t share, std::span<const uint16_t> ids,
                std::span<const uint32_t> lengths, PushMode mode);
  void WriteOutside(ThreadState& state, uint64_t address, const Header& header, PushMode mode);
  bool ReadOutside(const Batch& batch, std::vector<Header>* headers, bool ask_vm);
  bool ReadBlock(ThreadState& state, const Batch& batch, Stretch* stretch, Scratch& scratch, PushMode mode);
  bool ReadBatch(ThreadState& state, const Batch& batch, PushMode mode, bool ask_vm);
  bool ReadForThread(ThreadState& state, const Batch& batch);
  std::unique_ptr<Scratch> TakeScratch();
  void HandBatch(ThreadState& state);
  void ReadNow(ThreadState& state, PushMode mode, bool all);
  Kind ResolveKind(uint32_t site, uint64_t klass, uint64_t address);

  // Stretches that are skipped.
  struct Orphans {  // of a thread that has ended
    uint32_t thread = 0;
    std::vector<Stretch> skipped;
  };
  bool MakeSkippedMap();
  void Skip(ThreadState& state, const Stretch& stretch);
  void ReadSkipped(ThreadState& state, PushMode mode);
  void WriteSkipped(ThreadState& state, PushMode mode);
  void SettleSkipped(bool read, PushMode mode);
  void ForgetSkipped();
  bool Found(uint32_t worker, const AntTracksSlide& move, bool old);
  void FoundInPlace();
  Budget::Costs CostsSoFar() const;

  // Collections.
  template <class Encoder>
  bool OpenGc(GcStream<Encoder>& stream);
  template <class Encoder>
  void CloseGc(GcStream<Encoder>& stream, trace::SegmentKind kind, uint32_t worker, PushMode mode);
  template <class Encoder>
  void StageGc(GcStream<Encoder>& stream, trace::SegmentKind kind, uint32_t worker);
  bool CheckWorker(uint32_t worker);
  void StageWorkers();
  void PushStagedGc();
  void ForgetCachedKinds();
  void PushCollection(trace::SegmentKind kind, const AntTracksGC& gc);

  // Sync points.
  bool OpenSync(uint32_t space, size_t bytes);
  bool CloseSync(PushMode mode);
  bool MayBeSyncPoint(const AntTracksGC& gc) const;
  void BeginSyncPoint(const AntTracksGC& gc, bool next_file);
  bool IsArchive(uint32_t space) const;
  bool WriteListed(uint32_t space, PushMode mode);
  uint64_t ListObject(uint32_t space, uint64_t address, bool archive, PushMode mode);
  bool WalkSpace(uint32_t index, const Stretch& space, bool concurrent);
  uint64_t ListRun(uint32_t index, const Stretch& run);
  uint64_t ListArchive(uint32_t index, const Stretch& run);
  bool WriteSyncRun(uint32_t space, const Stretch& range, std::span<const uint16_t> ids, std::span<const uint32_t> lengths,
                    PushMode mode);
  void SyncEnd();
  void WalkInPause();
  bool WalkYoung(bool concurrent);
  bool WalkOld(bool concurrent);
  void WalkSpaces();
  void FinishYoungSpaces();
  void FinishSyncPoint();
  void AbandonSyncPoint(std::string_view reason);
  void StopSyncPoint(std::string_view reason);
  void CloseSyncPoint();
  uint64_t YoungSlides() const;

  const AntTracksVM& vm_;
  const uint32_t stretch_bytes_;
  const std::chrono::milliseconds report_limit_, pause_limit_, first_sight_limit_;
  Symbols symbols_;

  uint32_t alignment_ = 8;
  trace::SyncReason reason_ = trace::SyncReason::kStart;
  std::vector<Worker> workers_;
  std::unique_ptr<Sync> sync_;
  trace::ByteBuffer staging_;   // of the VM thread
  bool kinds_removed_ = false;  // in this collection; of the VM thread
  WaitBudget pause_wait_;       // of all that is reported in the pause that is under way
  Counter collections_, sync_objects_, sync_points_, abandoned_sync_points_, sync_pause_ns_;
  Background background_;
  std::atomic<bool> sync_wanted_{false}, next_file_queued_{false};
  // Of the VM thread. The next sync point reads all spaces in the pause, as the last one was interrupted.
  bool sync_in_pause_ = false;
  uint64_t slides_before_ = 0;

  const double budget_percent_;  // at the beginning
  Budget budget_;
  SkippedMap skipped_;
  std::atomic<bool> may_skip_{false};  // the map is there
  std::vector<Stretch> standing_;      // skipped, in the collection that is under way; of the VM thread
  uint64_t adjusted_ns_ = 0;           // of the writer

  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // as many as threads have walked at a time

  mutable std::mutex registry_mutex_;
  ThreadState* threads_ = nullptr;
  AllocCounts exited_;  // of threads that are gone
  std::vector<Orphans> orphans_;
  std::string end_reason_;

  const unsigned reader_count_;
  Readers readers_;  // last: they end first
};

}  // namespace anttracks::core
