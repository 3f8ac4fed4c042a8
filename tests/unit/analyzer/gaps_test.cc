// SPDX-License-Identifier: Apache-2.0
// What is not in a trace though it was there: lost events, files that are cut or gone. Nothing counts as whole
// or exact then.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"

namespace anttracks::testing {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A whole rotated trace that says in its end record how many data files it had.
void WriteEnded(Folder* folder) {
  WriteRotated(folder);
  folder->Write("app.trace", DefinitionsFile(SmallDefinitions(), true, "{\"files\":3}").file());
}

bool EndedCleanly(const Folder& folder, const std::vector<std::string>& names) {
  return nlohmann::json::parse(folder.Run("info", names, {"--json"}).out)["ended_cleanly"];
}

TEST_CASE("a rotated trace with an end record and all of its newest file is whole") {
  Folder folder;
  WriteEnded(&folder);
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 0);
  CHECK((!Has(verify.out, "note: ") && verify.err == ""));
  CHECK(EndedCleanly(folder, {"app.trace"}));
  // As the oldest files go.
  folder.Remove("app.trace.0").Remove("app.trace.1");
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  CHECK(folder.Run("heap", {"app.trace"}).err == "");
  CHECK(EndedCleanly(folder, {"app.trace"}));
}

TEST_CASE("a rotated trace with an end record whose newest file is cut is damaged") {
  Folder folder;
  WriteEnded(&folder);
  const std::string newest = folder.Read("app.trace.2");
  folder.Write("app.trace.2", newest.substr(0, newest.size() - 1));
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 1);
  CHECK(Has(verify.out, "damaged chunk: the file ends in the middle of a chunk, but the trace goes on"));
  CHECK(Has(folder.Run("verify", {"app.trace"}, {"--json"}).out, "\"ended_cleanly\": false"));
  CHECK(!EndedCleanly(folder, {"app.trace"}));
  CHECK(Has(folder.Run("info", {"app.trace"}).out, "\nended           damaged: app.trace.2, offset "));
  const CommandResult heap = folder.Run("heap", {"app.trace"});
  CHECK(heap.code == 4);
  CHECK(Has(heap.out, "heap after GC 2 (young, Allocation Failure), at 15.0 us: 6 objects"));
  CHECK(!Has(heap.out, "not exact"));
}

TEST_CASE("a rotated trace with an end record whose newest file is gone is damaged") {
  Folder folder;
  WriteEnded(&folder);
  for (const size_t left : {size_t{20}, size_t{0}}) {  // or has not even its header
    if (left == 0) {
      folder.Remove("app.trace.2");
    } else {
      folder.Write("app.trace.2", folder.Read("app.trace.2").substr(0, left));
    }
    const CommandResult verify = folder.Run("verify", {"app.trace"});
    CHECK(verify.code == 1);
    CHECK(Has(verify.out, "gap in the sequence of chunks: data file 2 is missing behind this one"));
    CHECK(folder.Run("sites", {"app.trace"}).code == 4);
    CHECK(!EndedCleanly(folder, {"app.trace"}));
  }
}

TEST_CASE("files of a trace that were named, or one that was copied with the definitions, are a part of it") {
  Folder folder;
  WriteEnded(&folder);
  const auto check = [&](const std::vector<std::string>& names, const std::string& later) {
    CAPTURE(names[0]);
    const CommandResult verify = folder.Run("verify", names), heap = folder.Run("heap", names);
    CHECK(verify.code == 0);
    CHECK(Has(verify.out, "note: the trace went on in " + later));
    CHECK(heap.code == 0);
    CHECK(heap.err == "note: the trace went on in " + later + ", which this is without\n");
    CHECK(!EndedCleanly(folder, names));
    CHECK(Has(folder.Run("info", names).out, "\nended           not known: the trace went on in " + later));
  };
  check({"app.trace.0"}, "data files 1 to 2");
  check({"app.trace.1"}, "data file 2");
  check({"app.trace.0", "app.trace.1"}, "data file 2");
  CHECK(EndedCleanly(folder, {"app.trace.1", "app.trace.2"}));
  folder.Remove("app.trace.0").Remove("app.trace.2");
  check({"app.trace"}, "data file 2");
}

}  // namespace
}  // namespace anttracks::testing
