// SPDX-License-Identifier: Apache-2.0
// The files of a rotated trace in their folder: a definitions file PATH, data files PATH.0, PATH.1, … and
// beside those provenance files (docs/trace-format.md, "Files"; ICPE'16, section 3.2). Makes, closes and
// deletes them as it is told.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe and touches descriptors only.
// Ownership: owns the descriptors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "agent/io/trace_file.h"
#include "trace/format.h"

namespace anttracks::io {

class RotationFiles {
 public:
  // Whether a file of that name is, sooner or later, one of the trace's. The paths are normal ones.
  static bool MayHave(const std::string& path, const std::string& name);

  RotationFiles(std::string path, bool overwrite);

  // Makes the definitions file. Data files of an earlier trace of that name, whatever their index, are an error
  // unless overwrite; then they are deleted, or none if one of the names is something else's.
  trace::Status CreateDefinitions();
  // Makes a data file the current one. The one before must be closed; it stays current if this fails.
  trace::Status CreateData(uint32_t index);
  trace::Status DeleteData(uint32_t index);
  // Whole or unfinished, if there are any.
  void DeleteProvenance(uint32_t index);

  // After CreateDefinitions and CreateData.
  TraceFile& definitions() { return *definitions_; }
  TraceFile& current() { return *current_; }
  std::string data_path(uint32_t index) const { return path_ + "." + std::to_string(index); }
  std::string provenance_path(uint32_t index) const { return data_path(index) + trace::kProvenanceSuffix; }

  // As for a TraceFile, the two that are open.
  trace::Status Check();
  trace::Status Close();
  void Remove();
  void CloseInForkedChild();

 private:
  trace::Status DeleteEarlier();

  const std::string path_;
  const std::string real_prefix_;  // of the data files' names, as the system has them
  const bool overwrite_;
  // A child of a fork may have the descriptor of a file that nothing here knows yet.
  std::atomic<bool> making_file_{false};
  std::unique_ptr<TraceFile> definitions_;
  std::unique_ptr<TraceFile> current_;
};

}  // namespace anttracks::io
