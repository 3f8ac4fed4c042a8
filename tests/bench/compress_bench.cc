// SPDX-License-Identifier: Apache-2.0
// What compression gains and costs by kind of event: those of the application's threads and those of the
// collector (ICPE'16, section 6, asks for it).
//
//     compress_bench TRACE
//
// The segments of each side are put together into chunks as large as the agent's and compressed as it does.
// Prints JSON: bytes before and after, and ns of CPU time a byte, the median of several passes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "trace/file_writer.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace anttracks::bench {
namespace {

using trace::SegmentKind;

constexpr size_t kChunkBytes = 256 << 10;
constexpr int kPasses = 5;

struct Side {
  const char* name;
  std::vector<trace::ByteBuffer> chunks{1};

  void Add(const trace::Segment& segment) {
    if (chunks.back().size() >= kChunkBytes) chunks.emplace_back();
    trace::AppendSegment(&chunks.back(), static_cast<SegmentKind>(segment.kind), segment.stream,
                         segment.payload);
  }
};

bool IsOfCollector(SegmentKind kind) {
  return kind == SegmentKind::kMoves || kind == SegmentKind::kSlides || kind == SegmentKind::kFillers ||
         kind == SegmentKind::kGcBegin || kind == SegmentKind::kGcEnd;
}

double CpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void Measure(const Side& side, bool last) {
  size_t raw = 0, stored = 0;
  std::vector<double> times;
  trace::ChunkEncoder encoder;
  for (int pass = 0; pass < kPasses; pass++) {
    raw = stored = 0;
    const double begin = CpuNs();
    for (const trace::ByteBuffer& chunk : side.chunks) {
      const auto encoded = encoder.Encode(trace::ChunkType::kData, 0, chunk.span(), trace::Compressed::kYes);
      raw += chunk.size();
      stored += encoded.ok() ? encoded->size() : 0;
    }
    times.push_back(CpuNs() - begin);
  }
  std::sort(times.begin(), times.end());
  const double ns = raw == 0 ? 0 : times[kPasses / 2] / static_cast<double>(raw);
  std::printf("\"%s\": {\"raw_bytes\": %zu, \"stored_bytes\": %zu, \"ns_per_byte\": %.3f}%s", side.name, raw,
              stored, ns, last ? "}\n" : ", ");
}

int Run(const char* path) {
  auto opened = trace::TraceReader::Open({path});
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return 1;
  }
  trace::TraceReader& reader = **opened;
  Side threads{"threads"}, collector{"collector"}, sync_points{"sync_points"};
  using Item = trace::TraceReader::Item;
  for (Item item = reader.Next(); item != Item::kEnd; item = reader.Next()) {
    if (item != Item::kChunk) {
      std::fprintf(stderr, "%s: damaged\n", path);
      return 1;
    }
    if (reader.chunk().type != static_cast<uint16_t>(trace::ChunkType::kData)) continue;
    trace::SegmentReader segments(reader.chunk().payload);
    trace::Segment segment;
    while (segments.Next(&segment)) {
      const auto kind = static_cast<SegmentKind>(segment.kind);
      if (kind == SegmentKind::kAlloc) threads.Add(segment);
      if (kind == SegmentKind::kSyncObjects) sync_points.Add(segment);
      if (IsOfCollector(kind)) collector.Add(segment);
    }
  }
  std::printf("{");
  Measure(threads, false);
  Measure(collector, false);
  Measure(sync_points, true);
  return 0;
}

}  // namespace
}  // namespace anttracks::bench

int main(int argc, char** argv) {
  if (argc == 2) return anttracks::bench::Run(argv[1]);
  std::fprintf(stderr, "usage: compress_bench TRACE\n");
  return 2;
}
