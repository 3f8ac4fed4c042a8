// SPDX-License-Identifier: Apache-2.0
// A session with its writer and a file, and what a reader makes of that file.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/full/callbacks.h"
#include "agent/full/session.h"
#include "agent/io/trace_file.h"
#include "agent/io/writer.h"
#include "tests/unit/agent/fake_vm.h"
#include "trace/format.h"

namespace anttracks::core {

struct ReadSegment {
  trace::SegmentKind kind;
  uint64_t stream = 0;
  std::vector<uint8_t> payload;
  size_t sync_objects_so_far = 0;  // of SYNC_OBJECTS up to here, this one included
};

struct ReadObject {
  uint64_t stream = 0;
  uint64_t address = 0;
  std::string class_name;
  uint32_t site = 0;
  uint32_t length = 0;
  bool outside = false;
  bool late = false;
  bool operator==(const ReadObject&) const = default;
};

// A stretch that was not read.
struct ReadSkipped {
  uint64_t stream = 0, address = 0, bytes = 0;
};

struct ReadKind {
  uint32_t site = 0;
  uint32_t class_id = 0;
};
struct ReadStack {
  uint32_t caller = 0;  // 0: none
  uint32_t site = 0;
};
struct ReadClass {
  std::string name;
  uint64_t flags = 0, bytes = 0, header = 0, log2 = 0, super = 0;
  bool has_fields = false;
  std::vector<std::string> fields;  // "12 name Ljava/lang/String;", in the order of the file
};

// Everything in a trace file. Throws std::runtime_error when the file breaks the specification, so that the
// test fails: undefined site-class pairs, streams that continue without state, damage.
struct ReadTrace {
  ReadTrace() = default;
  explicit ReadTrace(const std::string& path);

  std::vector<ReadSegment> segments;
  std::vector<ReadObject> objects;  // of ALLOC
  std::vector<ReadSkipped> skipped;
  std::vector<ReadObject> sync_objects;  // of SYNC_OBJECTS
  std::map<uint32_t, ReadKind> site_classes;
  std::map<uint32_t, ReadClass> classes;
  std::map<uint32_t, uint32_t> sites;  // caller by id
  std::map<uint32_t, ReadStack> stacks;
  std::map<uint32_t, std::string> threads;
  std::string meta, end_reason, counters, loss_reason;
  uint64_t losses = 0;

  size_t Count(trace::SegmentKind kind) const;
};

class Recording {
 public:
  explicit Recording(FakeVm& vm, SessionConfig config = {},
                     trace::SyncReason reason = trace::SyncReason::kStart);
  ~Recording();

  const AntTracksCallbacks& callbacks() const { return callbacks_; }
  Session& session() { return *session_; }
  void* context() { return session_.get(); }
  // Ends tracing and reads the file.
  ReadTrace End();
  const std::string& path() const { return path_; }

  // at_safepoint: what is pending is read at once.
  void Tlab(uintptr_t thread, void** slot, uint64_t start, uint64_t top, bool at_safepoint = false) {
    callbacks_.tlab(context(), reinterpret_cast<void*>(thread), slot, start, top, at_safepoint);
  }

 private:
  std::string path_;
  std::unique_ptr<io::TraceFile> file_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<io::Writer> writer_;
  AntTracksCallbacks callbacks_{};
};

// The addresses of the objects that are listed before that collection begins, each once.
std::set<uint64_t> ListedBefore(const ReadTrace& trace, size_t collection);

// For walkers that read however busy the machine is.
inline double NeverWaited(core::ThreadState&) { return 0; }

// Records of a DEFINITIONS segment.
void ReadDefinitions(ReadTrace* out, std::span<const uint8_t> payload);

// A path in a fresh folder that is removed at the end of the program.
std::string TemporaryPath();
// All of a text file.
std::string ReadFile(const std::string& path);

}  // namespace anttracks::core
