// SPDX-License-Identifier: Apache-2.0
// A trace file's bytes through the reader: file header, chunks, damage, segments. The first byte says whether
// checksums are corrected first.
#include "trace/reader.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tests/fuzz/trace_file.h"
#include "trace/segments.h"

namespace anttracks::fuzz {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

uint64_t ReadSegments(std::span<const uint8_t> payload) {
  trace::SegmentReader segments(payload);
  trace::Segment segment;
  uint64_t bytes = 0;
  while (segments.Next(&segment)) {
    Check(segment.offset + segment.payload.size() == segments.offset());
    bytes += segment.payload.size();
  }
  Check(bytes <= payload.size() && segments.offset() <= payload.size());
  return bytes;
}

void Read(const std::string& path) {
  using Item = trace::TraceReader::Item;
  auto reader = trace::TraceReader::Open({path});
  if (!reader.ok()) return;
  for (int pass = 0; pass < 2; pass++) {
    uint64_t position = (*reader)->position();
    for (Item item = (*reader)->Next(); item == Item::kChunk || item == Item::kDamage;
         item = (*reader)->Next()) {
      if (item == Item::kChunk) ReadSegments((*reader)->chunk().payload);
      Check((*reader)->position() > position && (*reader)->position() <= (*reader)->total_bytes());
      position = (*reader)->position();
    }
    (*reader)->Rewind();
  }
}

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  if (data[0] & 1) {
    Read(MemoryFile(WithChecksums(bytes)).path());
  } else {
    Read(MemoryFile(bytes).path());
  }
  return 0;
}
