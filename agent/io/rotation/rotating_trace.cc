// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/rotating_trace.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/base/log.h"
#include "trace/format.h"

namespace anttracks::io {

using trace::Status;

constexpr char kTooLate[] = "it had to go before it was folded; give a larger maxsize=";

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
  const bool lost = policy_.OldestDeleted();
  // A fold that has begun has the file open.
  if (policy_.folds_into() == oldest.index) {
    StopFold();
    Unfolded(oldest.index, kTooLate);
  }
  if (lost) Unfolded(policy_.oldest().index, kTooLate);
  return {};
}

void RotatingTrace::SyncPointComplete() {
  if (policy_.SyncPointComplete()) StartFold();
}

void RotatingTrace::StartFold() {
  const auto into = policy_.BeginFold();
  if (!into) return;
  const Status status = fold_.Start(files_.data_path(*into - 1), policy_.max_provenance_bytes());
  if (!status.ok()) FoldEnded({.ended = true, .good = false, .message = status.message()});
}

void RotatingTrace::Poll() {
  if (!policy_.folds_into()) return StartFold();
  const FoldProcess::Outcome outcome = fold_.Poll();
  if (outcome.ended) FoldEnded(outcome);
}

void RotatingTrace::FoldEnded(const FoldProcess::Outcome& outcome) {
  const uint32_t into = *policy_.folds_into();
  policy_.EndFold();
  folds_.cpu_ns += outcome.cpu_ns;
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(files_.provenance_path(into), error);
  // Its end may not be seen where somebody else waits for all children; the file is there whole or not at all.
  if ((outcome.good || outcome.unseen) && !error) {
    policy_.ProvenanceMade(into, bytes);
    folds_.folded++;
    return;
  }
  files_.DeleteProvenance(into);
  // It may not have come as far as to open what was deleted meanwhile.
  Unfolded(into, outcome.good                     ? files_.provenance_path(into) + " is gone"
                 : into == policy_.oldest().index ? kTooLate
                                                  : outcome.message);
}

void RotatingTrace::StopFold() {
  const uint32_t into = *policy_.folds_into();
  fold_.Stop();
  policy_.EndFold();
  files_.DeleteProvenance(into);
}

void RotatingTrace::Unfolded(uint32_t index, const std::string& why) {
  folds_.unfolded++;
  if (std::exchange(said_unfolded_, true)) return;
  core::LogWarn("keep=yes: the provenance of older live objects is lost with the data file before " +
                files_.data_path(index) + ": " + why);
}

Status RotatingTrace::Close() {
  if (policy_.folds_into()) Poll();
  // What is being folded stays, unless it went already.
  if (const auto into = policy_.folds_into()) {
    StopFold();
    if (into == policy_.oldest().index) Unfolded(*into, kTooLate);
  }
  return files_.Close();
}

void RotatingTrace::Remove() {
  if (policy_.folds_into()) StopFold();
  files_.Remove();
}

void RotatingTrace::CloseInForkedChild() {
  fold_.ForgetInForkedChild();
  files_.CloseInForkedChild();
}

}  // namespace anttracks::io
