// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/rotating_trace.h"

#include <algorithm>
#include <utility>

#include "trace/format.h"

namespace anttracks::io {

using trace::Status;

trace::Result<std::unique_ptr<RotatingTrace>> RotatingTrace::Create(const std::string& path,
                                                                    core::IfExists if_exists,
                                                                    const trace::FileHeader& header,
                                                                    const RotationLimits& limits) {
  std::unique_ptr<RotatingTrace> made(new RotatingTrace(path, if_exists, header, limits));
  Status status = made->files_.CreateDefinitions();
  if (!status.ok()) return status;
  trace::FileHeader first = header;
  first.file_index = trace::kDefinitionsFileIndex;
  first.flags = trace::kFileDefinitions;
  status = made->WriteDefinitions(trace::EncodeFileHeader(first));
  if (status.ok()) status = made->BeginData(0);
  if (status.ok()) return made;
  made->Remove();
  return status;
}

Status RotatingTrace::BeginData(uint32_t index) {
  const Status status = files_.CreateData(index);
  if (!status.ok()) return status;
  policy_.FileBegun();
  header_.file_index = index;
  header_.flags = trace::kFileData;
  return Write(trace::EncodeFileHeader(header_));
}

Status RotatingTrace::Write(std::span<const uint8_t> bytes) {
  const Status status = files_.current().Write(bytes);
  if (status.ok()) policy_.Wrote(bytes.size());
  return status;
}

Status RotatingTrace::WriteDefinitions(std::span<const uint8_t> bytes) {
  if (!policy_.HasRoomForDefinitions(bytes.size())) {
    return Status::Error(
        "the bound maxsize=" + std::to_string(policy_.limits().max_bytes) +
        " is too small for the definitions of classes, methods and sites alone; give a larger one");
  }
  const Status status = files_.definitions().Write(bytes);
  if (status.ok()) policy_.WroteDefinitions(bytes.size());
  return status;
}

bool RotatingTrace::MakeRoom(size_t bytes, size_t keep) {
  // If one cannot be deleted the next file will fail and say so.
  while (policy_.MustDelete(bytes, keep) && DeleteOldest().ok()) {
  }
  return policy_.HasRoom(bytes);
}

Status RotatingTrace::NextFile() {
  Status status = Check();
  if (status.ok()) status = files_.current().Close();
  // Before any goes: what is there must outlive a next one that cannot be made.
  if (status.ok()) status = BeginData(policy_.current().index + 1);
  while (status.ok() && policy_.MustDeleteForShare()) status = DeleteOldest();
  return status;
}

Status RotatingTrace::DeleteOldest() {
  const RotationPolicy::DataFile oldest = policy_.oldest();
  const Status status = files_.DeleteData(oldest.index);
  if (!status.ok()) return status;
  if (oldest.provenance_bytes != 0) files_.DeleteProvenance(oldest.index);
  policy_.OldestDeleted();
  return {};
}

Status RotatingTrace::WriteProvenance(std::span<const uint8_t> meta, const trace::SavedProvenance& saved) {
  trace::FileHeader header = header_;
  header.flags = trace::kFileProvenance | (saved.in_part ? trace::kFileProvenanceInPart : 0);
  trace::ByteBuffer file;
  file.Resize(trace::kFileHeaderBytes);
  trace::NumberedChunks chunks(trace::Compressed::kYes);
  const auto add = [&](trace::ChunkType type, std::span<const uint8_t> payload) {
    const auto chunk = chunks.Encode(type, payload);
    if (chunk.ok()) file.Append(*chunk);
    return chunk.ok() ? Status() : chunk.status();
  };
  Status status = add(trace::ChunkType::kMeta, meta);
  for (const trace::ByteBuffer& segment : saved.segments) {
    if (status.ok()) status = add(trace::ChunkType::kData, segment.span());
  }
  if (!status.ok()) return status;
  header.file_bytes = file.size();
  std::ranges::copy(trace::EncodeFileHeader(header), file.data());
  if (file.size() > policy_.max_provenance_bytes() || !MakeRoom(file.size(), policy_.files_to_keep())) {
    return Status::Error("there is no room for " + files_.provenance_path(header.file_index) +
                         ", which takes " + std::to_string(file.size()) + " bytes");
  }
  status = files_.WriteProvenance(header.file_index, file.span());
  if (status.ok()) policy_.WroteProvenance(file.size());
  return status;
}

Status RotatingTrace::Close() { return files_.Close(); }

void RotatingTrace::Remove() { files_.Remove(); }

void RotatingTrace::CloseInForkedChild() { files_.CloseInForkedChild(); }

}  // namespace anttracks::io
