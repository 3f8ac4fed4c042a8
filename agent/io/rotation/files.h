// SPDX-License-Identifier: Apache-2.0
// The files of a rotated trace in their folder: a definitions file PATH, data files PATH.0, PATH.1, … and
// beside those provenance files (docs/trace-format.md, "Files"; ICPE'16, section 3.2). Makes, closes and
// deletes these files on request.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe and uses descriptors only.
// Ownership: owns the descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "agent/base/policies.h"
#include "agent/io/trace_file.h"
#include "trace/format.h"

namespace anttracks::io {

class RotationFiles {
 public:
  // Whether the trace at path has, or may get, a file with that name. Both must be normalized paths.
  static bool MayHave(const std::string& path, const std::string& name);

  RotationFiles(std::string path, core::IfExists if_exists);

  // Makes the definitions file. Data files of an earlier trace with the same name, whatever their index, are an
  // error with kRefuse. With kReplace all of them are deleted; if one of the files is not a trace, none is, and
  // that is an error.
  trace::Status CreateDefinitions();
  // Makes a data file, which becomes the current one. The one before must be closed; after an error it is still
  // current.
  trace::Status CreateData(uint32_t index);
  trace::Status DeleteData(uint32_t index);
  // Writes the provenance file of that index, whole or not at all. Replaces nothing.
  trace::Status WriteProvenance(uint32_t index, std::span<const uint8_t> bytes);
  // Deletes the provenance file of that index, if there is one.
  void DeleteProvenance(uint32_t index);

  // Only after CreateDefinitions and CreateData.
  TraceFile& definitions() { return *definitions_; }
  TraceFile& current() { return *current_; }
  std::string data_path(uint32_t index) const { return path_ + "." + std::to_string(index); }
  std::string provenance_path(uint32_t index) const { return data_path(index) + trace::kProvenanceSuffix; }

  // As in TraceFile, for the two open files.
  trace::Status Check();
  trace::Status Close();
  void Remove();
  // fork copies the descriptors before the memory, while other threads go on: the child may have one of a file
  // that is not in definitions_ or current_ any more, or not yet. So all are looked at, by name.
  void CloseInForkedChild();

 private:
  trace::Status DeleteEarlier();

  const std::string path_;
  const std::string real_prefix_;  // of the data files' paths, without symbolic links
  const core::IfExists if_exists_;
  std::unique_ptr<TraceFile> definitions_;
  std::unique_ptr<TraceFile> current_;
};

}  // namespace anttracks::io
