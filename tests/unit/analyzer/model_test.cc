// SPDX-License-Identifier: Apache-2.0
// Parts of the model by themselves: definitions, labels, provenance of runs, stretches that were skipped.
#include <doctest/doctest.h>

#include "analyzer/model/definitions.h"
#include "analyzer/model/descriptor.h"
#include "analyzer/model/labels.h"
#include "analyzer/model/provenance_runs.h"
#include "analyzer/model/skipped_stretches.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::analyzer {
namespace {

using testing::DefinitionsBuilder;

TEST_CASE("a name that is too long is cut between two characters") {
  std::string name;
  for (const std::string before : {"", "x", "xy", "xyz"}) {
    Problems problems;
    Definitions definitions(problems);
    name = before;
    while (name.size() <= kMaxTextBytes) name += "\u00E9\u20AC";  // of two bytes, and of three
    DefinitionsBuilder builder;
    builder.Class(1, name, 0, 16);
    definitions.Read(builder.bytes().span(), {});
    const std::string cut = definitions.class_info(1).name;
    CAPTURE(before);
    CHECK(problems.total() == 0);
    CHECK(cut.size() <= kMaxTextBytes);
    CHECK(cut.size() > kMaxTextBytes - 6);
    REQUIRE(cut.substr(cut.size() - 3) == "...");
    const std::string kept = cut.substr(0, cut.size() - 3);
    CHECK(name.compare(0, kept.size(), kept) == 0);
    CHECK((static_cast<uint8_t>(name[kept.size()]) & 0xC0) != 0x80);  // the next character begins there
  }
}

TEST_CASE("a method without a source file has no line") {
  Problems problems;
  Definitions definitions(problems);
  DefinitionsBuilder builder;
  builder.Method(1, "app.Main", "run", "").Site(16, 1, 4, 12, 0, 0);
  definitions.Read(builder.bytes().span(), {});
  CHECK(SiteLabel(definitions, 16) == "app.Main.run(Unknown Source)");
}

TEST_CASE("a site has only callers that are defined before it, so that none leads back to where it began") {
  Problems problems;
  Definitions definitions(problems);
  DefinitionsBuilder builder;
  builder.Method(1, "app.Main", "run", "Main.java")
      .Site(16, 1, 4, 12, 0, 0)
      .Site(17, 1, 5, 13, 16, 0)
      .Site(16, 1, 4, 12, 17, 0)   // again, with a caller
      .Site(18, 1, 6, 14, 18, 0)   // itself
      .Site(19, 1, 7, 15, 20, 0);  // one that comes later
  definitions.Read(builder.bytes().span(), {});
  CHECK(definitions.site(16).caller == 0);
  CHECK(definitions.site(17).caller == 16);
  CHECK(definitions.site(18).caller == 0);
  CHECK(definitions.site(19).caller == 0);
  CHECK(CallerLabels(definitions, 17).size() == 1);
  CHECK(problems.count(ProblemKind::kRedefined) == 1);
  CHECK(problems.count(ProblemKind::kUndefined) == 2);
}

TEST_CASE("a chain of callers ends, however long the trace makes it") {
  Problems problems;
  Definitions definitions(problems);
  DefinitionsBuilder builder;
  builder.Method(1, "app.Main", "run", "Main.java");
  constexpr uint64_t kSites = 3000;
  for (uint64_t i = 0; i < kSites; i++) builder.Site(16 + i, 1, 0, 1, i == 0 ? 0 : 15 + i, 0);
  definitions.Read(builder.bytes().span(), {});
  CHECK(CallerLabels(definitions, 16 + 1000).size() == 1000);
  CHECK(CallerLabels(definitions, 16 + kMaxCallers).size() == kMaxCallers);
  CHECK(CallerLabels(definitions, 17 + kMaxCallers).empty());
  CHECK(problems.count(ProblemKind::kSize) == 2);
}

TEST_CASE("a field that is an array takes a reference, whatever its elements are") {
  for (const char* array : {"[J", "[[B", "[Lapp/Node;"}) {
    CHECK(FieldBytes(array, 4) == 4);
    CHECK(FieldBytes(array, 8) == 8);
  }
  CHECK(FieldBytes("B", 8) == 1);
}

TEST_CASE("a run has the age that it has at the sync point which lists it") {
  ProvenanceTable provenance;
  ProvenanceRuns runs;
  REQUIRE(runs.Add({10, 20, 1, 2}));
  REQUIRE(runs.Add({20, 30, 1, 2}));
  CHECK_FALSE(runs.Add({29, 40, 1, 2}));
  CHECK_FALSE(runs.Add({40, 40, 1, 2}));
  for (const int64_t epoch : {5, 7}) {
    runs.Begin(epoch, &provenance);
    for (const uint64_t word : {10u, 17u, 20u}) CHECK(provenance[runs.Find(word, 3)].birth == epoch - 2);
    CHECK(runs.Missing() == 11);
  }
  CHECK(runs.Find(18, 3) == ProvenanceTable::kBeforeTrace);  // no object lies in two runs
  CHECK(runs.Find(30, 2) == ProvenanceTable::kBeforeTrace);
}

TEST_CASE("stretches that were skipped may touch, and overlap nowhere") {
  SkippedStretches skipped;
  for (const uint64_t begin : {20, 10, 30}) skipped.Add({begin, begin + 10, 0});
  CHECK(skipped.Sort());
  CHECK(skipped.all().size() == 3);
  CHECK(skipped.words() == 30);
  CHECK(skipped.Find(19, 1) != nullptr);
  CHECK(skipped.Find(19, 2) == nullptr);
  skipped.Add({39, 41, 0});
  CHECK_FALSE(skipped.Sort());
  CHECK(skipped.words() == 30);
}

}  // namespace
}  // namespace anttracks::analyzer
