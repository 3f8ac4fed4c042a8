// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/rotating_trace.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/core/log.h"
#include "agent/io/descriptor.h"
#include "trace/format.h"
#include "trace/output_file.h"

namespace anttracks::io {

using trace::Status;

namespace {

namespace fs = std::filesystem;

constexpr char kTooLate[] = "it had to go before it was folded; give a larger maxsize=";
// The prefix, a number, and perhaps what stands behind that in the name of a file of origins.
bool IsOfTrace(const std::string& name, const std::string& prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return false;
  const size_t end = name.find_first_not_of("0123456789", prefix.size());
  if (end == prefix.size() || name.size() == prefix.size()) return false;
  if (end == std::string::npos) return true;
  const std::string_view rest = std::string_view(name).substr(end), suffix = trace::kOriginsSuffix;
  if (rest.substr(0, suffix.size()) != suffix) return false;
  // Behind it: of one that is being written. The last one is of older versions.
  const std::string_view unfinished = rest.substr(suffix.size());
  return unfinished.empty() || trace::IsUnfinishedSuffix(unfinished) || unfinished == ".tmp";
}

// They would be taken for this trace's, count against its bound, and be in the way when it gets to their index. All are
// looked at before any is deleted.
Status RemoveEarlier(const fs::path& path, bool overwrite) {
  std::error_code error;
  std::vector<fs::path> earlier;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::string prefix = path.filename().string();
  prefix += '.';
  // A folder that cannot be read is noticed when the files are made.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path file = at->path();
    if (!IsOfTrace(file.filename().string(), prefix)) continue;
    if (!overwrite) {
      return Status::Error("cannot create trace file " + path.string() + ": " + file.string() +
                           " of an earlier trace exists; remove it, choose another name with file= (%p is the process "
                           "id), or give overwrite=yes");
    }
    const std::string what = trace::WhyNotReplaced(file, &trace::IsTraceFile);
    if (!what.empty()) {
      return Status::Error("cannot create trace file " + path.string() + ": " + file.string() + " has the name of one of its files, " +
                           "but is " + what + ", and overwrite=yes deletes only traces; remove it, or choose another name with file=");
    }
    earlier.push_back(file);
  }
  for (const fs::path& file : earlier) {
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
  Status room = overwrite ? TraceFile::CheckReplaced(path) : Status();
  if (room.ok()) room = RemoveEarlier(path, overwrite);
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

bool RotatingTrace::MayHave(const std::string& path, const std::string& name) {
  return name == path || IsOfTrace(name, path + ".");
}

uint64_t RotatingTrace::share() const {
  const uint64_t left = limits_.max_bytes > symbols_bytes_ ? limits_.max_bytes - symbols_bytes_ : 0;
  return left / (limits_.files() + (keeps() ? 1 : 0));
}

std::string RotatingTrace::RealPrefix(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return (error ? path : real.string()) + ".";
}

Status RotatingTrace::OpenData() {
  making_file_ = true;
  auto file = TraceFile::Create(path_ + "." + std::to_string(next_index_), overwrite_);
  if (file.ok()) current_ = std::move(*file);
  making_file_ = false;
  if (!file.ok()) return file.status();
  data_.push_back({.path = current_->path()});
  current_has_sync_ = next_index_ == 0;  // the first one begins with the VM's
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
  total_ -= oldest.bytes + oldest.origins_bytes;
  if (oldest.origins_bytes != 0) RemoveOrigins(oldest);
  data_.pop_front();
  if (!keeps()) return {};
  // A fold that has begun has the file open.
  if (fold_.running() && fold_target_ == oldest.path) {
    StopFold();
    Unfolded(oldest.path, kTooLate);
  }
  if (!std::exchange(data_.front().fold_tried, true)) Unfolded(data_.front().path, kTooLate);
  return {};
}

void RotatingTrace::SyncPointComplete() {
  current_has_sync_ = true;
  StartFold();
}

// Oldest first, since each needs the origins of the one before; well ahead of when it must be done, but not for a
// program that ends before it needs half of the files or of the bytes (files may have more than their share).
void RotatingTrace::StartFold() {
  if (!keeps() || fold_.running() || !HasRoom(MostOrigins())) return;
  if (2 * data_.size() < limits_.files() && 2 * total_ < limits_.max_bytes) return;
  const size_t complete = data_.size() - (current_has_sync_ ? 0 : 1);
  size_t next = 1;
  while (next < complete && data_[next].fold_tried) next++;
  if (next >= complete) return;
  data_[next].fold_tried = true;
  fold_target_ = data_[next].path;
  fold_reserve_ = MostOrigins();
  const Status status = fold_.Start(data_[next - 1].path, fold_reserve_);
  if (status.ok()) {
    total_ += fold_reserve_;
  } else {
    FoldEnded({.ended = true, .good = false, .message = status.message()});
  }
}

void RotatingTrace::Poll() {
  if (!fold_.running()) {
    StartFold();
    return;
  }
  const FoldProcess::Outcome outcome = fold_.Poll();
  if (!outcome.ended) return;
  total_ -= fold_reserve_;
  FoldEnded(outcome);
}

void RotatingTrace::FoldEnded(const FoldProcess::Outcome& outcome) {
  folds_.cpu_ns += outcome.cpu_ns;
  const auto target =
      std::find_if(data_.begin(), data_.end(), [this](const DataFile& file) { return file.path == fold_target_; });
  if (target == data_.end()) return;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(target->origins_path(), error);
  // Its end may not be seen where somebody else waits for all children; the file is there whole or not at all.
  if ((outcome.good || outcome.unseen) && !error) {
    target->origins_bytes = bytes;
    total_ += bytes;
    folds_.folded++;
    return;
  }
  RemoveOrigins(*target);
  // It may not have come as far as to open what was deleted meanwhile.
  Unfolded(fold_target_, outcome.good                ? target->origins_path() + " is gone"
                         : target == data_.begin() ? kTooLate
                                                   : outcome.message);
}

void RotatingTrace::Unfolded(const std::string& successor, const std::string& why) {
  folds_.unfolded++;
  if (std::exchange(said_unfolded_, true)) return;
  core::LogWarn("keep=yes: who allocated the older live objects, and when, is lost with the data file before " + successor +
                ": " + why);
}

void RotatingTrace::StopFold() {
  fold_.Stop();
  total_ -= fold_reserve_;
  DataFile target;
  target.path = fold_target_;
  RemoveOrigins(target);
}

void RotatingTrace::RemoveOrigins(const DataFile& file) {
  unlink(file.origins_path().c_str());
  trace::RemoveUnfinished(file.origins_path());
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
  // Before any goes: what is there must outlive a next one that cannot be made.
  if (status.ok()) status = OpenData();
  // Room for a file's share within the size that was asked for.
  while (status.ok() && data_.size() > 1 &&
         (data_.size() > limits_.files() || total_ - current_bytes() + share() > limits_.max_bytes)) {
    status = DeleteOldest();
  }
  return status;
}

std::string RotatingTrace::TooSmall(double sync_bytes) const {
  // As much again for events. If that would have been enough, they came faster than it.
  const auto files = static_cast<double>(limits_.files());
  const bool fits = 2 * sync_bytes <= static_cast<double>(share());
  const uint64_t enough =
      std::max(static_cast<uint64_t>(2 * sync_bytes * files) + 2 * symbols_bytes_, 2 * limits_.max_bytes);
  const std::string size = std::to_string(share() / 1024) + " KB";
  const std::string why =
      fits ? "events fill one of " + std::to_string(limits_.files()) + " files, " + size + ", before the sync point that it begins with is complete"
           : "a sync point of this heap takes about " + std::to_string(static_cast<uint64_t>(sync_bytes) / 1024 + 1) + " KB, one of " +
                 std::to_string(limits_.files()) + " files has " + size;
  return "maxsize=" + std::to_string(limits_.max_bytes) + " is too small: " + why + "; give at least maxsize=" +
         std::to_string(enough / (uint64_t{1} << 20) + 1) + "M. Events are lost, the trace goes on";
}

Status RotatingTrace::Check() {
  const Status status = symbols_->Check();
  return status.ok() ? current_->Check() : status;
}

Status RotatingTrace::Close() {
  if (fold_.running()) Poll();
  // What is being folded stays, unless it went already.
  if (fold_.running()) {
    const bool gone = !data_.empty() && fold_target_ == data_.front().path;
    StopFold();
    if (gone) Unfolded(fold_target_, kTooLate);
  }
  const Status symbols = symbols_->Close();
  const Status data = current_ ? current_->Close() : Status();
  return symbols.ok() ? data : symbols;
}

void RotatingTrace::Remove() {
  if (fold_.running()) StopFold();
  symbols_->Remove();
  if (current_) current_->Remove();
}

void RotatingTrace::CloseInForkedChild() {
  fold_.ForgetInForkedChild();
  symbols_->CloseInForkedChild();
  current_->CloseInForkedChild();
  if (making_file_) CloseNumbered(real_prefix_);
}

}  // namespace anttracks::io
