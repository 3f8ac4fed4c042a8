// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotating_trace.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "trace/format.h"

namespace anttracks::io {

using trace::Status;

trace::Result<std::unique_ptr<RotatingTrace>> RotatingTrace::Create(const std::string& path, bool overwrite,
                                                                    const trace::FileHeader& header,
                                                                    const RotationLimits& limits) {
  std::unique_ptr<RotatingTrace> made(new RotatingTrace(path, overwrite, header, limits));
  auto symbols = TraceFile::Create(path, overwrite);
  if (!symbols.ok()) return symbols.status();
  made->symbols_ = std::move(*symbols);
  trace::FileHeader first = header;
  first.file_index = trace::kSymbolsFileIndex;
  first.flags = trace::kFileSymbols;
  Status status = made->WriteSymbols(trace::EncodeFileHeader(first));
  if (status.ok()) status = made->OpenData();
  if (status.ok()) return made;
  made->Remove();
  return status;
}

uint64_t RotatingTrace::share() const {
  const uint64_t left = limits_.max_bytes > symbols_bytes_ ? limits_.max_bytes - symbols_bytes_ : 0;
  return left / limits_.files();
}

Status RotatingTrace::OpenData() {
  auto file = TraceFile::Create(path_ + "." + std::to_string(next_index_), overwrite_);
  if (!file.ok()) return file.status();
  current_ = std::move(*file);
  data_.push_back({current_->path(), 0});
  trace::FileHeader header = header_;
  header.file_index = next_index_++;
  header.flags = trace::kFileData;
  return Write(trace::EncodeFileHeader(header));
}

Status RotatingTrace::DeleteOldest() {
  const DataFile oldest = data_.front();
  if (unlink(oldest.path.c_str()) != 0 && errno != ENOENT) {
    return Status::Error("cannot delete trace file " + oldest.path + " to make room: " +
                         std::generic_category().message(errno) +
                         "; the folder of file= must allow it");
  }
  total_ -= oldest.bytes;
  data_.pop_front();
  return {};
}

Status RotatingTrace::Write(std::span<const uint8_t> bytes) {
  const Status status = current_->Write(bytes);
  if (!status.ok()) return status;
  data_.back().bytes += bytes.size();
  total_ += bytes.size();
  return {};
}

Status RotatingTrace::WriteSymbols(std::span<const uint8_t> bytes) {
  while (!HasRoom(bytes.size())) {
    if (data_.size() < 2) {
      return Status::Error("the bound maxsize=" + std::to_string(limits_.max_bytes) +
                           " is too small for the definitions of classes, methods and sites alone; give a larger one");
    }
    const Status status = DeleteOldest();
    if (!status.ok()) return status;
  }
  const Status status = symbols_->Write(bytes);
  if (!status.ok()) return status;
  symbols_bytes_ += bytes.size();
  total_ += bytes.size();
  return {};
}

Status RotatingTrace::NextFile() {
  Status status = Check();
  if (status.ok()) status = current_->Close();
  // Room for a file's share within the size that was asked for.
  while (status.ok() && !data_.empty() &&
         (data_.size() >= limits_.files() || total_ + share() > limits_.max_bytes)) {
    status = DeleteOldest();
  }
  return status.ok() ? OpenData() : status;
}

std::string RotatingTrace::TooSmall(double part) const {
  const double whole = static_cast<double>(current_bytes()) / part;
  const auto enough = static_cast<uint64_t>(2 * whole * static_cast<double>(limits_.files())) + 2 * symbols_bytes_;
  const uint64_t megabyte = 1 << 20;
  return "maxsize=" + std::to_string(limits_.max_bytes) + " is too small: a sync point of this heap takes about " +
         std::to_string(static_cast<uint64_t>(whole) / 1024 + 1) + " KB, one of " + std::to_string(limits_.files()) +
         " files has " + std::to_string(share() / 1024) + " KB; give at least maxsize=" +
         std::to_string(enough / megabyte + 1) + "M. Events are lost, the trace goes on";
}

Status RotatingTrace::Check() {
  const Status status = symbols_->Check();
  return status.ok() ? current_->Check() : status;
}

Status RotatingTrace::Close() {
  const Status symbols = symbols_->Close();
  const Status data = current_ ? current_->Close() : Status();
  return symbols.ok() ? data : symbols;
}

void RotatingTrace::Remove() {
  symbols_->Remove();
  if (current_) current_->Remove();
}

void RotatingTrace::CloseInForkedChild() {
  symbols_->CloseInForkedChild();
  current_->CloseInForkedChild();
}

}  // namespace anttracks::io
