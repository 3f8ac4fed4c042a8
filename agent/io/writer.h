// SPDX-License-Identifier: Apache-2.0
// The one thread that writes: takes buffers from the queue, puts symbols in front of them, makes chunks, hands
// them to the sink.
//
// A rotated trace: symbols go into their own file, ahead of what uses them. When the data file has its share the
// session is told to make the next collection a sync point; its mark in the queue is where the next file begins. If the
// bound is reached before, events are dropped until there, and counted.
//
//     idle --Start--> running --queue closed--> LOSS if tracing failed, END --> done
//                        |----- write error --> queue discards, nothing is written any more --> done
//
// Thread safety: Start and Wait from one thread; the rest runs in the writer's own thread, with all signals
// blocked. Ownership: borrows source and sink, which must live until done. If Wait gives up, they must live
// on.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "agent/core/event_source.h"
#include "agent/io/compressors.h"
#include "agent/io/sink.h"
#include "trace/file_writer.h"
#include "trace/wire.h"

namespace anttracks::io {

struct WriterConfig {
  core::Compression compression = core::Compression::kFull;
  double threshold = 0.2;    // of partial compression; see Compressors
  unsigned compressors = 0;  // threads; 0: as many as there are processors
};

class Writer {
 public:
  Writer(core::EventSource& source, Sink& sink, const WriterConfig& config)
      : source_(source),
        sink_(sink),
        compressors_(config.compressors, config.compression, config.threshold),
        symbol_chunks_(config.compression != core::Compression::kOff) {}
  // Waits for the thread if it runs: only in tests and after Wait.
  ~Writer();
  Writer(const Writer&) = delete;

  trace::Status Start(std::string meta_json);
  // After the source's Finish or Abandon. False: no progress for that long, or not done in all that time; the thread is
  // left alone.
  bool Wait(std::chrono::milliseconds without_progress, std::chrono::milliseconds in_all = std::chrono::hours(1));

 private:
  static constexpr std::chrono::milliseconds kFlushAfter{100};
  static constexpr std::chrono::seconds kCheckAfter{1};
  static constexpr std::chrono::milliseconds kPollAfter{10};
  // Between two requests for a collection.
  static constexpr std::chrono::milliseconds kAskAgainAfter{50};
  // Before another sync point is tried when one had no room in its file; doubled each time.
  static constexpr std::chrono::milliseconds kRetryAfter{250}, kRetryAtMost{30'000};

  static void* Main(void* self);
  void Run();
  void Loop();
  bool AddBuffers(std::chrono::milliseconds wait);
  void AddSymbols();
  void Add(core::Buffer& buffer);
  void WriteEnd();
  void FlushChunk();
  void FlushSymbols();
  void WriteChunk(trace::ChunkType type, trace::ByteBuffer&& payload);
  // Writes what the compressors have done; if all, waits for the rest.
  void WriteEncoded(bool all);
  bool WriteFront(bool wait);
  void WriteOne(const Encoded& chunk);
  // Data files, the current one included, that no room is taken from.
  size_t FilesToKeep() const;
  bool MakeRoomForSymbols(size_t keep);
  void WriteSymbolChunk(trace::ChunkType type, std::span<const uint8_t> payload);
  void Written(const trace::Status& status, size_t raw, size_t stored);
  trace::ByteBuffer Meta() const;
  void NextFile();
  void AskForSpace();
  void BeginToDrop();
  void Drop(size_t bytes);
  void ReportTooSmall();
  void CheckFiles();
  void PollSink();

  core::EventSource& source_;
  Sink& sink_;
  Compressors compressors_;
  uint64_t sequence_ = 0;  // of the next chunk
  trace::ByteBuffer chunk_;
  // Of the symbols file; in a trace that is one file symbols are in chunk_.
  trace::NumberedChunks symbol_chunks_;
  trace::ByteBuffer symbols_;
  std::string meta_;
  bool broken_ = false;  // a write failed
  // Dropped since the bound was reached; LOSS says it at the start of the next file. While dropping, symbols wait:
  // what uses them is dropped, too.
  uint64_t dropped_chunks_ = 0, dropped_bytes_ = 0;
  bool dropping_ = false, said_too_small_ = false;
  bool has_sync_point_ = true;  // the current data file; the first one begins with the VM's
  std::chrono::milliseconds retry_after_{kRetryAfter};
  std::chrono::steady_clock::time_point retry_at_{};
  bool bound_is_lifted_ = false;  // for the last LOSS, for which room was kept
  std::chrono::steady_clock::time_point checked_{}, asked_{}, polled_{};

  pthread_t thread_{};
  bool started_ = false, joined_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;  // guarded by mutex_
};

}  // namespace anttracks::io
