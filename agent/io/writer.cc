// SPDX-License-Identifier: Apache-2.0
#include "agent/io/writer.h"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "agent/core/log.h"
#include "trace/events.h"

namespace anttracks::io {

using trace::SegmentKind;

constexpr std::string_view kBoundReached = "the trace reached its bound before a collection came";

Writer::~Writer() {
  if (started_ && !joined_) pthread_join(thread_, nullptr);
}

trace::Status Writer::Start(std::string meta_json) {
  meta_ = std::move(meta_json);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &Writer::Main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return trace::Status::Error("cannot start the writer thread: " + std::generic_category().message(error));
  }
  started_ = true;
  return {};
}

bool Writer::Wait(std::chrono::milliseconds without_progress, std::chrono::milliseconds in_all) {
  using std::chrono::steady_clock;
  if (!started_ || joined_) return true;
  const auto until = steady_clock::now() + in_all;
  std::unique_lock lock(mutex_);
  uint64_t chunks = source_.output().chunks.load();
  while (!finished_.wait_until(lock, std::min(until, steady_clock::now() + without_progress), [this] { return done_; })) {
    const uint64_t now = source_.output().chunks.load();
    if (now == chunks || steady_clock::now() >= until) return false;
    chunks = now;
  }
  lock.unlock();
  pthread_join(thread_, nullptr);
  joined_ = true;
  return true;
}

void* Writer::Main(void* self) {
  pthread_setname_np(pthread_self(), "anttracks");
  static_cast<Writer*>(self)->Run();
  return nullptr;
}

void Writer::Run() {
  try {
    Loop();
  } catch (const std::exception& e) {
    source_.failure().Fail(e.what());
  } catch (...) {
    source_.failure().Fail("internal error: unknown exception in the writer");
  }
  source_.queue().Discard();
  const trace::Status closed = sink_.Close();
  if (!closed.ok() && !broken_) core::LogError(closed.message());
  const std::lock_guard lock(mutex_);
  done_ = true;
  finished_.notify_all();
}

void Writer::Loop() {
  if (sink_.rotates()) WriteSymbolChunk(trace::ChunkType::kMeta, Meta().span());
  WriteChunk(trace::ChunkType::kMeta, Meta());
  while (!broken_) {
    // In this order: what is pushed after closed was read is of no interest.
    const bool last = source_.queue().closed() || source_.failure().failed();
    source_.HandOver();
    const bool any = AddBuffers(last ? std::chrono::milliseconds(0) : kFlushAfter);
    CheckFiles();
    PollSink();
    if (any) continue;
    FlushChunk();
    WriteEncoded(true);
    if (last) break;
  }
  if (!broken_) WriteEnd();
  WriteEncoded(true);
}

// False: none came within that time.
bool Writer::AddBuffers(std::chrono::milliseconds wait) {
  // They go back also when there is no memory for what they hold.
  struct Taken {
    core::BufferQueue& queue;
    core::Buffer* const list;
    ~Taken() { queue.Recycle(list); }
  };
  const Taken taken{source_.queue(), source_.queue().Pop(wait)};
  AddSymbols();
  for (core::Buffer* buffer = taken.list; buffer != nullptr && !broken_; buffer = buffer->next) Add(*buffer);
  return taken.list != nullptr;
}

void Writer::AddSymbols() {
  if (!source_.symbols_pending()) return;
  trace::ByteBuffer& out = sink_.rotates() ? symbols_ : chunk_;
  for (const trace::ByteBuffer& block : source_.TakeSymbols()) {
    trace::AppendSegment(&out, SegmentKind::kSymbols, 0, block.span());
    if (symbols_.size() >= sink_.chunk_bytes()) FlushSymbols();
    if (chunk_.size() >= sink_.chunk_bytes()) FlushChunk();
  }
}

void Writer::Add(core::Buffer& buffer) {
  if (buffer.kind == core::kNextFile) {
    NextFile();
    return;
  }
  if (buffer.kind == core::kSyncComplete) {
    FlushChunk();
    WriteEncoded(true);
    has_sync_point_ = !dropping_;
    if (has_sync_point_) retry_after_ = kRetryAfter;
    if (has_sync_point_) sink_.SyncPointComplete();
    return;
  }
  const std::span<const uint8_t> bytes(buffer.data(), buffer.used);
  if (buffer.kind == 0) {
    chunk_.Append(bytes);
  } else {
    trace::AppendSegment(&chunk_, static_cast<SegmentKind>(buffer.kind), buffer.stream, bytes);
  }
  if (chunk_.size() >= sink_.chunk_bytes() || buffer.flush) FlushChunk();
}

void Writer::WriteEnd() {
  FlushChunk();
  WriteEncoded(true);
  if (broken_) return;
  const core::Failure& failure = source_.failure();
  std::string reason = source_.end_reason();
  const uint64_t now = source_.clock().Now();
  if (failure.failed()) {
    reason = "tracing stopped: " + failure.reason();
    trace::AppendLoss(&chunk_, now, dropped_chunks_, dropped_bytes_, failure.reason());
  } else if (dropped_chunks_ != 0) {
    trace::AppendLoss(&chunk_, now, dropped_chunks_, dropped_bytes_, kBoundReached);
  }
  if (dropping_) symbols_.Clear();
  dropping_ = false;
  bound_is_lifted_ = true;  // room is kept for what comes now
  FlushChunk();
  if (!sink_.rotates()) {
    trace::AppendEnd(&chunk_, now, reason, source_.CountersJson());
    FlushChunk();
    return;
  }
  trace::AppendEnd(&symbols_, now, reason, source_.CountersJson());
  FlushSymbols();
}

void Writer::FlushChunk() {
  FlushSymbols();
  if (chunk_.empty()) return;
  WriteChunk(trace::ChunkType::kData, std::move(chunk_));
  chunk_.Clear();
}

void Writer::FlushSymbols() {
  if (symbols_.empty() || dropping_) return;
  if (!bound_is_lifted_ && !MakeRoomForSymbols(FilesToKeep())) {
    WriteEncoded(true);
    if (!dropping_) BeginToDrop();
    return;
  }
  WriteSymbolChunk(trace::ChunkType::kData, symbols_.span());
  symbols_.Clear();
}

// While the heap of the current data file is not complete the one before has it.
size_t Writer::FilesToKeep() const { return has_sync_point_ ? 1 : 2; }

bool Writer::MakeRoomForSymbols(size_t keep) {
  return sink_.MakeRoom(symbols_.size() + trace::kChunkHeaderBytes, keep);
}

trace::ByteBuffer Writer::Meta() const {
  trace::ByteBuffer meta;
  meta.Append({reinterpret_cast<const uint8_t*>(meta_.data()), meta_.size()});
  return meta;
}

void Writer::WriteChunk(trace::ChunkType type, trace::ByteBuffer&& payload) {
  if (broken_) return;
  if (dropping_) {
    Drop(payload.size());
    return;
  }
  while (compressors_.full()) WriteFront(true);
  if (dropping_) {
    Drop(payload.size());
    return;
  }
  compressors_.Submit(type, std::move(payload), sequence_++, source_.queue().fill());
  WriteEncoded(false);
}

void Writer::WriteEncoded(bool all) {
  while (WriteFront(all)) {
  }
  if (sink_.rotates() && !broken_) AskForSpace();
}

// The oldest chunk, if it is done or wait. False: there was none.
bool Writer::WriteFront(bool wait) {
  const Encoded* chunk = compressors_.Front(wait);
  if (chunk == nullptr) return false;
  if (!broken_) WriteOne(*chunk);
  compressors_.PopFront();
  return true;
}

void Writer::WriteOne(const Encoded& chunk) {
  if (chunk.status.ok() && !dropping_ && !bound_is_lifted_ && !sink_.MakeRoom(chunk.bytes.size(), FilesToKeep())) {
    BeginToDrop();
  }
  if (dropping_) {
    sequence_ = std::min(sequence_, chunk.sequence);  // for the next one that is written
    Drop(chunk.raw_bytes);
    return;
  }
  const uint64_t begin = core::Clock::Monotonic();
  const trace::Status status = chunk.status.ok() ? sink_.Write(chunk.bytes) : chunk.status;
  source_.output().write_ns += core::Clock::Monotonic() - begin;
  Written(status, chunk.raw_bytes, chunk.bytes.size());
  source_.output().compressed_chunks = compressors_.counts().compressed.load();
  source_.output().compress_ns = compressors_.counts().cpu_ns.load();
}

void Writer::WriteSymbolChunk(trace::ChunkType type, std::span<const uint8_t> payload) {
  if (broken_) return;
  const auto chunk = symbol_chunks_.Encode(type, payload);
  Written(chunk.ok() ? sink_.WriteSymbols(*chunk) : chunk.status(), payload.size(), chunk.ok() ? chunk->size() : 0);
}

void Writer::Written(const trace::Status& status, size_t raw, size_t stored) {
  if (!status.ok()) {
    broken_ = true;
    source_.failure().Fail(status.message());
    return;
  }
  core::OutputCounts& counts = source_.output();
  counts.raw_bytes += raw;
  counts.stored_bytes += stored;
  counts.chunks++;
}

// Where a sync point's mark is in the queue.
void Writer::NextFile() {
  FlushChunk();
  WriteEncoded(true);
  if (broken_) return;
  const trace::Status status = sink_.NextFile();
  if (!status.ok()) {
    Written(status, 0, 0);
    return;
  }
  source_.output().files++;
  source_.NextFileBegun();
  has_sync_point_ = false;
  dropping_ = false;
  if (!symbols_.empty()) {  // they waited; if there is no room now, with all files but this one gone, there never will be
    (void)MakeRoomForSymbols(1);
    WriteSymbolChunk(trace::ChunkType::kData, symbols_.span());
    symbols_.Clear();
  }
  WriteChunk(trace::ChunkType::kMeta, Meta());
  if (dropped_chunks_ == 0) return;
  trace::ByteBuffer loss;
  trace::AppendLoss(&loss, source_.clock().Now(), dropped_chunks_, dropped_bytes_, kBoundReached);
  WriteChunk(trace::ChunkType::kData, std::move(loss));
  dropped_chunks_ = dropped_bytes_ = 0;
}

// Tells the session when the data file is full, and asks for a collection when none came in time.
void Writer::AskForSpace() {
  const auto now = std::chrono::steady_clock::now();
  if (!has_sync_point_) {
    // It has no room if the bound was reached. Another one now and then, but no collection for it: the application
    // comes first.
    if (dropping_ && now >= retry_at_) source_.WantSyncPoint();
    return;
  }
  if (dropping_ || sink_.WantsNext()) source_.WantSyncPoint();
  if (!dropping_ && !sink_.NearBound()) return;
  if (now - asked_ < kAskAgainAfter) return;
  asked_ = now;
  source_.output().requested_collections++;
  source_.RequestCollection();
}

// From here on nothing is written.
void Writer::BeginToDrop() {
  dropping_ = true;
  if (has_sync_point_) return;
  ReportTooSmall();
  retry_at_ = std::chrono::steady_clock::now() + retry_after_;
  retry_after_ = std::min(2 * retry_after_, kRetryAtMost);
}

void Writer::Drop(size_t bytes) {
  dropped_chunks_++;
  dropped_bytes_ += bytes;
  source_.output().dropped_chunks++;
  source_.output().dropped_bytes += bytes;
  AskForSpace();
}

// A file that cannot hold the sync point it begins with is of no use.
void Writer::ReportTooSmall() {
  const core::OutputCounts& counts = source_.output();
  const double raw = source_.SyncPointBytes();
  if (raw == 0 || said_too_small_) return;
  said_too_small_ = true;
  core::LogWarn(sink_.TooSmall(raw * static_cast<double>(counts.stored_bytes) / static_cast<double>(counts.raw_bytes)));
}

void Writer::PollSink() {
  const auto now = std::chrono::steady_clock::now();
  if (broken_ || now - polled_ < kPollAfter) return;
  polled_ = now;
  sink_.Poll();
  const FoldCounts folds = sink_.folds();
  core::OutputCounts& counts = source_.output();
  counts.folded_files = folds.folded;
  counts.unfolded_files = folds.unfolded;
  counts.fold_cpu_ns = folds.cpu_ns;
}

// Somebody may have deleted what is being written: nobody will find the rest.
void Writer::CheckFiles() {
  const auto now = std::chrono::steady_clock::now();
  if (broken_ || now - checked_ < kCheckAfter) return;
  checked_ = now;
  const trace::Status status = sink_.Check();
  if (!status.ok()) Written(status, 0, 0);
}

}  // namespace anttracks::io
