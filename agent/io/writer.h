// SPDX-License-Identifier: Apache-2.0
// The one thread that writes: takes buffers from the queue, puts symbols in front of them, makes chunks, hands
// them to the sink.
//
//     idle --Start--> running --queue closed--> LOSS if tracing failed, END --> done
//                        |----- write error --> queue discards, nothing is written any more --> done
//
// Thread safety: Start and Wait from one thread; the rest runs in the writer's own thread, with all signals
// blocked. Ownership: borrows session and sink, which must live until done. If Wait gives up, they must live
// on.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "agent/core/session.h"
#include "agent/io/sink.h"
#include "trace/file_writer.h"
#include "trace/wire.h"

namespace anttracks::io {

class Writer {
 public:
  Writer(core::Session& session, Sink& sink, bool compress)
      : session_(session), sink_(sink), chunks_(compress) {}
  // Waits for the thread if it runs: only in tests and after Wait.
  ~Writer();
  Writer(const Writer&) = delete;

  trace::Status Start(std::string meta_json);
  // After the session's Finish or Abandon. False: no progress for that long; the thread is left alone.
  bool Wait(std::chrono::milliseconds without_progress);

 private:
  static constexpr size_t kChunkBytes = 256 << 10;
  static constexpr std::chrono::milliseconds kFlushAfter{100};

  static void* Main(void* self);
  void Run();
  void Loop();
  void AddSymbols();
  void Add(core::Buffer& buffer);
  void WriteEnd();
  void FlushChunk();
  void WriteChunk(trace::ChunkType type, std::span<const uint8_t> payload);

  core::Session& session_;
  Sink& sink_;
  trace::ChunkEncoder chunks_;
  trace::ByteBuffer chunk_;
  std::string meta_;
  bool broken_ = false;  // a write failed

  pthread_t thread_{};
  bool started_ = false, joined_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;  // guarded by mutex_
};

}  // namespace anttracks::io
