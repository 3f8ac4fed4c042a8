// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <fcntl.h>
#include <snappy.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "trace/crc32c.h"
#include "trace/wire.h"

namespace anttracks::trace {
namespace {

constexpr size_t kSearchBlock = size_t{1} << 20;

struct KnownFormat {
  std::string_view magic;
  const char* what;
};

constexpr KnownFormat kKnownFormats[] = {
    {"JAVA PROFILE", "a Java heap dump (hprof)"},
    {std::string_view("FLR\0", 4), "a Java Flight Recorder file"},
    {"\x1F\x8B", "a gzip archive"},
    {"\x28\xB5\x2F\xFD", "a zstd archive"},
    {"PK\x03\x04", "a zip or jar archive"},
    {"\x7F" "ELF", "an ELF binary"},
    {"\xCA\xFE\xBA\xBE", "a Java class file"},
};

std::string Foreign(const std::string& path, std::span<const uint8_t> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const char* what = "something else";
  if (text.empty()) what = "empty";
  for (const KnownFormat& format : kKnownFormats) {
    if (text.substr(0, format.magic.size()) == format.magic) what = format.what;
  }
  return path + ": not an AntTracks trace (it is " + what +
         "). A trace is what the agent wrote: java -agentpath:libanttracks.so=file=<path>";
}

}  // namespace

class TraceReader::File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Bytes read, less than asked for only at the end of the file; -1 with errno set.
  ssize_t ReadAt(uint64_t offset, std::span<uint8_t> out) const {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n =
          ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return -1;
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return static_cast<ssize_t>(done);
  }

 private:
  int descriptor_;
};

struct TraceReader::Header {
  uint16_t type, flags;
  uint32_t stored, raw;
  uint64_t sequence;
  uint32_t payload_crc;

  // False if the bytes are no chunk header.
  bool Parse(const uint8_t* p) {
    if (std::memcmp(p, kChunkMagic, sizeof kChunkMagic) != 0) return false;
    if (Crc32c({p, chunk_header::kHeaderCrc}) != GetU32(p + chunk_header::kHeaderCrc)) return false;
    type = GetU16(p + chunk_header::kType);
    flags = GetU16(p + chunk_header::kFlags);
    stored = GetU32(p + chunk_header::kStoredLength);
    raw = GetU32(p + chunk_header::kRawLength);
    sequence = GetU64(p + chunk_header::kSequence);
    payload_crc = GetU32(p + chunk_header::kPayloadCrc);
    return true;
  }
};

TraceReader::TraceReader() = default;
TraceReader::~TraceReader() = default;

namespace {

Status ParseFileHeader(std::span<const uint8_t> bytes, FileInfo* info) {
  const uint8_t* p = bytes.data();
  const bool magic = bytes.size() >= sizeof kFileMagic && std::memcmp(p, kFileMagic, sizeof kFileMagic) == 0;
  if (!magic) return Status::Error(Foreign(info->path, bytes));
  if (bytes.size() < kFileHeaderBytes) {
    return Status::Error(info->path + ": the file ends within its header; it holds no events");
  }
  info->major = GetU16(p + file_header::kMajor);
  info->minor = GetU16(p + file_header::kMinor);
  if (info->major != kMajorVersion) {
    return Status::Error(info->path + ": trace format " + std::to_string(info->major) + "." +
                         std::to_string(info->minor) + ", this anttracks reads version " +
                         std::to_string(kMajorVersion) + "; use the anttracks that came with the agent");
  }
  if (Crc32c({p, file_header::kCrc}) != GetU32(p + file_header::kCrc)) {
    return Status::Error(info->path + ": the file header is damaged (checksum)");
  }
  info->header_bytes = GetU32(p + file_header::kSize);
  if (info->header_bytes < kFileHeaderBytes || info->header_bytes > info->bytes) {
    return Status::Error(info->path + ": the file header gives an impossible size for itself");
  }
  info->wall_clock_ns = GetU64(p + file_header::kWallClock);
  info->trace_id = GetU64(p + file_header::kTraceId);
  info->process_id = GetU64(p + file_header::kProcess);
  info->index = GetU32(p + file_header::kFileIndex);
  return {};
}

}  // namespace

Result<std::unique_ptr<TraceReader>> TraceReader::Open(const std::vector<std::string>& paths) {
  std::unique_ptr<TraceReader> reader(new TraceReader());
  std::vector<std::pair<FileInfo, std::unique_ptr<File>>> opened;
  for (const std::string& path : paths) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return Status::Error(path + ": " + std::strerror(errno));
    auto file = std::make_unique<File>(descriptor);
    struct stat status;
    if (::fstat(descriptor, &status) != 0) return Status::Error(path + ": " + std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return Status::Error(path + ": not a regular file");
    FileInfo info;
    info.path = path;
    info.bytes = static_cast<uint64_t>(status.st_size);
    uint8_t header[kFileHeaderBytes];
    const ssize_t n = file->ReadAt(0, header);
    if (n < 0) return Status::Error(path + ": " + std::strerror(errno));
    Status parsed = ParseFileHeader({header, static_cast<size_t>(n)}, &info);
    if (!parsed.ok()) return parsed;
    opened.emplace_back(std::move(info), std::move(file));
  }
  if (opened.empty()) return Status::Error("no trace file given");
  std::stable_sort(opened.begin(), opened.end(),
                   [](const auto& a, const auto& b) { return a.first.index < b.first.index; });
  for (auto& [info, file] : opened) {
    if (info.trace_id != opened[0].first.trace_id) {
      return Status::Error(info.path + ": belongs to another trace than " + reader->files_[0].path);
    }
    if (!reader->files_.empty() && reader->files_.back().index == info.index) {
      return Status::Error(info.path + ": has the same place in the trace as " + reader->files_.back().path);
    }
    reader->total_bytes_ += info.bytes;
    reader->files_.push_back(info);
    reader->handles_.push_back(std::move(file));
  }
  reader->Rewind();
  return reader;
}

void TraceReader::Rewind() {
  current_ = 0;
  offset_ = files_[0].header_bytes;
  bytes_before_file_ = 0;
  error_ = Status();
}

TraceReader::Item TraceReader::Fail(std::string what) {
  error_ = Status::Error(files_[current_].path + ": " + std::move(what));
  return Item::kError;
}

TraceReader::Item TraceReader::Broken(uint64_t end, std::string what) {
  damage_ = {static_cast<uint32_t>(current_), offset_, end - offset_, std::move(what)};
  offset_ = end;
  return Item::kDamage;
}

// The offset of the first chunk header at or behind the offset, or the end of the file.
uint64_t TraceReader::FindHeader(uint64_t offset) {
  const uint64_t size = files_[current_].bytes;
  std::vector<uint8_t> block(kSearchBlock + kChunkHeaderBytes);
  for (; offset + kChunkHeaderBytes <= size; offset += kSearchBlock) {
    const ssize_t n = handles_[current_]->ReadAt(offset, block);
    if (n < static_cast<ssize_t>(kChunkHeaderBytes)) break;
    const size_t last = std::min<size_t>(static_cast<size_t>(n) - kChunkHeaderBytes, kSearchBlock - 1);
    Header header;
    for (size_t i = 0; i <= last; i++) {
      if (block[i] == static_cast<uint8_t>(kChunkMagic[0]) && header.Parse(block.data() + i)) {
        return offset + i;
      }
    }
  }
  return size;
}

TraceReader::Item TraceReader::Next() {
  if (!error_.ok()) return Item::kError;
  while (true) {
    FileInfo& info = files_[current_];
    const uint64_t left = info.bytes - offset_;
    uint8_t bytes[kChunkHeaderBytes];
    Header header;
    bool truncated = left < kChunkHeaderBytes;
    if (!truncated) {
      const ssize_t n = handles_[current_]->ReadAt(offset_, bytes);
      if (n < 0) return Fail(std::strerror(errno));
      if (n < static_cast<ssize_t>(kChunkHeaderBytes)) return Fail("the file became shorter while it was read");
      if (!header.Parse(bytes)) return Broken(FindHeader(offset_ + 1), "no valid chunk header");
      truncated = header.stored > left - kChunkHeaderBytes;
    }
    if (!truncated) return ReadPayload(header);
    if (left != 0) info.truncated_bytes = left;
    offset_ = info.bytes;
    if (current_ + 1 == files_.size()) return Item::kEnd;
    bytes_before_file_ += info.bytes;
    current_++;
    offset_ = files_[current_].header_bytes;
  }
}

TraceReader::Item TraceReader::ReadPayload(const Header& header) {
  const uint64_t end = offset_ + kChunkHeaderBytes + header.stored;
  const bool known = header.type == static_cast<uint16_t>(ChunkType::kMeta) ||
                     header.type == static_cast<uint16_t>(ChunkType::kData);
  if (!known && (header.flags & kChunkMustUnderstand) != 0) {
    return Fail("holds a chunk of type " + std::to_string(header.type) +
                " that this anttracks must not ignore; use a newer anttracks");
  }
  if (header.raw > kMaxChunkRawBytes) return Broken(end, "chunk is larger than 16 MiB");
  const bool compressed = (header.flags & kChunkSnappy) != 0;
  if (header.stored > snappy::MaxCompressedLength(kMaxChunkRawBytes) ||
      (!compressed && header.stored != header.raw)) {
    return Broken(end, "chunk has lengths that disagree");
  }
  stored_.resize(header.stored);
  const ssize_t n = handles_[current_]->ReadAt(offset_ + kChunkHeaderBytes, stored_);
  if (n < 0) return Fail(std::strerror(errno));
  if (n < static_cast<ssize_t>(header.stored)) return Fail("the file became shorter while it was read");
  if (Crc32c(stored_) != header.payload_crc) return Broken(end, "checksum of a chunk is wrong");
  chunk_.payload = stored_;
  if (compressed) {
    const auto* data = reinterpret_cast<const char*>(stored_.data());
    size_t raw = 0;
    if (!snappy::GetUncompressedLength(data, stored_.size(), &raw) || raw != header.raw) {
      return Broken(end, "compressed chunk does not have the length it states");
    }
    raw_.resize(raw);
    if (!snappy::RawUncompress(data, stored_.size(), reinterpret_cast<char*>(raw_.data()))) {
      return Broken(end, "chunk cannot be decompressed");
    }
    chunk_.payload = raw_;
  }
  chunk_.type = header.type;
  chunk_.file = static_cast<uint32_t>(current_);
  chunk_.offset = offset_;
  chunk_.sequence = header.sequence;
  chunk_.stored_bytes = header.stored;
  offset_ = end;
  return Item::kChunk;
}

bool SegmentReader::Next(Segment* segment) {
  if (malformed_ || offset_ == payload_.size()) return false;
  WireReader in(payload_.subspan(offset_));
  segment->kind = in.U8();
  segment->stream = in.Uv();
  const uint64_t length = in.Uv();
  const size_t header = in.position();
  segment->payload = in.Take(length);
  if (!in.ok()) {
    malformed_ = true;
    return false;
  }
  segment->offset = offset_ + header;
  offset_ += in.position();
  return true;
}

}  // namespace anttracks::trace
