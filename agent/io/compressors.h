// SPDX-License-Identifier: Apache-2.0
// Turns payloads into chunks of the file, several at a time, and gives them back in the order in which they
// came.
//
//     writer --Submit--> compressor or writer itself --Front, PopFront--> writer
//
// A payload goes to a compressor if the policy wants it compressed and a compressor is free. If none is, or no
// thread can be started, it is compressed in the caller; but when the queue is more than half full and all
// compressors are busy, it is encoded at once, uncompressed, so that the writer keeps up. Raw chunks wait
// behind compressed ones that are not done, hence full().
//
// Thread safety: everything is for one thread, the writer's, except counts(). Chunks are touched by one thread
// at a time: the lock is held to hand them over, never while encoding.
//
// Ownership: owns payloads and encoded bytes and uses their memory again: that of as many chunks as there may
// be in flight, which is a few more than compressors. Compressors run with all signals blocked; they are
// started when first needed and joined in the destructor, which gives up what was not popped. After a fork the
// child has none of them and must not destroy this.
//
// Failure: a chunk that could not be encoded (too long, out of memory) says so in its status, at its place.
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

#include "agent/base/policies.h"
#include "trace/file_writer.h"
#include "trace/format.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::io {

struct Encoded {
  trace::Status status;
  std::span<const uint8_t> bytes;  // header and payload; nothing if status is an error
  trace::ChunkType type{};
  uint64_t sequence = 0;
  size_t raw_bytes = 0;  // of the payload
  bool compressed = false;
};

struct CompressorCounts {
  // Of chunks: compressed; stored as they were, by policy or because that is shorter.
  std::atomic<uint64_t> compressed{0}, stored_raw{0};
  // Payloads; what they are in the file, headers included.
  std::atomic<uint64_t> raw_bytes{0}, stored_bytes{0};
  // CPU time of chunks that were to be compressed, checksums included.
  std::atomic<uint64_t> cpu_ns{0};
};

// What becomes of a chunk that is not done.
enum class Pending : bool { kLeave, kAwait };

class Compressors {
 public:
  static constexpr unsigned kMostThreads = 64;
  using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

  // threads 0: as many as there are processors available. threshold: from 0 to 1, see Submit. create: for
  // tests.
  Compressors(unsigned threads, core::Compression policy, double threshold,
              CreateThread create = &pthread_create);
  ~Compressors();
  Compressors(const Compressors&) = delete;

  // The payload is moved; what is left is an empty buffer with the memory of an earlier one. Partial
  // compression compresses only when fill, of the queue, is above the threshold. Takes the payload even if
  // full().
  void Submit(trace::ChunkType type, trace::ByteBuffer&& payload, uint64_t sequence, double fill);
  // The oldest chunk, valid until PopFront; nullptr if there is none, or it is not done and left so.
  const Encoded* Front(Pending pending);
  // Only after Front gave a chunk.
  void PopFront();

  // Submitted, not popped.
  size_t in_flight() const { return in_flight_.size(); }
  // Pop before the next Submit, or memory grows.
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
  const CreateThread create_;
  size_t most_threads_;  // lower when no more can be started
  const size_t most_in_flight_;
  std::vector<pthread_t> threads_;
  std::deque<std::unique_ptr<Chunk>> in_flight_;  // oldest first
  std::vector<std::unique_ptr<Chunk>> unused_;
  CompressorCounts counts_;

  std::mutex mutex_;
  std::condition_variable work_, done_;
  // Guarded by mutex_.
  std::vector<Chunk*> jobs_;  // oldest first; never more than compressors
  size_t busy_ = 0;           // compressors that have a chunk or are about to
  bool stop_ = false;
};

}  // namespace anttracks::io
