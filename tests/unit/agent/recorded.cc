// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/recorded.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "trace/file_writer.h"
#include "trace/predictor.h"
#include "trace/reader.h"
#include "trace/wire.h"

namespace anttracks::core {
namespace {

using trace::SegmentKind;
using trace::WireReader;

[[noreturn]] void Bad(const std::string& what) { throw std::runtime_error("trace: " + what); }
void Check(bool good, const char* what) {
  if (!good) Bad(what);
}

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "anttracks-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) Bad("no temporary folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

// An independent reading of the specification's object records.
struct Stream {
  trace::Predictor predictor;
  uint64_t cursor = 0;
  bool outside = false;
};

void ReadFields(ReadTrace* out, uint32_t class_id, WireReader* in) {
  const auto found = out->classes.find(class_id);
  Check(found != out->classes.end(), "class of the fields is not defined");
  Check(!found->second.has_fields, "fields are defined twice");
  found->second.has_fields = true;
  for (uint64_t left = in->Uv(); left != 0 && in->ok(); left--) {
    const std::string name(in->Str());
    const std::string signature(in->Str());
    found->second.fields.push_back(std::to_string(in->Uv()) + " " + name + " " + signature);
  }
}

}  // namespace

void ReadSymbols(ReadTrace* out, std::span<const uint8_t> payload) {
  WireReader in(payload);
  while (!in.AtEnd()) {
    const uint8_t tag = in.U8();
    WireReader r(in.Take(in.Uv()));
    const uint32_t id = static_cast<uint32_t>(r.Uv());
    if (tag == 1) {
      ReadClass c;
      c.name = r.Str();
      c.flags = r.Uv();
      c.bytes = r.Uv();
      c.header = r.Uv();
      c.log2 = r.Uv();
      c.super = r.Uv();
      Check(c.super == 0 || out->classes.count(static_cast<uint32_t>(c.super)), "super class is not defined");
      Check(out->classes.emplace(id, c).second, "class is defined twice");
    } else if (tag == 3) {
      r.Uv();
      r.Sv();
      r.Sv();
      const uint32_t caller = static_cast<uint32_t>(r.Uv());
      Check(caller == 0 || out->sites.count(caller), "caller is not defined");
      out->sites[id] = caller;
    } else if (tag == 4) {
      out->threads[id] = r.Str();
    } else if (tag == 5) {
      ReadKind k;
      k.site = static_cast<uint32_t>(r.Uv());
      k.class_id = static_cast<uint32_t>(r.Uv());
      Check(k.site < 16 || out->sites.count(k.site), "site is not defined");
      Check(out->classes.count(k.class_id), "class is not defined");
      Check(out->kinds.emplace(id, k).second, "kind is defined twice");
    }
    if (tag == 6) ReadFields(out, id, &r);
    Check(r.ok(), "symbol is cut");
  }
  Check(in.ok(), "symbols are cut");
}

namespace {

void ReadObjects(const ReadTrace& trace, uint64_t id, Stream* s, WireReader in, std::vector<ReadObject>* out) {
  const auto one = [&](uint64_t kind, uint64_t length) {
    const auto found = trace.kinds.find(static_cast<uint32_t>(kind));
    Check(found != trace.kinds.end(), "kind is not defined");
    const ReadClass& c = trace.classes.at(found->second.class_id);
    uint64_t words = c.bytes / 8;
    if (c.flags & trace::kClassArray) words = (c.header + (length << c.log2) + 7) / 8;
    if (c.flags & trace::kClassVariableSize) words = length;
    out->push_back({id, s->cursor * 8, c.name, found->second.site, static_cast<uint32_t>(length), s->outside});
    s->cursor += words;
    s->predictor.Update(static_cast<uint32_t>(kind), static_cast<uint32_t>(length));
  };
  while (!in.AtEnd()) {
    const uint64_t v = in.Uv();
    const uint64_t n = v >> 2;
    if (v == 0) {
      const uint8_t op = in.U8();
      Check(op == 1 || op == 2, "unknown op");
      s->outside = op == 2;
      s->cursor += static_cast<uint64_t>(in.Sv());
    } else if ((v & 3) == 0) {
      for (uint64_t i = 0; i < n; i++) {
        const auto p = s->predictor.Predict();
        one(p.kind, p.length);
      }
    } else if ((v & 3) == 1) {
      one(n, 0);
    } else if ((v & 3) == 2) {
      one(n, in.Uv());
    } else {
      one(s->predictor.Predict().kind, n);
    }
    Check(in.ok(), "object record is cut");
  }
}

void ReadOne(ReadTrace* out, std::map<uint64_t, Stream>* streams, const ReadSegment& segment) {
  WireReader in(segment.payload);
  if (segment.kind == SegmentKind::kSymbols) {
    ReadSymbols(out, segment.payload);
  } else if (segment.kind == SegmentKind::kAlloc) {
    const uint64_t flags = in.Uv();
    in.Uv();
    Check(out->threads.count(static_cast<uint32_t>(segment.stream)), "thread is not defined");
    if (flags & trace::kAllocReset) (*streams)[segment.stream] = Stream();
    Check(streams->count(segment.stream), "stream is continued without its state");
    ReadObjects(*out, segment.stream, &(*streams)[segment.stream], in, &out->objects);
  } else if (segment.kind == SegmentKind::kThreadEnd) {
    streams->erase(segment.stream);
  } else if (segment.kind == SegmentKind::kSyncObjects) {
    Stream fresh;
    ReadObjects(*out, segment.stream, &fresh, in, &out->sync_objects);
  } else if (segment.kind == SegmentKind::kLoss) {
    in.Uv();
    in.Uv();
    in.Uv();
    out->loss_reason = in.Str();
    out->losses++;
    streams->clear();
  } else if (segment.kind == SegmentKind::kEnd) {
    in.Uv();
    out->end_reason = in.Str();
    out->counters = in.Str();
  }
  Check(in.ok(), "segment is cut");
}

}  // namespace

ReadTrace::ReadTrace(const std::string& path) {
  auto reader = trace::TraceReader::Open({path});
  if (!reader.ok()) Bad(reader.message());
  std::map<uint64_t, Stream> streams;
  while (true) {
    const auto item = (*reader)->Next();
    if (item == trace::TraceReader::Item::kEnd) break;
    Check(item == trace::TraceReader::Item::kChunk, "damaged");
    const trace::Chunk& chunk = (*reader)->chunk();
    if (chunk.type == static_cast<uint16_t>(trace::ChunkType::kMeta)) {
      meta.assign(chunk.payload.begin(), chunk.payload.end());
      continue;
    }
    trace::SegmentReader in(chunk.payload);
    trace::Segment segment;
    while (in.Next(&segment)) {
      Check(end_reason.empty(), "segment behind the end");
      segments.push_back({static_cast<SegmentKind>(segment.kind),
                          segment.stream,
                          {segment.payload.begin(), segment.payload.end()}});
      ReadOne(this, &streams, segments.back());
    }
    Check(!in.malformed(), "malformed segment");
  }
}

size_t ReadTrace::Count(SegmentKind kind) const {
  size_t count = 0;
  for (const ReadSegment& segment : segments) count += segment.kind == kind;
  return count;
}

std::string TemporaryPath() {
  static Folder folder;
  static int number = 0;
  return (folder.path / ("t" + std::to_string(number++) + ".trace")).string();
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Recording::Recording(FakeVm& vm, SessionConfig config) : path_(TemporaryPath()) {
  auto file = io::TraceFile::Create(path_, false);
  if (!file.ok()) Bad(file.message());
  file_ = std::move(*file);
  if (!file_->Write(trace::EncodeFileHeader({1, 2, 3, 0})).ok()) Bad("no header");
  session_ = std::make_unique<Session>(vm.vm(), config);
  writer_ = std::make_unique<io::Writer>(*session_, *file_, io::WriterConfig{});
  if (!writer_->Start("{}").ok()) Bad("no writer");
  session_->Begin(trace::SyncReason::kStart);
  callbacks_ = MakeCallbacks(session_.get());
}

Recording::~Recording() { session_->Finish("test"); }

ReadTrace Recording::End() {
  session_->Finish("the end");
  if (!writer_->Wait(std::chrono::seconds(20))) Bad("the writer hangs");
  return ReadTrace(path_);
}

}  // namespace anttracks::core
