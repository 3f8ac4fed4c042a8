// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/io/descriptor.h"
#include "trace/output_file.h"

namespace anttracks::io {

using trace::Status;

namespace {

namespace fs = std::filesystem;

// The prefix, a number, and perhaps what follows it in the name of a provenance file.
bool IsOfTrace(const std::string& name, const std::string& prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return false;
  const size_t end = name.find_first_not_of("0123456789", prefix.size());
  if (end == prefix.size() || name.size() == prefix.size()) return false;
  if (end == std::string::npos) return true;
  const std::string_view rest = std::string_view(name).substr(end), suffix = trace::kProvenanceSuffix;
  if (rest.substr(0, suffix.size()) != suffix) return false;
  // Behind it: of one that is being written. The last one is of older versions.
  const std::string_view unfinished = rest.substr(suffix.size());
  return unfinished.empty() || trace::IsUnfinishedSuffix(unfinished) || unfinished == ".tmp";
}

std::string RealPrefix(const std::string& path) {
  std::error_code error;
  const auto real = fs::weakly_canonical(path, error);
  return (error ? path : real.string()) + ".";
}

}  // namespace

RotationFiles::RotationFiles(std::string path, core::IfExists if_exists)
    : path_(std::move(path)), real_prefix_(RealPrefix(path_)), if_exists_(if_exists) {}

bool RotationFiles::MayHave(const std::string& path, const std::string& name) {
  return name == path || IsOfTrace(name, path + ".");
}

Status RotationFiles::CreateDefinitions() {
  Status status = if_exists_ == core::IfExists::kReplace ? TraceFile::CheckReplaced(path_) : Status();
  if (status.ok()) status = DeleteEarlier();
  if (!status.ok()) return status;
  auto definitions = TraceFile::Create(path_, if_exists_);
  if (!definitions.ok()) return definitions.status();
  definitions_ = std::move(*definitions);
  return {};
}

// They would be taken for this trace's, count against its bound, and be in the way when it gets to their index.
// All are looked at before any is deleted.
Status RotationFiles::DeleteEarlier() {
  std::error_code error;
  std::vector<fs::path> earlier;
  const fs::path path = path_, folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::string prefix = path.filename().string();
  prefix += '.';
  // A folder that cannot be read is noticed when the files are made.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path file = at->path();
    if (!IsOfTrace(file.filename().string(), prefix)) continue;
    if (if_exists_ == core::IfExists::kRefuse) {
      return Status::Error(
          "cannot create trace file " + path_ + ": " + file.string() +
          " of an earlier trace exists; remove it, choose another name with file= (%p is the process "
          "id), or give overwrite=yes");
    }
    const std::string what = trace::WhyNotReplaced(file, &trace::IsTraceFile);
    if (!what.empty()) {
      return Status::Error(
          "cannot create trace file " + path_ + ": " + file.string() +
          " has the name of one of its files, but is " + what +
          ", and overwrite=yes deletes only traces; remove it, or choose another name with file=");
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

Status RotationFiles::CreateData(uint32_t index) {
  auto file = TraceFile::Create(data_path(index), if_exists_);
  if (file.ok()) current_ = std::move(*file);
  return file.ok() ? Status() : file.status();
}

Status RotationFiles::DeleteData(uint32_t index) {
  const std::string path = data_path(index);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Status::Error("cannot delete trace file " + path + " to make room: " +
                       std::generic_category().message(errno) + "; the folder of file= must allow it");
}

Status RotationFiles::WriteProvenance(uint32_t index, std::span<const uint8_t> bytes) {
  const std::string path = provenance_path(index);
  const int error = trace::WriteWhole(path, bytes, trace::Replace::kNo);
  return error == 0 ? Status()
                    : Status::Error("cannot write " + path + ": " + std::generic_category().message(error));
}

void RotationFiles::DeleteProvenance(uint32_t index) { unlink(provenance_path(index).c_str()); }

Status RotationFiles::Check() {
  const Status status = definitions_->Check();
  return status.ok() ? current_->Check() : status;
}

Status RotationFiles::Close() {
  const Status definitions = definitions_->Close();
  const Status data = current_ ? current_->Close() : Status();
  return definitions.ok() ? data : definitions;
}

void RotationFiles::Remove() {
  definitions_->Remove();
  if (current_) current_->Remove();
}

void RotationFiles::CloseInForkedChild() {
  definitions_->CloseInForkedChild();
  current_->CloseInForkedChild();
  CloseNumbered(real_prefix_);
}

}  // namespace anttracks::io
