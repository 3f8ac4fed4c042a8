// SPDX-License-Identifier: Apache-2.0
// Which fields of a class are in the trace.
#include <doctest/doctest.h>

#include <cstddef>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using Fields = std::vector<std::string>;

// The classes of a trace with a Point, an int[] and a mirror, by name.
std::map<std::string, ReadClass> Classes(FakeVm& vm) {
  Recording recording(vm);
  void* slot = nullptr;
  const uint64_t ints = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  const uint64_t mirror = vm.Put(ints, FakeVm::kInts, 16, 3);
  recording.Tlab(1, &slot, vm.heap(), vm.Put(mirror, FakeVm::kMirror, 16));
  std::map<std::string, ReadClass> classes;
  for (const auto& [id, c] : recording.End().classes) classes[c.name] = c;
  return classes;
}

TEST_CASE("a class is recorded with its own fields by offset") {
  FakeVm vm;
  vm.classes()[FakeVm::kMirror].fields = {{"name", "Ljava/lang/String;", 40}};
  auto classes = Classes(vm);
  CHECK(classes["Point"].fields == Fields{"12 name Ljava/lang/String;", "16 x I", "20 y I"});
  CHECK(classes["java.lang.Class"].fields == Fields{"40 name Ljava/lang/String;"});
}

TEST_CASE("a class without fields says so, an array class says nothing") {
  FakeVm vm;
  auto classes = Classes(vm);
  CHECK(classes["java.lang.Object"].has_fields);
  CHECK(classes["java.lang.Object"].fields.empty());
  REQUIRE(classes.count("int[]") == 1);
  CHECK_FALSE(classes["int[]"].has_fields);
}

TEST_CASE("with a VM that cannot describe fields there are none") {
  FakeVm vm;
  SUBCASE("its interface ends before the query") { vm.vm().size = offsetof(AntTracksVM, describe_fields); }
  SUBCASE("the query is null") { vm.vm().describe_fields = nullptr; }
  auto classes = Classes(vm);
  REQUIRE(classes.count("Point") == 1);
  CHECK_FALSE(classes["Point"].has_fields);
}

}  // namespace
}  // namespace anttracks::core
