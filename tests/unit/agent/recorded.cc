// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/recorded.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "trace/file_writer.h"
#include "trace/reader.h"
#include "trace/segments.h"
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

void ReadDefinitions(ReadTrace* out, std::span<const uint8_t> payload) {
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
      Check(out->site_classes.emplace(id, k).second, "site-class pair is defined twice");
    }
    if (tag == 6) ReadFields(out, id, &r);
    if (tag == 7) {
      ReadStack stack;
      stack.caller = static_cast<uint32_t>(r.Uv());
      stack.site = static_cast<uint32_t>(r.Uv());
      Check(stack.caller == 0 || out->stacks.count(stack.caller), "stack's caller is not defined");
      Check(stack.site < 16 || out->sites.count(stack.site), "stack's site is not defined");
      Check(out->stacks.emplace(id, stack).second, "stack is defined twice");
    }
    Check(r.ok(), "definition is cut");
  }
  Check(in.ok(), "definitions are cut");
}

namespace {

// An independent reading of the specification's runs of objects.
void ReadObjects(const ReadTrace& trace, uint64_t id, WireReader in, std::vector<ReadObject>* out,
                 std::vector<ReadSkipped>* skipped) {
  uint64_t word = 0;
  while (!in.AtEnd()) {
    word += static_cast<uint64_t>(in.Sv());
    const uint64_t count = in.Uv();
    const uint64_t length_count = in.Uv();
    if ((count & 3) == 3) {  // skipped: words in place of the lengths
      Check(count == 3 && skipped != nullptr, "skipped stretch with objects");
      skipped->push_back({id, word * 8, length_count * 8});
      word += length_count;
      continue;
    }
    WireReader ids(in.Take((count >> 2) * 2));
    WireReader lengths(in.Take(length_count * 4));
    Check(in.ok(), "run is cut");
    while (!ids.AtEnd()) {
      const uint16_t v = ids.U16();
      const uint32_t site_class = (v & 0x7FFF) != 0 ? v & 0x7FFF : lengths.U32();
      const uint32_t length = (v & 0x8000) != 0 ? lengths.U32() : 0;
      const auto found = trace.site_classes.find(site_class);
      Check(found != trace.site_classes.end(), "site-class pair is not defined");
      const ReadClass& c = trace.classes.at(found->second.class_id);
      Check((c.flags & (trace::kClassArray | trace::kClassVariableSize)) != 0 || (v & 0x8000) == 0,
            "length of a fixed size");
      uint64_t words = c.bytes / 8;
      if (c.flags & trace::kClassArray) words = (c.header + (uint64_t{length} << c.log2) + 7) / 8;
      if (c.flags & trace::kClassVariableSize) words = length;
      out->push_back({id, word * 8, c.name, found->second.site, length, (count & 3) == 1, (count & 3) == 2});
      word += words;
    }
    Check(lengths.ok() && lengths.AtEnd(), "lengths do not fit");
  }
}

void ReadOne(ReadTrace* out, const ReadSegment& segment) {
  WireReader in(segment.payload);
  if (segment.kind == SegmentKind::kDefinitions) {
    ReadDefinitions(out, segment.payload);
  } else if (segment.kind == SegmentKind::kAlloc) {
    in.Uv();
    const uint64_t share = in.Uv();
    Check(share < 1 << 16, "impossible share");
    Check(out->threads.count(static_cast<uint32_t>(segment.stream)), "thread is not defined");
    ReadObjects(*out, segment.stream, in, &out->objects, &out->skipped);
  } else if (segment.kind == SegmentKind::kSyncObjects) {
    ReadObjects(*out, segment.stream, in, &out->sync_objects, nullptr);
  } else if (segment.kind == SegmentKind::kLoss) {
    in.Uv();
    in.Uv();
    in.Uv();
    out->loss_reason = in.Str();
    out->losses++;
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
      ReadOne(this, segments.back());
      segments.back().sync_objects_so_far = sync_objects.size();
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

Recording::Recording(FakeVm& vm, SessionConfig config, trace::SyncReason reason) : path_(TemporaryPath()) {
  auto file = io::TraceFile::Create(path_, core::IfExists::kRefuse);
  if (!file.ok()) Bad(file.message());
  file_ = std::move(*file);
  if (!file_->Write(trace::EncodeFileHeader({1, 2, 3, 0})).ok()) Bad("no header");
  session_ = std::make_unique<Session>(vm.vm(), config);
  writer_ = std::make_unique<io::Writer>(*session_, *file_, io::WriterConfig{});
  if (!writer_->Start("{}").ok()) Bad("no writer");
  session_->Begin(reason);
  callbacks_ = MakeCallbacks(session_.get());
}

Recording::~Recording() { session_->Finish("test"); }

ReadTrace Recording::End() {
  session_->Finish("the end");
  if (!writer_->Wait(std::chrono::seconds(20))) Bad("the writer hangs");
  return ReadTrace(path_);
}

std::set<uint64_t> ListedBefore(const ReadTrace& trace, size_t collection) {
  std::set<uint64_t> addresses;
  size_t collections = 0;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind == SegmentKind::kGcBegin && ++collections == collection) break;
    while (addresses.size() < segment.sync_objects_so_far) {
      if (!addresses.insert(trace.sync_objects[addresses.size()].address).second)
        throw std::runtime_error("an object is listed twice");
    }
  }
  return addresses;
}

}  // namespace anttracks::core
