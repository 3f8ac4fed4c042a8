// SPDX-License-Identifier: Apache-2.0
// Encodes payloads as chunks of the file, several at a time, and returns them in the order of submission.
//
//     writer --Submit--> compressor or writer itself --Front, PopFront--> writer
//
// If a payload is to be compressed, a free compressor (a thread) does it. If no thread can be started the
// caller does. But if all compressors are busy and the queue is more than half full, the payload is stored
// uncompressed, so that the writer keeps up. Finished chunks wait for earlier ones that are not done, hence
// full().
//
// Thread safety: for the writer's thread only, except counts(). One thread at a time uses a chunk: the lock is
// held to hand it over, never while encoding.
//
// Ownership: owns payloads and encoded bytes, and reuses their memory: that of the chunks in flight, a few more
// than there are compressors. Compressors block all signals; they are started when first needed, and joined in
// the destructor, which drops chunks that were not popped. After a fork the child has no compressors and must
// not destroy this object.
//
// Failure: a chunk that could not be encoded (too long, out of memory) has an error as its status.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "agent/base/own_thread.h"
#include "agent/base/policies.h"
#include "trace/file_writer.h"
#include "trace/format.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::io {

struct Encoded {
  trace::Status status;
  std::span<const uint8_t> bytes;  // header and payload; empty if status is an error
  trace::ChunkType type{};
  uint64_t sequence = 0;
  size_t raw_bytes = 0;  // of the payload
  bool compressed = false;
};

struct CompressorCounts {
  // Numbers of chunks. stored_raw: not compressed, by policy or because that is shorter.
  std::atomic<uint64_t> compressed{0}, stored_raw{0};
  // Bytes of payloads, and of chunks in the file, headers included.
  std::atomic<uint64_t> raw_bytes{0}, stored_bytes{0};
  // CPU time for chunks that were to be compressed, checksums included.
  std::atomic<uint64_t> cpu_ns{0};
};

// What Front does if the oldest chunk is not done.
enum class Pending : bool { kLeave, kAwait };

class Compressors {
 public:
  static constexpr unsigned kMostThreads = 64;
  using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

  // threads: 0: as many as there are processors. threshold: 0 to 1, see Submit. wakeup: of the threads. create:
  // for tests.
  Compressors(unsigned threads, core::Compression policy, double threshold,
              core::Wakeup wakeup = core::Wakeup::kNeverPreempts, CreateThread create = &pthread_create);
  ~Compressors();
  Compressors(const Compressors&) = delete;

  // Takes the payload, even if full(), and leaves an empty buffer with the memory of an earlier one. fill: how
  // full the queue is; partial compression compresses only above the threshold.
  void Submit(trace::ChunkType type, trace::ByteBuffer&& payload, uint64_t sequence, double fill);
  // The oldest chunk, valid until PopFront. nullptr: there is none, or it is not done and pending is kLeave.
  const Encoded* Front(Pending pending);
  // Only after Front gave a chunk.
  void PopFront();

  // Chunks that were submitted and not popped.
  size_t in_flight() const { return in_flight_.size(); }
  // Call PopFront before the next Submit, or memory grows.
  bool full() const { return in_flight() >= most_in_flight_; }
  size_t started_threads() const { return threads_.size(); }

  // Any thread.
  const CompressorCounts& counts() const { return counts_; }

 private:
  struct Chunk {
    trace::ByteBuffer payload;
    trace::ChunkEncoder encoder;
    Encoded encoded;
    bool compress = false;
    bool done = false;  // guarded by mutex_ while a compressor has the chunk
  };
  enum class Place { kRaw, kCaller, kThread };

  Place Choose(double fill);
  bool StartThread();
  std::unique_ptr<Chunk> Take();
  void Encode(Chunk& chunk) noexcept;
  void Count(Encoded& encoded);
  static void* Main(void* self);
  void Run();

  const core::Compression policy_;
  const double threshold_;
  const core::Wakeup wakeup_;
  const CreateThread create_;
  size_t most_threads_;  // lowered when the system refuses to start another one
  const size_t most_in_flight_;
  std::vector<pthread_t> threads_;
  std::deque<std::unique_ptr<Chunk>> in_flight_;  // oldest first
  std::vector<std::unique_ptr<Chunk>> unused_;
  CompressorCounts counts_;

  std::mutex mutex_;
  std::condition_variable work_, done_;
  // Guarded by mutex_.
  std::vector<Chunk*> jobs_;  // oldest first; never more than compressors
  size_t busy_ = 0;           // compressors that have a chunk or are about to take one
  bool stop_ = false;
};

}  // namespace anttracks::io
