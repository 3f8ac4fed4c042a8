// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/pprof.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/export/protobuf.h"

namespace anttracks::analyzer {
namespace {

// Numbers of fields.
namespace profile_field {
enum : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14
};
}
namespace value_type_field {
enum : uint32_t { kType = 1, kUnit = 2 };
}
namespace sample_field {
enum : uint32_t { kLocationId = 1, kValue = 2, kLabel = 3 };
}
namespace label_field {
enum : uint32_t { kKey = 1, kText = 2 };
}
namespace mapping_field {
enum : uint32_t { kId = 1, kFile = 5, kHasFunctions = 7, kHasFiles = 8, kHasLines = 9, kHasInlined = 10 };
}
namespace location_field {
enum : uint32_t { kId = 1, kMapping = 2, kLine = 4 };
}
namespace line_field {
enum : uint32_t { kFunction = 1, kLine = 2 };
}
namespace function_field {
enum : uint32_t { kId = 1, kName = 2, kSystemName = 3, kFile = 4 };
}

constexpr uint64_t kMapping = 1;

class Writer {
 public:
  explicit Writer(const ExportProfile& profile) : profile_(profile) { Text(""); }

  std::string Bytes() {
    Types();
    out_.Message(profile_field::kMapping, ProtoMessage()
                                              .Number(mapping_field::kId, kMapping)
                                              .Number(mapping_field::kFile, Text(profile_.process.command))
                                              .Number(mapping_field::kHasFunctions, 1)
                                              .Number(mapping_field::kHasFiles, 1)
                                              .Number(mapping_field::kHasLines, 1)
                                              .Number(mapping_field::kHasInlined, 1));
    for (const ExportLabel& label : profile_.process.labels) {
      labels_.Message(sample_field::kLabel, ProtoMessage()
                                                .Number(label_field::kKey, Text(label.name))
                                                .Number(label_field::kText, Text(label.value)));
    }
    for (const ExportSample& sample : profile_.samples) Sample(sample);
    Facts();
    for (const std::string& text : strings_) out_.Text(profile_field::kStringTable, text);
    return out_.bytes();
  }

 private:
  // The number of a string in the table.
  uint64_t Text(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return at->second;
  }
  ProtoMessage Type(const std::string& type, const std::string& unit) {
    return ProtoMessage()
        .Number(value_type_field::kType, Text(type))
        .Number(value_type_field::kUnit, Text(unit));
  }
  void Types() {
    for (const char* kind : {"alloc", "inuse"}) {
      if (std::string_view(kind) == "alloc" && !profile_.allocated()) continue;
      out_.Message(profile_field::kSampleType, Type(fmt::format("{}_objects", kind), "count"));
      out_.Message(profile_field::kSampleType, Type(fmt::format("{}_space", kind), "bytes"));
    }
    out_.Message(profile_field::kPeriodType, Type("space", "bytes"));
    out_.Number(profile_field::kPeriod, std::max<uint64_t>(1, profile_.interval));
    out_.Number(profile_field::kDefaultSampleType, Text(profile_.allocated() ? "alloc_space" : "inuse_space"));
  }
  void Facts() {
    const ExportProcess& process = profile_.process;
    out_.Number(profile_field::kTimeNanos, process.started_ns);
    out_.Number(profile_field::kDurationNanos, process.duration_ns);
    std::vector<std::string> comments{"command: " + process.command, fmt::format("process: {}", process.pid),
                                      "trace: " + process.TraceId(), "VM: " + process.vm,
                                      "in use: " + profile_.moment};
    for (const ExportLabel& label : process.labels) comments.push_back(label.name + "=" + label.value);
    comments.insert(comments.end(), profile_.notes.begin(), profile_.notes.end());
    for (const std::string& comment : comments) out_.Number(profile_field::kComment, Text(comment));
  }
  uint64_t Function(const std::string& name, const std::string& file) {
    const auto [at, is_new] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (is_new) {
      out_.Message(profile_field::kFunction, ProtoMessage()
                                                 .Number(function_field::kId, at->second)
                                                 .Number(function_field::kName, Text(name))
                                                 .Number(function_field::kSystemName, Text(name))
                                                 .Number(function_field::kFile, Text(file)));
    }
    return at->second;
  }
  uint64_t Location(const std::string& name, const std::string& file, int32_t line) {
    const auto line_number = static_cast<uint64_t>(std::max(line, 0));
    const uint64_t function = Function(name, file);
    const auto [at, is_new] = locations_.try_emplace({function, line_number}, locations_.size() + 1);
    if (is_new) {
      out_.Message(profile_field::kLocation,
                   ProtoMessage()
                       .Number(location_field::kId, at->second)
                       .Number(location_field::kMapping, kMapping)
                       .Message(location_field::kLine, ProtoMessage()
                                                           .Number(line_field::kFunction, function)
                                                           .Number(line_field::kLine, line_number)));
    }
    return at->second;
  }
  void Sample(const ExportSample& sample) {
    std::vector<uint64_t> locations{Location(profile_.classes[sample.of_class], "", -1)};
    for (const uint32_t number : profile_.stacks[sample.stack]) {
      const ExportFrame& frame = profile_.frames[number];
      locations.push_back(Location(frame.Function(), frame.file, frame.line));
    }
    std::vector<uint64_t> values;
    if (profile_.allocated()) values = {sample.allocated.objects, sample.allocated.bytes};
    values.insert(values.end(), {sample.live.objects, sample.live.bytes});
    ProtoMessage message = labels_;
    out_.Message(profile_field::kSample,
                 message.Numbers(sample_field::kLocationId, locations).Numbers(sample_field::kValue, values));
  }

  const ExportProfile& profile_;
  ProtoMessage out_, labels_;
  std::unordered_map<std::string, uint64_t> numbers_;
  std::vector<std::string> strings_;
  std::map<std::pair<std::string, std::string>, uint64_t> functions_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> locations_;  // by function and line
};

trace::Result<std::string> Gzip(const std::string& bytes) {
  constexpr int kWindowBits = 15, kWithGzipHeader = 16, kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits + kWithGzipHeader, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return trace::Status::Error("cannot compress: not enough memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  const bool fits = bytes.size() <= UINT32_MAX && out.size() <= UINT32_MAX;  // zlib counts in 32 bits
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = fits && deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) return trace::Status::Error("cannot compress: the profile would have more than 4 GiB");
  return out;
}

}  // namespace

trace::Result<std::string> PprofBytes(const ExportProfile& profile) { return Gzip(Writer(profile).Bytes()); }

}  // namespace anttracks::analyzer
