// SPDX-License-Identifier: Apache-2.0
// Reads the files of a trace: verifies checksums, decompresses, and returns the chunks in order.
//
// A file may end within a chunk, if its process was killed: that is no error, and the bytes are counted. A
// damaged chunk is reported and skipped; after a damaged header the reader searches for the next one.
//
// Thread safety: none. Ownership: a chunk's payload belongs to the reader and is valid until the next call.
// Memory: at most one chunk, as stored (20 MiB), raw (16 MiB) and in its four parts (32 MiB; each part keeps
// the most that it had in any chunk, so that they may come to 128 MiB), and 1 MiB, whatever the file says.
// Time: linear in the file's size, however many of its bytes are damaged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/chunk_source.h"
#include "trace/columns.h"
#include "trace/file_set.h"
#include "trace/format.h"
#include "trace/status.h"

namespace anttracks::trace {

class TraceReader final : public ChunkSource {
 public:
  // The file of a trace, or files of a rotated trace in any order; file_set.h says which need not be named.
  // Error: a file is not a trace; the text says what it is.
  static Result<std::unique_ptr<TraceReader>> Open(const std::vector<std::string>& paths);
  ~TraceReader() override;

  Item Next() override;
  const Chunk& chunk() const override { return chunk_; }
  const Damage& damage() const override { return damage_; }
  const Status& error() const override { return error_; }
  // Exchanges the memory of the current chunk's payload for other memory, which the next chunks use.
  void SwapPayload(std::vector<uint8_t>* other) {
    other->swap(chunk_.payload.data() == raw_.data() ? raw_ : stored_);
  }

  void Rewind(std::vector<bool> wanted = {}) override;

  // For a trace that is being written, after Next returned kEnd: looks for what was appended since, and for new
  // data files. True: there is more, and Next goes on after the last whole chunk of each file. Then a chunk of
  // the definitions file may follow those of data files. Call it again after a while if not. Data files that
  // are read and have a successor are closed, so that the disk space of those that are deleted is free; Rewind
  // does not go back to them.
  bool Refresh();

  const std::vector<FileInfo>& files() const override { return files_; }
  // See FileSet.
  const std::vector<std::string>& warnings() const { return warnings_; }
  uint64_t total_bytes() const override { return total_bytes_; }
  uint64_t position() const override { return bytes_before_file_ + offset_; }

 private:
  struct Header;

  TraceReader();
  Item Broken(uint64_t end, std::string what);
  Item Fail(std::string what);
  Item ReadPayload(const Header& header);
  std::string JoinColumns(size_t raw);
  bool AddNewDataFiles();
  void CloseRead();
  // Whether the file has grown since its size was taken.
  bool TakeSize(size_t file);
  // Goes to the first wanted file from the current one on; after the last file if there is none.
  void FindWanted();
  uint64_t FindHeader(uint64_t offset);
  std::span<const uint8_t> SearchBlock(uint64_t offset);

  std::vector<FileInfo> files_;
  std::vector<std::unique_ptr<InputFile>> handles_;  // nullptr: closed
  std::vector<std::string> warnings_;
  uint64_t total_bytes_ = 0;
  std::vector<bool> wanted_;
  std::vector<uint64_t> resume_;  // by file: where the next chunk begins
  size_t current_ = 0;
  uint64_t offset_ = 0;
  uint64_t bytes_before_file_ = 0;
  std::vector<uint8_t> stored_;
  std::vector<uint8_t> raw_;
  std::array<std::vector<uint8_t>, ColumnSplitter::kParts> parts_;
  ColumnJoiner joiner_;
  std::vector<uint8_t> search_;  // the part of a file that was searched last for a header
  size_t search_file_ = 0;
  uint64_t search_offset_ = 0;
  Chunk chunk_;
  Damage damage_;
  Status error_;
};

}  // namespace anttracks::trace
