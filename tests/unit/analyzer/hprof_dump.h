// SPDX-License-Identifier: Apache-2.0
// Heap dumps made by hand, and a place for them.
//
// Thread safety: none.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "analyzer/hprof/format.h"
#include "analyzer/hprof/hprof_writer.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

using hprof::Bytes;

class TempPath {
 public:
  TempPath() {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("dump-" + std::to_string(::getpid()) + "-" + std::to_string(number++) + ".hprof"))
                .string();
  }
  ~TempPath() { std::filesystem::remove(path_); }
  TempPath(const TempPath&) = delete;
  TempPath& operator=(const TempPath&) = delete;
  const std::string& path() const { return path_; }
  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

// The records of a dump, byte by byte.
class DumpBuilder {
 public:
  explicit DumpBuilder(uint64_t milliseconds = 1'700'000'000'000) {
    file_.Text("JAVA PROFILE 1.0.2");
    file_.U1(0);
    file_.U4(8);
    file_.U8(milliseconds);
  }

  DumpBuilder& Record(uint8_t tag, const Bytes& body) {
    file_.U1(tag);
    file_.U4(0);
    file_.U4(static_cast<uint32_t>(body.size()));
    file_.Append(body.span());
    return *this;
  }
  uint64_t String(const std::string& text) {
    Bytes body;
    body.U8(++strings_);
    body.Text(text);
    Record(0x01, body);
    return strings_;
  }
  // name: as in a dump
  DumpBuilder& Load(uint64_t id, const std::string& name) {
    const uint64_t name_id = String(name);
    Bytes body;
    body.U4(++classes_);
    body.U8(id);
    body.U4(1);
    body.U8(name_id);
    return Record(0x02, body);
  }
  struct Field {
    std::string name;
    uint8_t type = 2;
    uint64_t value = 0;  // of a static field that is a reference
  };
  DumpBuilder& Class(uint64_t id, uint64_t super, const std::vector<Field>& fields,
                     const std::vector<Field>& statics = {}, uint64_t loader = 0) {
    std::vector<uint64_t> names;
    for (const auto* list : {&statics, &fields}) {
      for (const Field& field : *list) names.push_back(String(field.name));
    }
    size_t next = 0;
    heap_.U1(0x20);
    heap_.U8(id);
    heap_.U4(1);
    heap_.U8(super);
    heap_.U8(loader);
    heap_.Zeros(32);
    heap_.U4(0);
    heap_.U2(0);
    heap_.U2(static_cast<uint16_t>(statics.size()));
    for (const Field& field : statics) {
      heap_.U8(names[next++]);
      heap_.U1(field.type);
      if (field.type == 2) heap_.U8(field.value);
      if (field.type == 10) heap_.U4(static_cast<uint32_t>(field.value));
    }
    heap_.U2(static_cast<uint16_t>(fields.size()));
    for (const Field& field : fields) {
      heap_.U8(names[next++]);
      heap_.U1(field.type);
    }
    return *this;
  }
  // references: its values, all of which are references
  DumpBuilder& Instance(uint64_t id, uint64_t class_id, const std::vector<uint64_t>& references) {
    heap_.U1(0x21);
    heap_.U8(id);
    heap_.U4(1);
    heap_.U8(class_id);
    heap_.U4(static_cast<uint32_t>(8 * references.size()));
    for (const uint64_t each : references) heap_.U8(each);
    return *this;
  }
  DumpBuilder& Array(uint64_t id, uint64_t class_id, const std::vector<uint64_t>& elements) {
    heap_.U1(0x22);
    heap_.U8(id);
    heap_.U4(1);
    heap_.U4(static_cast<uint32_t>(elements.size()));
    heap_.U8(class_id);
    for (const uint64_t each : elements) heap_.U8(each);
    return *this;
  }
  DumpBuilder& Ints(uint64_t id, uint32_t length) {
    heap_.U1(0x23);
    heap_.U8(id);
    heap_.U4(1);
    heap_.U4(length);
    heap_.U1(10);
    heap_.Zeros(4 * size_t{length});
    return *this;
  }
  DumpBuilder& Root(uint64_t id, uint8_t kind = 0xff) {
    heap_.U1(kind);
    heap_.U8(id);
    if (kind == 0x03 || kind == 0x08) {
      heap_.U4(1);
      heap_.U4(1);
    }
    return *this;
  }
  Bytes& heap() { return heap_; }
  std::string file() {
    DumpBuilder whole(*this);
    whole.Record(0x1c, whole.heap_);
    whole.Record(0x2c, {});
    const auto bytes = whole.file_.span();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  Bytes file_, heap_;
  uint64_t strings_ = 0;
  uint32_t classes_ = 0;
};

// The heap of SmallTrace after collection 1: the mirror of app.Node, an int[10] and three Nodes. A local
// variable of main holds the first Node, that the second, and that the int[]. Nothing holds the third.
inline DumpBuilder SmallDump() {
  constexpr uint64_t kObject = 0x10, kClass = 0x20, kUnused = 0x30;
  constexpr uint64_t kNode = kOld * 8, kInts = (kOld + 14) * 8;
  constexpr uint64_t kFirst = (kOld + 21) * 8, kSecond = (kOld + 24) * 8, kThird = (kOld + 27) * 8;
  DumpBuilder b(1'700'000'000'002);
  b.Load(kObject, "java/lang/Object").Load(kClass, "java/lang/Class");
  b.Load(kUnused, "app/Unused").Load(kNode, "app/Node");
  b.Class(kNode, 0, {{"next"}, {"data"}}, {{"count", 10, 1}});
  b.Root(kNode, 0x05).Root(kFirst, 0x03);
  b.Ints(kInts, 10).Instance(kFirst, kNode, {kSecond, 0}).Instance(kSecond, kNode, {0, kInts});
  b.Instance(kThird, kNode, {kFirst, 0});
  return b;
}

}  // namespace anttracks::testing
