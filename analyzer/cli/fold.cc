// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/fold.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "trace/file_set.h"
#include "trace/file_writer.h"
#include "trace/output_file.h"
#include "trace/provenance.h"

namespace anttracks::analyzer {
namespace {

using trace::ByteBuffer;
using trace::Status;

constexpr size_t kSegmentBytes = 256 << 10;

class ProvenanceFile {
 public:
  explicit ProvenanceFile(const trace::FileInfo& next) {
    trace::FileHeader header;
    header.wall_clock_ns = next.wall_clock_ns;
    header.trace_id = next.trace_id;
    header.process_id = next.process_id;
    header.file_index = next.index;
    header.flags = trace::kFileProvenance;
    bytes_.Append(trace::EncodeFileHeader(header));
  }

  Status Chunk(trace::ChunkType type, std::span<const uint8_t> payload) {
    const auto chunk = chunks_.Encode(type, payload);
    if (!chunk.ok()) return chunk.status();
    bytes_.Append(*chunk);
    return {};
  }

  Status Runs(const std::vector<ProvenanceRun>& runs) {
    trace::ProvenanceEncoder encoder;
    ByteBuffer segment;
    for (size_t i = 0; i < runs.size(); i++) {
      encoder.Run(runs[i]);
      if (encoder.size() < kSegmentBytes && i + 1 < runs.size()) continue;
      segment.Clear();
      encoder.Finish(&segment);
      const Status status = Chunk(trace::ChunkType::kData, segment.span());
      if (!status.ok()) return status;
    }
    return {};
  }

  std::span<const uint8_t> bytes() const { return bytes_.span(); }

 private:
  trace::NumberedChunks chunks_{trace::Compressed::kYes};
  ByteBuffer bytes_;
};

Status Write(const std::string& path, std::span<const uint8_t> bytes) {
  const int error = trace::WriteWhole(path, bytes);
  return error == 0 ? Status()
                    : Status::Error("cannot write " + path + ": " + std::generic_category().message(error));
}

bool MayWrite(Session& session, const std::string& path, bool force) {
  const std::string what = trace::WhyNotReplaced(path, &trace::IsTraceFile);
  std::error_code error;
  if (!what.empty()) {
    session.err << "anttracks: " << path << " is " << what << ", not a provenance file; remove it\n";
  } else if (!force && std::filesystem::exists(path, error)) {
    session.err << "anttracks: " << path << " exists already; -f replaces it\n";
  } else {
    return true;
  }
  return false;
}

std::string FoldedText(const std::string& path, const Fold& fold, size_t bytes) {
  uint64_t words = 0;
  for (const ProvenanceRun& run : fold.runs()) words += run.end - run.begin;
  return fmt::format("{}: thread and time of {} of {} live, {} runs, {}\n", path, Bytes(InBytes(words)),
                     Bytes(fold.listed_bytes()), Count(fold.runs().size()), Bytes(bytes));
}

// A pass over the files.
struct Folded {
  Problems problems;
  Definitions definitions;
  Fold fold;
  PassSummary pass;

  Folded(Session& session, uint32_t next, Fold::Effort effort)
      : definitions(problems),
        fold(definitions, problems, next, effort),
        pass(session.Run(definitions, problems, fold)) {}
  bool known() const { return pass.fatal.ok() && !pass.damaged && problems.total() == 0 && fold.known(); }
};

}  // namespace

int RunFold(Session& session, const FoldArguments& arguments) {
  std::string definitions_path;
  uint64_t index = 0;
  const std::string data = session.files[0];
  if (session.files.size() != 1 || !trace::SplitDataPath(data, &definitions_path, &index)) {
    session.err << "anttracks: fold needs one data file of a rotated trace, such as app.trace.3\n";
    return kExitUsage;
  }
  const std::string next_path = definitions_path + "." + std::to_string(index + 1);
  const std::string out_path = next_path + trace::kProvenanceSuffix;
  if (!MayWrite(session, out_path, arguments.force)) return kExitUsage;
  session.files = {definitions_path, data, next_path};
  session.read_ahead = false;
  if (!session.Open()) return kExitUnreadable;
  // The agent deletes a data file before its provenance file: while the former exists, the latter was there to
  // be opened.
  if (!std::filesystem::exists(data)) {
    session.err << "anttracks: " << data << ": was deleted meanwhile\n";
    return kExitUnreadable;
  }
  const auto next = static_cast<uint32_t>(session.reader->files().size() - 1);
  auto folded = std::make_unique<Folded>(session, next, Fold::Effort::kLittle);
  if (!folded->known()) {
    folded.reset();  // first, for its memory
    folded = std::make_unique<Folded>(session, next, Fold::Effort::kAll);
  }
  const auto& [problems, definitions, fold, pass] = *folded;
  if (!pass.fatal.ok()) return session.Unreadable(pass.fatal);
  const int exit = session.Finish(pass, problems);
  if (exit != kExitFine) return exit;
  if (!fold.known()) {
    session.err << fmt::format(
        "anttracks: {}: the heap is not known at the sync point of {} ({}): nothing to keep\n", data, next_path,
        fold.done() ? "events were lost" : "it is not complete");
    return kExitErrors;
  }
  ProvenanceFile file(session.reader->files()[next]);
  const std::string meta = trace::EncodeMeta(pass.meta);
  Status status =
      file.Chunk(trace::ChunkType::kMeta, {reinterpret_cast<const uint8_t*>(meta.data()), meta.size()});
  if (status.ok()) status = file.Runs(fold.runs());
  if (status.ok() && arguments.max_bytes != 0 && file.bytes().size() > arguments.max_bytes) {
    status = Status::Error(fmt::format("{} would have {}, more than --max-bytes allows", out_path,
                                       Plural(file.bytes().size(), "byte")));
  }
  if (status.ok()) status = Write(out_path, file.bytes());
  if (!status.ok()) {
    session.err << "anttracks: " << status.message() << "\n";
    return kExitErrors;
  }
  session.out << FoldedText(out_path, fold, file.bytes().size());
  return kExitFine;
}

}  // namespace anttracks::analyzer
