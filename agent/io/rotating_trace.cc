// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotating_trace.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "trace/format.h"

namespace anttracks::io {

using trace::Status;

namespace {

namespace fs = std::filesystem;

// They would be taken for this trace's, count against its bound, and be in the way when it gets to their index.
Status RemoveEarlier(const fs::path& path, bool overwrite) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::string prefix = path.filename().string();
  prefix += '.';
  // A folder that cannot be read is noticed when the files are made.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path file = at->path();
    const std::string name = file.filename().string();
    if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0 ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) {
      continue;
    }
    if (!overwrite) {
      return Status::Error("cannot create trace file " + path.string() + ": " + file.string() +
                           " of an earlier trace exists; remove it, choose another name with file= (%p is the process "
                           "id), or give overwrite=yes");
    }
    if (!fs::remove(file, error) && error) {
      return Status::Error("cannot delete " + file.string() + " of an earlier trace: " + error.message());
    }
  }
  return {};
}

}  // namespace

trace::Result<std::unique_ptr<RotatingTrace>> RotatingTrace::Create(const std::string& path, bool overwrite,
                                                                    const trace::FileHeader& header,
                                                                    const RotationLimits& limits) {
  std::unique_ptr<RotatingTrace> made(new RotatingTrace(path, overwrite, header, limits));
  const Status room = RemoveEarlier(path, overwrite);
  if (!room.ok()) return room;
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

bool RotatingTrace::MakeRoom(size_t bytes, size_t keep) {
  // If one cannot be deleted the next file will fail and say so.
  while (!HasRoom(bytes) && data_.size() > keep && DeleteOldest().ok()) {
  }
  return HasRoom(bytes);
}

Status RotatingTrace::WriteSymbols(std::span<const uint8_t> bytes) {
  while (!HasRoom(bytes.size()) && data_.size() > 1) {
    const Status status = DeleteOldest();
    if (!status.ok()) return status;
  }
  // The reserve is for what comes last.
  if (total_ + bytes.size() > limits_.bound()) {
    return Status::Error("the bound maxsize=" + std::to_string(limits_.max_bytes) +
                           " is too small for the definitions of classes, methods and sites alone; give a larger one");
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

std::string RotatingTrace::TooSmall(double sync_bytes) const {
  // As much again for events. If that would have been enough, they came faster than it.
  const auto files = static_cast<double>(limits_.files());
  const uint64_t enough =
      std::max(static_cast<uint64_t>(2 * sync_bytes * files) + 2 * symbols_bytes_, 2 * limits_.max_bytes);
  const uint64_t megabyte = 1 << 20;
  return "maxsize=" + std::to_string(limits_.max_bytes) + " is too small: a sync point of this heap takes about " +
         std::to_string(static_cast<uint64_t>(sync_bytes) / 1024 + 1) + " KB, one of " + std::to_string(limits_.files()) +
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
