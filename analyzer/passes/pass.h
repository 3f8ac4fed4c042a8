// SPDX-License-Identifier: Apache-2.0
// Runs a sink over a whole trace: files, chunks, META, sequence numbers, segments.
//
// In a rotated trace the definitions file is read first, then the data files; the END in the definitions file
// is passed on after them, unless it tells of events that are not there: then they are lost, which is damage,
// or the files are a part of the trace.
//
// Thread safety: none. Ownership: borrows reader, definitions, problems and sink, which must outlive the pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/model/problems.h"
#include "analyzer/passes/data_files.h"
#include "analyzer/passes/decoder.h"
#include "trace/chunk_source.h"
#include "trace/meta.h"
#include "trace/segments.h"
#include "trace/status.h"

namespace anttracks::analyzer {

using trace::Meta;

struct SegmentCount {
  uint64_t segments = 0;
  uint64_t bytes = 0;  // raw, heads of segments included
};

struct PassOptions {
  bool stop_at_damage = true;
  std::vector<bool> files = {};  // which of the reader's files to read; empty: all
  bool part = false;  // the reader's files were chosen from those of a trace: later ones are not missed
  // Called before each chunk with the position and the total in bytes; may be empty.
  std::function<void(uint64_t, uint64_t)> progress = {};
  // For a trace that is being written: called at its end, unless it has ended; true: the reader has more. May
  // be empty.
  std::function<bool()> more = {};
};

struct PassSummary {
  Meta meta;
  bool has_meta = false;
  uint64_t chunks = 0;
  uint64_t stored_bytes = 0, raw_bytes = 0;                      // of DATA chunks
  std::array<SegmentCount, trace::kSegments.size()> segments{};  // as trace::kSegments
  uint64_t duration_ns = 0;
  bool ended = false;                // there is an END: the trace ended normally
  bool damaged = false;              // a chunk was damaged or missing
  std::string damage;                // the first damage, with its position
  bool definitions_damaged = false;  // damage in a definitions or provenance file: no events are missing
  uint64_t truncated_bytes = 0;
  std::string later_files;  // that the trace had, behind the part of it that was read: "data files 5 to 6"
  // Why the trace must not or cannot be read any further; ok: it was read.
  trace::Status fatal;
};

template <class Sink>
class Pass {
 public:
  Pass(trace::ChunkSource& reader, Definitions& definitions, Problems& problems, Sink& sink,
       PassOptions options = {})
      : reader_(&reader),
        definitions_(&definitions),
        problems_(&problems),
        sink_(&sink),
        decoder_(definitions, problems, sink),
        options_(std::move(options)) {}

  const PassSummary& Run();

 private:
  bool Step(trace::ChunkSource::Item item);
  bool Chunk(const trace::Chunk& chunk);
  bool Sequence(const trace::Chunk& chunk, const Position& position);
  bool MetaChunk(const trace::Chunk& chunk);
  void DataChunk(const trace::Chunk& chunk);
  void DefinitionsSegment(const trace::Segment& segment, const Position& position);
  void End();
  bool IsCutOff();
  bool InDefinitions(uint32_t file) const { return reader_->files()[file].is_definitions(); }
  bool HasEvents(uint32_t file) const { return reader_->files()[file].has_events(); }
  bool Damaged(ProblemKind kind, const Position& position, const std::string& what);
  std::string Place(const Position& position) const;

  trace::ChunkSource* reader_;
  Definitions* definitions_;
  Problems* problems_;
  Sink* sink_;
  Decoder<Sink> decoder_;
  PassOptions options_;
  PassSummary summary_;
  static constexpr uint32_t kNoFile = UINT32_MAX;
  uint64_t next_sequence_ = 0;
  uint32_t file_ = kNoFile;         // of the last chunk
  uint32_t events_file_ = kNoFile;  // of the last chunk of a file with events
  std::map<uint32_t, uint64_t>
      next_of_file_;      // sequence numbers, of files that were left; for a trace that grows
  bool has_end_ = false;  // a definitions file's END
  std::vector<uint8_t> end_payload_;
  Position end_position_;
};

template <class Sink>
const PassSummary& Pass<Sink>::Run() {
  reader_->Rewind(options_.files);
  while (!sink_->Sink::done()) {
    if (options_.progress) options_.progress(reader_->position(), reader_->total_bytes());
    if (!Step(reader_->Next())) break;
  }
  if (summary_.fatal.ok() && sink_->Sink::refused() == nullptr) sink_->Sink::Finished();
  if (sink_->Sink::refused() != nullptr) {
    summary_.fatal =
        trace::Status::Error(Place(*sink_->Sink::refused()) +
                             ": the trace asks for far more work than its size justifies; it is no honest one");
  }
  if (!summary_.has_meta && summary_.fatal.ok() && !summary_.damaged) {
    summary_.fatal =
        trace::Status::Error("the trace ends before its first chunk is complete: it holds no events");
  }
  for (const trace::FileInfo& file : reader_->files()) summary_.truncated_bytes += file.truncated_bytes;
  summary_.duration_ns = decoder_.last_time();
  summary_.ended = decoder_.ended();
  return summary_;
}

template <class Sink>
bool Pass<Sink>::Step(trace::ChunkSource::Item item) {
  using Item = trace::ChunkSource::Item;
  switch (item) {
    case Item::kChunk:
      return Chunk(reader_->chunk());
    case Item::kEnd:
      if (options_.more && !has_end_ && !decoder_.ended() && options_.more()) return true;
      End();
      return false;
    case Item::kError:
      summary_.fatal = reader_->error();
      return false;
    case Item::kDamage:
      break;
  }
  const trace::Damage& damage = reader_->damage();
  const bool go_on = Damaged(ProblemKind::kDamagedChunk, {damage.file, damage.offset, 0},
                             fmt::format("{}, {} bytes skipped", damage.what, damage.bytes));
  return go_on;
}

template <class Sink>
std::string Pass<Sink>::Place(const Position& position) const {
  return fmt::format("{}, offset {}", reader_->files()[position.file].path, position.chunk);
}

template <class Sink>
bool Pass<Sink>::Damaged(ProblemKind kind, const Position& position, const std::string& what) {
  problems_->Add(kind, position, "{}", what);
  if (!summary_.damaged) summary_.damage = Place(position) + ": " + what;
  summary_.damaged = true;
  if (!HasEvents(position.file)) {
    summary_.definitions_damaged = true;
    if (reader_->files()[position.file].is_provenance()) sink_->Sink::ProvenanceInPart();
    return true;
  }
  decoder_.Gap();
  return !options_.stop_at_damage;
}

// False if reading ends here.
template <class Sink>
bool Pass<Sink>::Sequence(const trace::Chunk& chunk, const Position& position) {
  const trace::FileInfo& info = reader_->files()[chunk.file];
  const bool new_file = chunk.file != file_;
  std::string gap;
  if (file_ != kNoFile) next_of_file_[file_] = next_sequence_;
  const auto again = next_of_file_.find(chunk.file);
  const bool first = again == next_of_file_.end();
  if (new_file && !first) next_sequence_ = again->second;
  if (new_file && first) {
    const bool follows = info.has_events() && events_file_ != kNoFile;
    if (follows) next_sequence_ = next_of_file_[events_file_];
    if (!follows) {
      // A trace whose oldest files were deleted starts with a later number.
      next_sequence_ = !info.has_events() || info.index == 0 ? 0 : chunk.sequence;
    } else if (info.index != reader_->files()[events_file_].index + 1) {
      const uint64_t next = uint64_t{reader_->files()[events_file_].index} + 1;
      gap = fmt::format("{} {} missing before this one", DataFilesText(next, info.index),
                        next + 1 == info.index ? "is" : "are");
    }
  }
  file_ = chunk.file;
  if (info.has_events()) events_file_ = file_;
  if (gap.empty() && chunk.sequence != next_sequence_) {
    gap = fmt::format("chunk {} follows where {} was expected", chunk.sequence, next_sequence_);
  }
  next_sequence_ = chunk.sequence + 1;
  if (!gap.empty() && !Damaged(ProblemKind::kSequenceGap, position, gap)) return false;
  if (new_file && first && info.has_events()) decoder_.BeginFile(chunk.file, info.is_data() && info.index != 0);
  return true;
}

template <class Sink>
bool Pass<Sink>::Chunk(const trace::Chunk& chunk) {
  const Position position{chunk.file, chunk.offset, 0};
  if (!Sequence(chunk, position)) return false;
  summary_.chunks++;
  if (chunk.type == static_cast<uint16_t>(trace::ChunkType::kMeta)) return MetaChunk(chunk);
  if (chunk.type != static_cast<uint16_t>(trace::ChunkType::kData)) return true;
  if (!summary_.has_meta && HasEvents(chunk.file))
    return Damaged(ProblemKind::kOrder, position, "events before the first META chunk");
  DataChunk(chunk);
  return true;
}

template <class Sink>
bool Pass<Sink>::MetaChunk(const trace::Chunk& chunk) {
  trace::Result<Meta> meta = trace::ParseMeta(chunk.payload);
  if (!meta.ok()) return Damaged(ProblemKind::kMalformed, {chunk.file, chunk.offset, 0}, meta.message());
  if (summary_.has_meta &&
      (meta->heap_start != summary_.meta.heap_start || meta->heap_end != summary_.meta.heap_end ||
       meta->object_alignment != summary_.meta.object_alignment)) {
    return Damaged(ProblemKind::kRedefined, {chunk.file, chunk.offset, 0},
                   "META describes another heap than before");
  }
  summary_.meta = *meta;
  summary_.has_meta = true;
  definitions_->set_object_alignment(meta->object_alignment);
  definitions_->set_sites_may_overflow_later(meta->sites == "ash");
  decoder_.set_mode(meta->mode());
  const uint64_t start = meta->heap_start / trace::kWordBytes, end = meta->heap_end / trace::kWordBytes;
  decoder_.SetHeapRange(start, end);
  sink_->Sink::Configure(start, end);
  if (reader_->files()[chunk.file].provenance_in_part()) sink_->Sink::ProvenanceInPart();
  return true;
}

template <class Sink>
void Pass<Sink>::DataChunk(const trace::Chunk& chunk) {
  summary_.stored_bytes += chunk.stored_bytes + trace::kChunkHeaderBytes;
  summary_.raw_bytes += chunk.payload.size();
  const bool in_definitions = InDefinitions(chunk.file);
  trace::SegmentReader segments(chunk.payload);
  trace::Segment segment;
  size_t start = 0;
  while (!sink_->Sink::done() && segments.Next(&segment)) {
    const trace::SegmentKind kind = segment.info().kind;
    SegmentCount& count = summary_.segments[static_cast<size_t>(kind)];
    count.segments++;
    count.bytes += segments.offset() - start;
    start = segments.offset();
    const Position position{chunk.file, chunk.offset, segment.offset};
    const bool provenance = kind == trace::SegmentKind::kProvenance;
    if (in_definitions) {
      DefinitionsSegment(segment, position);
    } else if (provenance != reader_->files()[chunk.file].is_provenance()) {
      problems_->Add(ProblemKind::kOrder, position, "{} in a {}", segment.label(),
                     provenance ? "file of events" : "provenance file");
    } else {
      decoder_.Segment(segment, position);
    }
  }
  if (segments.malformed()) {
    problems_->Add(ProblemKind::kMalformed, {chunk.file, chunk.offset, segments.offset()},
                   "segment reaches beyond its chunk; the rest of the chunk is skipped");
    if (HasEvents(chunk.file)) decoder_.Gap();
  }
}

template <class Sink>
void Pass<Sink>::DefinitionsSegment(const trace::Segment& segment, const Position& position) {
  using trace::SegmentKind;
  const SegmentKind kind = segment.info().kind;
  if (has_end_) {
    problems_->Add(ProblemKind::kOrder, position, "{} after the end of the trace", segment.label());
  } else if (kind == SegmentKind::kEnd) {
    has_end_ = true;
    end_payload_.assign(segment.payload.begin(), segment.payload.end());
    end_position_ = position;
  } else if (kind == SegmentKind::kDefinitions || kind == SegmentKind::kUnknown) {
    decoder_.Segment(segment, position);
  } else if (kind != SegmentKind::kThreadEnd) {  // which says nothing before the events are read
    problems_->Add(ProblemKind::kOrder, position, "{} in the definitions file", segment.label());
  }
}

// Whether the trace had more than what is there, though it has an end record. A single data file that is no
// longer the newest one was copied with the definitions file.
template <class Sink>
bool Pass<Sink>::IsCutOff() {
  const std::vector<trace::FileInfo>& files = reader_->files();
  const trace::FileInfo& last = files.back();
  if (!last.is_data()) return false;
  const Position end{static_cast<uint32_t>(files.size() - 1), last.bytes - last.truncated_bytes, 0};
  if (last.truncated_bytes != 0) {
    Damaged(ProblemKind::kDamagedChunk, end, "the file ends in the middle of a chunk, but the trace goes on");
    return true;
  }
  const uint64_t next = uint64_t{last.index} + 1, begun = DataFilesBegun(end_payload_);
  if (begun <= next) return false;
  const bool one =
      std::count_if(files.begin(), files.end(), [](const auto& file) { return file.is_data(); }) == 1;
  if (options_.part || one) {
    summary_.later_files = DataFilesText(next, begun);
  } else {
    Damaged(ProblemKind::kSequenceGap, end,
            fmt::format("{} {} missing behind this one", DataFilesText(next, begun),
                        next + 1 == begun ? "is" : "are"));
  }
  return true;
}

// All files are read.
template <class Sink>
void Pass<Sink>::End() {
  if (!has_end_ || IsCutOff()) return;
  decoder_.Segment({static_cast<uint8_t>(trace::SegmentKind::kEnd), 0, 0, end_payload_}, end_position_);
}

}  // namespace anttracks::analyzer
