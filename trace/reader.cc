// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <snappy.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/crc32c.h"
#include "trace/wire.h"

namespace anttracks::trace {
namespace {

constexpr size_t kSearchBlock = size_t{1} << 20;
constexpr int kMostLooks = 10;  // at a file that grows meanwhile

// What is wrong, or nothing.
std::string Uncompress(std::span<const uint8_t> stored, size_t bytes, std::vector<uint8_t>* out) {
  const auto* data = reinterpret_cast<const char*>(stored.data());
  size_t raw = 0;
  if (!snappy::GetUncompressedLength(data, stored.size(), &raw) || raw != bytes) {
    return "compressed chunk does not have the length it states";
  }
  out->resize(raw);
  if (!snappy::RawUncompress(data, stored.size(), reinterpret_cast<char*>(out->data()))) {
    return "chunk cannot be decompressed";
  }
  return {};
}

}  // namespace

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

Result<std::unique_ptr<TraceReader>> TraceReader::Open(const std::vector<std::string>& paths) {
  auto set = OpenFileSet(paths);
  if (!set.ok()) return Status::Error(set.message());
  std::unique_ptr<TraceReader> reader(new TraceReader());
  reader->warnings_ = std::move(set->warnings);
  for (TraceFile& file : set->files) {
    reader->total_bytes_ += file.info.bytes;
    reader->files_.push_back(std::move(file.info));
    reader->handles_.push_back(std::move(file.file));
  }
  reader->Rewind();
  return reader;
}

void TraceReader::Rewind(std::vector<bool> wanted) {
  wanted_ = std::move(wanted);
  wanted_.resize(files_.size(), wanted_.empty());
  for (size_t i = 0; i < files_.size(); i++) wanted_[i] = wanted_[i] && handles_[i] != nullptr;
  current_ = 0;
  bytes_before_file_ = 0;
  error_ = Status();
  resume_.clear();
  for (const FileInfo& file : files_) resume_.push_back(file.header_bytes);
  FindWanted();
}

// Definitions precede the events that use them, and a data file is complete before the next one begins. So new
// files are looked for first, and the size of the definitions file is taken last. The end record is behind all
// events, and counts all files: while anything grows, all is looked at again.
bool TraceReader::Refresh() {
  if (!error_.ok()) return false;
  bool more = false;
  for (int i = 0; i < kMostLooks; i++) {
    bool grown = AddNewDataFiles();
    for (size_t file = files_.size(); file-- > 0;) grown = TakeSize(file) || grown;
    more = more || grown;
    if (!grown) break;
  }
  CloseRead();
  if (!more) return false;
  current_ = 0;
  bytes_before_file_ = 0;
  search_.clear();
  FindWanted();
  return true;
}

// Whatever has a successor grows no more.
void TraceReader::CloseRead() {
  for (size_t i = 0; i + 1 < files_.size(); i++) {
    const bool read = resume_[i] + files_[i].truncated_bytes >= files_[i].bytes;
    if (files_[i].is_definitions() || !wanted_[i] || !read) continue;
    wanted_[i] = false;
    handles_[i].reset();
  }
}

bool TraceReader::TakeSize(size_t file) {
  uint64_t bytes = 0;
  if (handles_[file] == nullptr || !handles_[file]->Size(&bytes) || bytes <= files_[file].bytes) return false;
  total_bytes_ += bytes - files_[file].bytes;
  files_[file].bytes = bytes;
  files_[file].truncated_bytes = 0;
  return true;
}

bool TraceReader::AddNewDataFiles() {
  if (!files_[0].is_definitions()) return false;
  FileSet added = OpenNewDataFiles(files_[0], files_.back().is_data() ? files_.back().index + 1 : 0);
  for (TraceFile& file : added.files) {
    total_bytes_ += file.info.bytes;
    resume_.push_back(file.info.header_bytes);
    wanted_.push_back(true);
    files_.push_back(std::move(file.info));
    handles_.push_back(std::move(file.file));
  }
  return !added.files.empty();
}

void TraceReader::FindWanted() {
  for (; current_ < files_.size() && !wanted_[current_]; current_++)
    bytes_before_file_ += files_[current_].bytes;
  offset_ = current_ == files_.size() ? 0 : resume_[current_];
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

// The current file's bytes from the offset on, a chunk header or more, unless fewer are left. Damage comes in
// many small pieces: the bytes are not read again for each.
std::span<const uint8_t> TraceReader::SearchBlock(uint64_t offset) {
  const bool held = search_file_ == current_ && offset >= search_offset_ &&
                    offset + kChunkHeaderBytes <= search_offset_ + search_.size();
  if (!held) {
    search_.resize(std::min<uint64_t>(files_[current_].bytes - offset, kSearchBlock));
    const ssize_t n = handles_[current_]->ReadAt(offset, search_);
    search_.resize(n < 0 ? 0 : static_cast<size_t>(n));
    search_file_ = current_;
    search_offset_ = offset;
  }
  return std::span(search_).subspan(offset - search_offset_);
}

// The offset of the first chunk header from `offset` on, or the end of the file.
uint64_t TraceReader::FindHeader(uint64_t offset) {
  const uint64_t size = files_[current_].bytes;
  while (offset + kChunkHeaderBytes <= size) {
    const std::span<const uint8_t> block = SearchBlock(offset);
    if (block.size() < kChunkHeaderBytes) break;
    const size_t places = block.size() - kChunkHeaderBytes + 1;
    Header header;
    for (size_t i = 0; i < places; i++) {
      if (block[i] == static_cast<uint8_t>(kChunkMagic[0]) && header.Parse(block.data() + i)) {
        return offset + i;
      }
    }
    offset += places;
  }
  return size;
}

TraceReader::Item TraceReader::Next() {
  if (!error_.ok()) return Item::kError;
  while (current_ < files_.size()) {
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
    resume_[current_] = offset_;
    bytes_before_file_ += info.bytes;
    current_++;
    FindWanted();
  }
  return Item::kEnd;
}

// Parts follow each other; see ChunkEncoder. What is wrong, or nothing.
std::string TraceReader::JoinColumns(size_t raw) {
  std::array<std::span<const uint8_t>, ColumnSplitter::kParts> parts;
  WireReader in(stored_);
  uint64_t all = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    const uint32_t bytes = in.U32();
    const uint32_t stored = in.U32();
    const std::span<const uint8_t> part = in.Take(stored);
    all += bytes;
    // All that is in the parts is in the payload, but a bit an object, which has two bytes there.
    if (!in.ok() || all > 2 * uint64_t{raw} + 8) return "columns of a chunk have lengths that disagree";
    parts[i] = part;
    if (stored == bytes) continue;
    const std::string wrong = Uncompress(part, bytes, &parts_[i]);
    if (!wrong.empty()) return wrong;
    parts[i] = parts_[i];
  }
  if (!in.AtEnd()) return "columns of a chunk have lengths that disagree";
  raw_.resize(raw);
  return joiner_.Join(parts, raw, raw_.data()).message();
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
  const bool columns = (header.flags & kChunkColumns) != 0;
  if (header.stored > snappy::MaxCompressedLength(kMaxChunkRawBytes) ||
      (!compressed && (columns || header.stored != header.raw))) {
    return Broken(end, "chunk has lengths that disagree");
  }
  stored_.resize(header.stored);
  const ssize_t n = handles_[current_]->ReadAt(offset_ + kChunkHeaderBytes, stored_);
  if (n < 0) return Fail(std::strerror(errno));
  if (n < static_cast<ssize_t>(header.stored)) return Fail("the file became shorter while it was read");
  if (Crc32c(stored_) != header.payload_crc) return Broken(end, "checksum of a chunk is wrong");
  chunk_.payload = stored_;
  if (compressed) {
    const std::string wrong = columns ? JoinColumns(header.raw) : Uncompress(stored_, header.raw, &raw_);
    if (!wrong.empty()) return Broken(end, wrong);
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

}  // namespace anttracks::trace
