// SPDX-License-Identifier: Apache-2.0
// The only thread that writes the trace: takes buffers from the queue, puts the definitions before them, makes
// chunks, and hands these to the sink.
//
// In a rotated trace definitions go into a file of their own, before the events that use them. When
// RotationPolicy wants a sync point the writer asks the source for one after the next collection; its mark in
// the queue is where the next data file begins. If the bound is reached before, events are dropped up to the
// mark, and counted.
//
//     idle --Start--> running --queue closed--> LOSS if tracing failed, END --> done
//                        `----- write error --> the queue discards everything, nothing more is written --> done
//
// Thread safety: Start and Wait from one thread; the rest runs in the writer's own thread, which blocks all
// signals. Ownership: borrows source and sink, which must live until the thread is done. If Wait returns false
// they must never be destroyed.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "agent/base/own_thread.h"
#include "agent/io/compressors.h"
#include "agent/io/rotation/rotating_trace.h"
#include "agent/io/sink.h"
#include "agent/stream/sync_point_source.h"
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
  // For a trace in a single file.
  Writer(core::EventSource& source, Sink& sink, const WriterConfig& config)
      : Writer(source, sink, config, {}) {}
  Writer(core::SyncPointSource& source, RotatingTrace& trace, const WriterConfig& config)
      : Writer(source, trace, config, {&source, &trace}) {}
  Writer(core::EventSource& source, RotatingTrace& trace, const WriterConfig& config) = delete;
  // Waits for the thread if it still runs, which happens in tests only.
  ~Writer();
  Writer(const Writer&) = delete;

  trace::Status Start(std::string meta_json);
  // Call it after the source's Finish or Abandon. False: there was no progress for that long, or the thread was
  // not done in that time in total; it goes on running.
  bool Wait(std::chrono::milliseconds without_progress,
            std::chrono::milliseconds in_all = std::chrono::hours(1));

 private:
  static constexpr std::chrono::milliseconds kFlushAfter{100};
  static constexpr std::chrono::seconds kCheckAfter{1};

  // Both are set, or neither.
  struct Rotation {
    core::SyncPointSource* source = nullptr;
    RotatingTrace* trace = nullptr;
  };

  Writer(core::EventSource& source, Sink& sink, const WriterConfig& config, const Rotation& rotation)
      : source_(source),
        sink_(sink),
        rotation_(rotation),
        compressors_(config.compressors, config.compression, config.threshold, WakeupFor(rotation)),
        definition_chunks_(config.compression == core::Compression::kOff ? trace::Compressed::kNo
                                                                         : trace::Compressed::kYes) {}

  // Of the writer and the compressors.
  static core::Wakeup WakeupFor(const Rotation& rotation);
  static void* Main(void* self);
  void Run();
  void Loop();
  bool AddBuffers(std::chrono::milliseconds wait);
  void AddDefinitions();
  void Add(core::Buffer& buffer);
  void WriteEnd();
  void FlushChunk();
  void FlushDefinitions();
  void WriteChunk(trace::ChunkType type, trace::ByteBuffer&& payload);
  // Writes the chunks that are encoded; with kAwait waits for the others, too.
  void WriteEncoded(Pending pending);
  bool WriteFront(Pending pending);
  void WriteOne(const Encoded& chunk);
  void WriteDefinitionChunk(trace::ChunkType type, std::span<const uint8_t> payload);
  void Written(const trace::Status& status, size_t raw, size_t stored);
  trace::ByteBuffer Meta() const;
  void CheckFiles();

  // For a rotated trace.
  bool rotates() const { return rotation_.trace != nullptr; }
  RotationPolicy& policy() { return rotation_.trace->policy(); }
  // Whether events are dropped now. Definitions wait meanwhile, since the events that use them are dropped.
  bool dropping() { return rotates() && policy().dropping(); }
  // False: the bound has no room for so many bytes. No file is deleted for events that are dropped, or for the
  // end.
  bool MakeRoom(size_t bytes);
  void NextFile();
  void SyncPointComplete();
  void FulfilWishes();
  // Nothing is written until the next file begins.
  void BeginToDrop();
  void Drop(size_t bytes);
  void ReportTooSmall();

  core::EventSource& source_;
  Sink& sink_;
  const Rotation rotation_;  // if set, its trace is sink_
  Compressors compressors_;
  uint64_t sequence_ = 0;  // of the next chunk
  trace::ByteBuffer chunk_;
  // For the definitions file; in a single file definitions go into chunk_.
  trace::NumberedChunks definition_chunks_;
  trace::ByteBuffer definitions_;
  std::vector<trace::ByteBuffer> waiting_definitions_;  // defined before those, while chunks are dropped
  std::string meta_;
  bool broken_ = false;  // a write failed
  bool said_too_small_ = false;
  std::chrono::steady_clock::time_point checked_{};

  pthread_t thread_{};
  bool started_ = false, joined_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;  // guarded by mutex_
};

}  // namespace anttracks::io
