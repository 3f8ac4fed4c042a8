// SPDX-License-Identifier: Apache-2.0
// Bytes as a file that can be opened by its path, and what makes a trace of a fuzzer's bytes.
//
// Thread safety: none.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "trace/crc32c.h"
#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::fuzz {

// In memory; nothing stays behind.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor_(::memfd_create("trace", MFD_CLOEXEC)) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (n <= 0) std::abort();
      done += static_cast<size_t>(n);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Corrects every checksum, so that changed bytes get past them: those of the file's header, of each chunk's
// header, of each payload; and a stored length that reaches beyond the file.
inline std::vector<uint8_t> WithChecksums(std::span<const uint8_t> bytes) {
  using namespace trace;
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  const auto crc = [&](size_t from, size_t size) { return Crc32c(std::span(file).subspan(from, size)); };
  if (file.size() >= kFileHeaderBytes) PutU32(&file[file_header::kCrc], crc(0, file_header::kCrc));
  for (size_t at = kFileHeaderBytes; at + kChunkHeaderBytes <= file.size();) {
    if (std::memcmp(&file[at], kChunkMagic, sizeof kChunkMagic) != 0) {
      at++;
      continue;
    }
    const size_t left = file.size() - at - kChunkHeaderBytes;
    uint32_t stored = GetU32(&file[at + chunk_header::kStoredLength]);
    if (stored > left) PutU32(&file[at + chunk_header::kStoredLength], stored = static_cast<uint32_t>(left));
    const bool compressed = (GetU16(&file[at + chunk_header::kFlags]) & kChunkSnappy) != 0;
    if (!compressed) PutU32(&file[at + chunk_header::kRawLength], stored);
    PutU32(&file[at + chunk_header::kPayloadCrc], crc(at + kChunkHeaderBytes, stored));
    PutU32(&file[at + chunk_header::kHeaderCrc], crc(at, chunk_header::kHeaderCrc));
    at += kChunkHeaderBytes + stored;
  }
  return file;
}

}  // namespace anttracks::fuzz
