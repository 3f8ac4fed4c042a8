// SPDX-License-Identifier: Apache-2.0
#include "agent/io/writer.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "agent/core/log.h"
#include "trace/segment_writer.h"

namespace anttracks::io {

using trace::SegmentKind;

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

bool Writer::Wait(std::chrono::milliseconds without_progress) {
  if (!started_ || joined_) return true;
  std::unique_lock lock(mutex_);
  uint64_t chunks = session_.output().chunks.load();
  while (!finished_.wait_for(lock, without_progress, [this] { return done_; })) {
    const uint64_t now = session_.output().chunks.load();
    if (now == chunks) return false;
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
    session_.failure().Fail(e.what());
  } catch (...) {
    session_.failure().Fail("internal error: unknown exception in the writer");
  }
  session_.queue().Discard();
  const trace::Status closed = sink_.Close();
  if (!closed.ok() && !broken_) core::LogError(closed.message());
  const std::lock_guard lock(mutex_);
  done_ = true;
  finished_.notify_all();
}

void Writer::Loop() {
  core::BufferQueue& queue = session_.queue();
  WriteChunk(trace::ChunkType::kMeta, {reinterpret_cast<const uint8_t*>(meta_.data()), meta_.size()});
  while (!broken_) {
    // In this order: what is pushed after closed was read is of no interest.
    const bool last = queue.closed() || session_.failure().failed();
    core::Buffer* const list = queue.Pop(last ? std::chrono::milliseconds(0) : kFlushAfter);
    AddSymbols();
    for (core::Buffer* buffer = list; buffer != nullptr && !broken_; buffer = buffer->next) Add(*buffer);
    queue.Recycle(list);
    if (list != nullptr) continue;
    if (last) break;
    FlushChunk();
  }
  if (!broken_) WriteEnd();
}

void Writer::AddSymbols() {
  if (!session_.symbols().pending()) return;
  for (const trace::ByteBuffer& block : session_.symbols().Take()) {
    trace::AppendSegment(&chunk_, SegmentKind::kSymbols, 0, block.span());
    if (chunk_.size() >= kChunkBytes) FlushChunk();
  }
}

void Writer::Add(core::Buffer& buffer) {
  const std::span<const uint8_t> bytes(buffer.data(), buffer.used);
  if (buffer.kind == 0) {
    chunk_.Append(bytes);
  } else {
    trace::AppendSegment(&chunk_, static_cast<SegmentKind>(buffer.kind), buffer.stream, bytes);
  }
  if (chunk_.size() >= kChunkBytes || buffer.flush) FlushChunk();
}

void Writer::WriteEnd() {
  const core::Failure& failure = session_.failure();
  std::string reason = session_.end_reason();
  const uint64_t now = session_.clock().Now();
  if (failure.failed()) {
    reason = "tracing stopped: " + failure.reason();
    trace::AppendLoss(&chunk_, now, 0, 0, failure.reason());
  }
  FlushChunk();
  trace::AppendEnd(&chunk_, now, reason, session_.CountersJson());
  FlushChunk();
}

void Writer::FlushChunk() {
  if (chunk_.empty()) return;
  WriteChunk(trace::ChunkType::kData, chunk_.span());
  chunk_.Clear();
}

void Writer::WriteChunk(trace::ChunkType type, std::span<const uint8_t> payload) {
  if (broken_) return;
  const auto chunk = chunks_.Encode(type, payload);
  const trace::Status status = chunk.ok() ? sink_.Write(*chunk) : chunk.status();
  if (!status.ok()) {
    broken_ = true;
    session_.failure().Fail(status.message());
    return;
  }
  core::OutputCounts& counts = session_.output();
  counts.raw_bytes += payload.size();
  counts.stored_bytes += chunk->size();
  counts.chunks++;
}

}  // namespace anttracks::io
