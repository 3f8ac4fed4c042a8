// SPDX-License-Identifier: Apache-2.0
#include "agent/io/compressors.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/base/clock.h"
#include "agent/base/own_thread.h"

namespace anttracks::io {
namespace {

using core::Compression;
using trace::Status;

// Chunks that may wait for those that are being compressed.
constexpr size_t kSpareChunks = 4;

// The writer compresses, too, while the queue is no fuller than this.
constexpr double kFillForCaller = 0.5;

// The number of processors that this process may run on.
unsigned Processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  const long online = sysconf(_SC_NPROCESSORS_ONLN);  // there are more than cpu_set_t has room for
  return online < 1 ? 1 : static_cast<unsigned>(online);
}

unsigned MostThreads(unsigned threads) {
  return std::min(threads == 0 ? Processors() : threads, Compressors::kMostThreads);
}

}  // namespace

Compressors::Compressors(unsigned threads, Compression policy, double threshold, core::Wakeup wakeup,
                         CreateThread create)
    : policy_(policy),
      threshold_(threshold),
      wakeup_(wakeup),
      create_(create),
      most_threads_(MostThreads(threads)),
      most_in_flight_(most_threads_ + kSpareChunks) {
  // What is needed once a thread or a chunk exists must not fail any more.
  threads_.reserve(most_threads_);
  unused_.reserve(most_in_flight_);
  jobs_.reserve(most_threads_);
}

Compressors::~Compressors() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

std::unique_ptr<Compressors::Chunk> Compressors::Take() {
  if (unused_.empty()) return std::make_unique<Chunk>();
  std::unique_ptr<Chunk> chunk = std::move(unused_.back());
  unused_.pop_back();
  return chunk;
}

void Compressors::Submit(trace::ChunkType type, trace::ByteBuffer&& payload, uint64_t sequence, double fill) {
  in_flight_.push_back(Take());
  Chunk& chunk = *in_flight_.back();
  chunk.payload.Swap(payload);
  payload.Clear();
  chunk.encoded = Encoded();
  chunk.encoded.type = type;
  chunk.encoded.sequence = sequence;
  chunk.encoded.raw_bytes = chunk.payload.size();
  const Place place = Choose(fill);
  chunk.compress = place != Place::kRaw;
  chunk.done = place != Place::kThread;
  if (place != Place::kThread) {
    Encode(chunk);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&chunk);
    busy_++;
  }
  work_.notify_one();
}

Compressors::Place Compressors::Choose(double fill) {
  if (policy_ == Compression::kOff || (policy_ == Compression::kPartial && fill <= threshold_))
    return Place::kRaw;
  {
    const std::lock_guard lock(mutex_);
    if (busy_ < threads_.size()) return Place::kThread;
  }
  if (threads_.size() < most_threads_) return StartThread() ? Place::kThread : Place::kCaller;
  return threads_.empty() || fill <= kFillForCaller ? Place::kCaller : Place::kRaw;
}

bool Compressors::StartThread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const bool started = create_(&thread, nullptr, &Compressors::Main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    threads_.push_back(thread);
  } else {
    most_threads_ = threads_.size();  // not tried again: it would cost a system call or more for each chunk
  }
  return started;
}

const Encoded* Compressors::Front(Pending pending) {
  if (in_flight_.empty()) return nullptr;
  const Chunk& chunk = *in_flight_.front();
  std::unique_lock lock(mutex_);
  if (pending == Pending::kAwait) done_.wait(lock, [&chunk] { return chunk.done; });
  return chunk.done ? &chunk.encoded : nullptr;
}

void Compressors::PopFront() {
  if (unused_.size() < most_in_flight_) unused_.push_back(std::move(in_flight_.front()));
  in_flight_.pop_front();
}

void Compressors::Encode(Chunk& chunk) noexcept {
  Encoded& encoded = chunk.encoded;
  const uint64_t begin = chunk.compress ? core::Clock::ThreadCpu() : 0;
  try {
    const auto bytes = chunk.encoder.Encode(encoded.type, encoded.sequence, chunk.payload.span(),
                                            chunk.compress ? trace::Compressed::kYes : trace::Compressed::kNo);
    encoded.status = bytes.status();
    if (bytes.ok()) encoded.bytes = *bytes;
  } catch (...) {
    encoded.status = Status::Error("out of memory");  // short enough to need none
  }
  if (chunk.compress) counts_.cpu_ns.fetch_add(core::Clock::ThreadCpu() - begin, std::memory_order_relaxed);
  if (encoded.status.ok()) Count(encoded);
  chunk.payload.Clear();
}

void Compressors::Count(Encoded& encoded) {
  const uint16_t flags = trace::GetU16(encoded.bytes.data() + trace::chunk_header::kFlags);
  encoded.compressed = (flags & trace::kChunkSnappy) != 0;
  (encoded.compressed ? counts_.compressed : counts_.stored_raw).fetch_add(1, std::memory_order_relaxed);
  counts_.raw_bytes.fetch_add(encoded.raw_bytes, std::memory_order_relaxed);
  counts_.stored_bytes.fetch_add(encoded.bytes.size(), std::memory_order_relaxed);
}

void* Compressors::Main(void* self) {
  auto* const compressors = static_cast<Compressors*>(self);
  core::BeginOwnThread("anttracks-zip", compressors->wakeup_);
  compressors->Run();
  return nullptr;
}

void Compressors::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    Chunk& chunk = *jobs_.front();
    jobs_.erase(jobs_.begin());
    lock.unlock();
    Encode(chunk);
    lock.lock();
    chunk.done = true;
    busy_--;
    done_.notify_one();
  }
}

}  // namespace anttracks::io
