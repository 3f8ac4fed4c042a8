// SPDX-License-Identifier: Apache-2.0
// A trace with a bound on its size: carries out what RotationPolicy decides. Write goes to the current data
// file.
//
// With keep=yes a data file gets a provenance file PATH.N.origins for the sync point that it begins with. These
// files count against the bound, and are deleted with their data files.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe. Units: bytes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "agent/io/rotation/files.h"
#include "agent/io/rotation/policy.h"
#include "agent/io/sink.h"
#include "trace/file_writer.h"
#include "trace/provenance.h"

namespace anttracks::io {

class RotatingTrace final : public Sink {
 public:
  // Makes the definitions file and the first data file; their headers differ from `header` in index and flags.
  // After an error neither exists; for files of an earlier trace see RotationFiles::CreateDefinitions.
  static trace::Result<std::unique_ptr<RotatingTrace>> Create(const std::string& path, core::IfExists if_exists,
                                                              const trace::FileHeader& header,
                                                              const RotationLimits& limits);

  RotationPolicy& policy() { return policy_; }
  // Of the current data file.
  std::string current_path() const { return files_.data_path(policy_.current().index); }

  trace::Status Write(std::span<const uint8_t> bytes) override;
  // Writes to the definitions file. Deletes nothing: call MakeRoom before, or it uses the room that is reserved
  // for the end.
  trace::Status WriteDefinitions(std::span<const uint8_t> bytes);
  // Makes room for that many bytes, by deleting old data files if need be, but leaves the newest `keep` files.
  // False: there is no room within the bound.
  bool MakeRoom(size_t bytes, size_t keep);
  // Begins the next data file, then deletes the oldest ones. If the file cannot be made all are left.
  trace::Status NextFile();
  // The whole sync point at the start of the current data file was passed to Write, or dropped. False: parts of
  // it were dropped.
  bool SyncPointComplete() { return policy_.SyncPointComplete(); }
  // Writes the provenance file of the current data file: a chunk META and the segments. An error leaves none,
  // and costs the trace nothing else.
  trace::Status WriteProvenance(std::span<const uint8_t> meta, const trace::SavedProvenance& saved);
  size_t chunk_bytes() const override { return policy_.chunk_bytes(); }
  trace::Status Check() override { return files_.Check(); }
  trace::Status Close() override;
  void Remove() override;
  void CloseInForkedChild() override;

 private:
  RotatingTrace(const std::string& path, core::IfExists if_exists, const trace::FileHeader& header,
                const RotationLimits& limits)
      : header_(header), policy_(limits), files_(path, if_exists) {}
  trace::Status BeginData(uint32_t index);
  trace::Status DeleteOldest();

  trace::FileHeader header_;
  RotationPolicy policy_;
  RotationFiles files_;
};

}  // namespace anttracks::io
