// SPDX-License-Identifier: Apache-2.0
// Writes the unit tests' small traces as inputs of the fuzz targets (trace_input.h): make_seeds
// tests/fuzz/corpus
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/trace_input.h"
#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/hprof_dump.h"
#include "tests/unit/analyzer/rotated_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "trace/file_writer.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace anttracks::fuzz {
namespace {

namespace fs = std::filesystem;

void Append(std::string* to, std::span<const uint8_t> bytes) {
  to->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Mark(std::string* to, uint8_t mark) {
  to->push_back(static_cast<char>(kMark));
  to->push_back(static_cast<char>(mark));
}

void AddSegment(std::string* input, const trace::Segment& segment) {
  Mark(input, kSegmentMark);
  input->push_back(static_cast<char>(segment.kind));
  input->push_back(static_cast<char>(segment.stream));
  if (segment.kind != static_cast<uint8_t>(trace::SegmentKind::kDefinitions))
    return Append(input, segment.payload);
  trace::WireReader in(segment.payload);
  while (!in.AtEnd()) {
    Mark(input, kRecordMark);
    input->push_back(static_cast<char>(in.U8()));
    Append(input, in.Take(in.Uv()));
  }
}

// One file's DATA chunks.
std::string Input(const std::string& file) {
  const fs::path path = fs::temp_directory_path() / "make_seeds.trace";
  // As a trace that is one file: the reader asks for no others.
  std::string whole = file;
  trace::PutU32(reinterpret_cast<uint8_t*>(&whole[trace::file_header::kFlags]), 0);
  trace::PutU32(reinterpret_cast<uint8_t*>(&whole[trace::file_header::kCrc]),
                trace::Crc32c({reinterpret_cast<const uint8_t*>(whole.data()), trace::file_header::kCrc}));
  std::ofstream(path, std::ios::binary) << whole;
  auto reader = trace::TraceReader::Open({path.string()});
  fs::remove(path);
  std::string input;
  bool first = true;
  while (reader.ok() && (*reader)->Next() == trace::TraceReader::Item::kChunk) {
    const trace::Chunk& chunk = (*reader)->chunk();
    if (chunk.type != static_cast<uint16_t>(trace::ChunkType::kData)) continue;
    if (!first) Mark(&input, kChunkMark);
    first = false;
    trace::SegmentReader segments(chunk.payload);
    trace::Segment segment;
    while (segments.Next(&segment)) AddSegment(&input, segment);
  }
  return input;
}

void Write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Files(std::initializer_list<testing::TraceBuilder> files) {
  std::string input;
  for (const testing::TraceBuilder& file : files) {
    if (!input.empty()) Mark(&input, kFileMark);
    input += Input(file.file());
  }
  return input;
}

// A file whose chunk has its columns apart.
std::string ColumnsFile() {
  testing::Objects objects;
  objects.Head(1).Tlab(testing::kEden);
  for (int i = 0; i < 200; i++)
    i % 5 == 0 ? objects.WithLength(2, static_cast<uint64_t>(i % 9))
               : objects.Fixed(static_cast<uint64_t>(1 + i % 2));
  trace::ByteBuffer payload;
  trace::AppendSegment(&payload, trace::SegmentKind::kAlloc, 1, objects.bytes().span());
  trace::NumberedChunks chunks(trace::Compressed::kYes);
  std::string file = testing::TraceBuilder().file();
  Append(&file, *chunks.Encode(trace::ChunkType::kMeta, {}));
  Append(&file, *chunks.Encode(trace::ChunkType::kData, payload.span()));
  return file;
}

std::string Byte(int value) { return std::string(1, static_cast<char>(value)); }

}  // namespace
}  // namespace anttracks::fuzz

int main(int argc, char** argv) {
  using namespace anttracks::fuzz;
  namespace t = anttracks::testing;
  if (argc != 2) return 2;
  const fs::path corpus = argv[1];
  const std::string small = t::SmallTrace().file(), classes = t::ClassesTrace().file(),
                    sampled = t::SampledTrace().file();
  Write(corpus / "reader" / "small_trace", Byte(1) + small);
  Write(corpus / "reader" / "columns", Byte(1) + anttracks::fuzz::ColumnsFile());
  Write(corpus / "verify" / "small_trace", Byte(0) + Input(small));
  const std::string skipped = t::SkippedTrace().file();
  Write(corpus / "reader" / "skipped_trace", Byte(1) + skipped);
  Write(corpus / "verify" / "skipped_trace", Byte(0) + Input(skipped));
  Write(corpus / "verify" / "sampled_trace", Byte(2) + Input(sampled));
  for (int report = 0; report < 21; report++) {
    const std::string name = std::to_string(report);
    const bool of_classes = report >= 13 && report <= 15;
    Write(corpus / "reports" / ("report_" + name),
          Byte(report) + Byte(0) + Input(of_classes ? classes : small));
    Write(corpus / "reports" / ("skipped_" + name), Byte(report) + Byte(0) + Input(skipped));
    Write(corpus / "reports" / ("sampled_" + name), Byte(report) + Byte(2) + Input(sampled));
  }
  const std::string census = t::CensusTraceFile(9).file();
  Write(corpus / "verify" / "census_trace", Byte(4) + Input(census));
  for (const int report : {0, 1, 2, 8, 9, 20, 33, 34, 35, 36}) {
    Write(corpus / "reports" / ("census_" + std::to_string(report)), Byte(report) + Byte(4) + Input(census));
  }
  for (int report = 0; report < 9; report++)
    Write(corpus / "join" / ("dump_" + std::to_string(report)), Byte(report) + t::SmallDump().file());
  Write(corpus / "reports" / "file_bytes", Byte(1) + Byte(0x80) + small);
  const std::string rotated = Files({t::DefinitionsFile(), t::DataFile0(), t::DataFile1(), t::DataFile2()});
  const std::string abandoned =
      Files({t::DefinitionsFile(), t::DataFile0(), t::DataFile1(), t::AbandonedDataFile2()});
  for (int command = 0; command < 6; command++) {
    Write(corpus / "rotated" / ("rotated_" + std::to_string(command)), Byte(command) + Byte(0) + rotated);
  }
  Write(corpus / "rotated" / "abandoned", Byte(0) + Byte(0) + abandoned);
  std::string provenance;
  Mark(&provenance, kSegmentMark);
  t::ByteBuffer runs;
  for (const uint64_t v : {t::kTo, uint64_t{3}, uint64_t{1}, uint64_t{1}}) runs.Uv(v);
  provenance += Byte(static_cast<int>(anttracks::trace::SegmentKind::kProvenance)) + Byte(0);
  Append(&provenance, runs.span());
  std::string with_provenance = Input(t::DefinitionsFile().file());
  Mark(&with_provenance, kFileMark);
  with_provenance += provenance;
  Mark(&with_provenance, kFileMark);
  with_provenance += Input(t::DataFile1().file());
  Write(corpus / "rotated" / "with_provenance", Byte(3) + Byte(0x80) + with_provenance);
}
