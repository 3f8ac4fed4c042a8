// SPDX-License-Identifier: Apache-2.0
#include "agent/io/writer.h"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "agent/base/log.h"
#include "agent/base/own_thread.h"
#include "trace/events.h"

namespace anttracks::io {

using trace::SegmentKind;

// What a program can bring in a time slice or two. A file with less room than that is full, and the trace
// without any, before the writer has seen it.
constexpr uint64_t kLeastToBeLate = 4 << 20;
constexpr std::string_view kBoundReached = "the trace reached its bound before a collection came";

core::Wakeup Writer::WakeupFor(const Rotation& rotation) {
  const bool small = rotation.trace != nullptr && rotation.trace->policy().share() < kLeastToBeLate;
  return small ? core::Wakeup::kPreempts : core::Wakeup::kNeverPreempts;
}

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
  while (!finished_.wait_until(lock, std::min(until, steady_clock::now() + without_progress),
                               [this] { return done_; })) {
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
  auto* const writer = static_cast<Writer*>(self);
  core::BeginOwnThread("anttracks", WakeupFor(writer->rotation_));
  writer->Run();
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
  if (rotates()) WriteDefinitionChunk(trace::ChunkType::kMeta, Meta().span());
  WriteChunk(trace::ChunkType::kMeta, Meta());
  while (!broken_) {
    // In this order: what is pushed after closed was read is of no interest.
    const bool last = source_.queue().closed() || source_.failure().failed();
    source_.HandOver();
    const bool any = AddBuffers(last ? std::chrono::milliseconds(0) : kFlushAfter);
    CheckFiles();
    if (any) continue;
    FlushChunk();
    WriteEncoded(Pending::kAwait);
    if (last) break;
  }
  if (!broken_) WriteEnd();
  WriteEncoded(Pending::kAwait);
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
  AddDefinitions();
  for (core::Buffer* buffer = taken.list; buffer != nullptr && !broken_; buffer = buffer->next) Add(*buffer);
  return taken.list != nullptr;
}

void Writer::AddDefinitions() {
  if (!source_.definitions_pending()) return;
  trace::ByteBuffer& out = rotates() ? definitions_ : chunk_;
  for (const trace::ByteBuffer& block : source_.TakeDefinitions()) {
    trace::AppendSegment(&out, SegmentKind::kDefinitions, 0, block.span());
    if (definitions_.size() >= sink_.chunk_bytes()) FlushDefinitions();
    if (chunk_.size() >= sink_.chunk_bytes()) FlushChunk();
  }
}

void Writer::Add(core::Buffer& buffer) {
  if (buffer.kind == core::kNextFile || buffer.kind == core::kSyncComplete) {
    FlushChunk();
    WriteEncoded(Pending::kAwait);
    if (broken_ || !rotates()) return;
    if (buffer.kind == core::kNextFile) return NextFile();
    return SyncPointComplete();
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
  WriteEncoded(Pending::kAwait);
  if (broken_) return;
  const core::Failure& failure = source_.failure();
  std::string reason = source_.end_reason();
  const uint64_t now = source_.clock().Now();
  const auto dropped = rotates() ? policy().TakeDropped() : RotationPolicy::Dropped();
  if (failure.failed()) {
    reason = "tracing stopped: " + failure.reason();
    trace::AppendLoss(&chunk_, now, dropped.chunks, dropped.bytes, failure.reason());
  } else if (dropped.chunks != 0) {
    trace::AppendLoss(&chunk_, now, dropped.chunks, dropped.bytes, kBoundReached);
  }
  if (dropping()) {
    definitions_.Clear();
    waiting_definitions_.clear();
  }
  if (rotates()) policy().End();
  FlushChunk();
  if (!rotates()) {
    trace::AppendEnd(&chunk_, now, reason, source_.CountersJson());
    FlushChunk();
    return;
  }
  trace::AppendEnd(&definitions_, now, reason, source_.CountersJson());
  FlushDefinitions();
}

void Writer::FlushChunk() {
  FlushDefinitions();
  if (chunk_.empty()) return;
  WriteChunk(trace::ChunkType::kData, std::move(chunk_));
  chunk_.Clear();
}

void Writer::FlushDefinitions() {
  if (definitions_.empty()) return;
  if (dropping()) {
    // A chunk has a largest size, and the next file may be long in coming.
    if (definitions_.size() < sink_.chunk_bytes()) return;
    waiting_definitions_.push_back(std::move(definitions_));
    definitions_.Clear();
    return;
  }
  if (!MakeRoom(definitions_.size() + trace::kChunkHeaderBytes)) {
    WriteEncoded(Pending::kAwait);
    if (!dropping()) BeginToDrop();
    return;
  }
  WriteDefinitionChunk(trace::ChunkType::kData, definitions_.span());
  definitions_.Clear();
}

trace::ByteBuffer Writer::Meta() const {
  trace::ByteBuffer meta;
  meta.Append({reinterpret_cast<const uint8_t*>(meta_.data()), meta_.size()});
  return meta;
}

void Writer::WriteChunk(trace::ChunkType type, trace::ByteBuffer&& payload) {
  if (broken_) return;
  while (!dropping() && compressors_.full()) WriteFront(Pending::kAwait);
  if (dropping()) {
    Drop(payload.size());
    return;
  }
  compressors_.Submit(type, std::move(payload), sequence_++, source_.queue().fill());
  WriteEncoded(Pending::kLeave);
}

void Writer::WriteEncoded(Pending pending) {
  while (WriteFront(pending)) {
  }
  if (rotates() && !broken_) FulfilWishes();
}

// The oldest chunk. False: there is none, or it is not done.
bool Writer::WriteFront(Pending pending) {
  const Encoded* chunk = compressors_.Front(pending);
  if (chunk == nullptr) return false;
  if (!broken_) WriteOne(*chunk);
  compressors_.PopFront();
  return true;
}

void Writer::WriteOne(const Encoded& chunk) {
  if (chunk.status.ok() && !MakeRoom(chunk.bytes.size())) BeginToDrop();
  if (dropping()) {
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

void Writer::WriteDefinitionChunk(trace::ChunkType type, std::span<const uint8_t> payload) {
  if (broken_) return;
  const auto chunk = definition_chunks_.Encode(type, payload);
  const auto status = chunk.ok() ? rotation_.trace->WriteDefinitions(*chunk) : chunk.status();
  Written(status, payload.size(), chunk.ok() ? chunk->size() : 0);
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

// Somebody may have deleted what is being written: nobody will find the rest.
void Writer::CheckFiles() {
  const auto now = std::chrono::steady_clock::now();
  if (broken_ || now - checked_ < kCheckAfter) return;
  checked_ = now;
  const trace::Status status = sink_.Check();
  if (!status.ok()) Written(status, 0, 0);
}

bool Writer::MakeRoom(size_t bytes) {
  return !rotates() || !policy().bounded() || rotation_.trace->MakeRoom(bytes, policy().files_to_keep());
}

// Where a sync point's mark is in the queue, and all before it is written.
void Writer::NextFile() {
  const trace::Status status = rotation_.trace->NextFile();
  if (!status.ok()) {
    Written(status, 0, 0);
    return;
  }
  source_.output().files++;
  rotation_.source->NextFileBegun();
  // They waited. If there is no room now, with all files but this one gone, there never will be.
  waiting_definitions_.push_back(std::move(definitions_));
  definitions_.Clear();
  for (const trace::ByteBuffer& waiting : waiting_definitions_) {
    if (waiting.empty()) continue;
    (void)rotation_.trace->MakeRoom(waiting.size() + trace::kChunkHeaderBytes, 1);
    WriteDefinitionChunk(trace::ChunkType::kData, waiting.span());
  }
  waiting_definitions_.clear();
  WriteChunk(trace::ChunkType::kMeta, Meta());
  const RotationPolicy::Dropped dropped = policy().TakeDropped();
  if (dropped.chunks == 0) return;
  trace::ByteBuffer loss;
  trace::AppendLoss(&loss, source_.clock().Now(), dropped.chunks, dropped.bytes, kBoundReached);
  WriteChunk(trace::ChunkType::kData, std::move(loss));
}

void Writer::SyncPointComplete() {
  const bool complete = rotation_.trace->SyncPointComplete();
  if (!policy().limits().keep_provenance || policy().current().index == 0) return;
  const trace::SavedProvenance provenance = rotation_.source->TakeProvenance();
  if (!complete || provenance.segments.empty()) return;
  const trace::Status status = rotation_.trace->WriteProvenance(Meta().span(), provenance);
  core::OutputCounts& counts = source_.output();
  (status.ok() ? counts.provenance_files : counts.lost_provenance)++;
  if (!status.ok() && counts.lost_provenance == 1) {
    core::LogWarn("keep=yes: the provenance of older live objects is lost with the data files before " +
                  rotation_.trace->current_path() + ": " + status.message());
  }
}

void Writer::FulfilWishes() {
  const RotationPolicy::Wish wish = policy().Wishes(std::chrono::steady_clock::now());
  if (wish.sync_point) rotation_.source->WantSyncPoint();
  if (!wish.collection) return;
  source_.output().requested_collections++;
  rotation_.source->RequestCollection();
}

void Writer::BeginToDrop() {
  if (policy().BeginToDrop(std::chrono::steady_clock::now())) ReportTooSmall();
}

void Writer::Drop(size_t bytes) {
  policy().Drop(bytes);
  source_.output().dropped_chunks++;
  source_.output().dropped_bytes += bytes;
  FulfilWishes();
}

// A file that cannot hold the sync point it begins with is of no use.
void Writer::ReportTooSmall() {
  const core::OutputCounts& counts = source_.output();
  const double raw = rotation_.source->SyncPointBytes();
  if (raw == 0 || said_too_small_) return;
  said_too_small_ = true;
  const double stored = static_cast<double>(counts.stored_bytes) / static_cast<double>(counts.raw_bytes);
  core::LogWarn(policy().TooSmall(raw * stored));
}

}  // namespace anttracks::io
