// SPDX-License-Identifier: Apache-2.0
// Every kind of fault, planted in a trace: verify finds it and says where.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

struct Verdict {
  int code;
  nlohmann::json json;
  uint64_t count(const std::string& kind) const { return json["by_kind"].value(kind, uint64_t{0}); }
  uint64_t errors() const { return json["errors"]; }
};

Verdict Verify(const std::string& trace) {
  const CommandResult result = Anttracks(trace, {"verify", "--json"});
  return {result.code, nlohmann::json::parse(result.out)};
}

void CheckOnly(TraceBuilder& b, const std::string& kind, uint64_t count = 1) {
  const Verdict verdict = Verify(b.Flush().file());
  INFO(verdict.json.dump());
  CHECK(verdict.code == 1);
  CHECK(verdict.count(kind) == count);
  CHECK(verdict.errors() == count);
}

TraceBuilder WithAllocs() {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  return b;
}

void BeginYoung(TraceBuilder* b) {
  b->Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
}
void EndYoung(TraceBuilder* b, uint64_t to, uint64_t old) {
  b->Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, to, old));
}

TEST_CASE("VerifyMoveFromAnAddressThatHoldsNoObject") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden + 1, kTo, 0, 3}}));
  EndYoung(&b, 0, 17);
  CheckOnly(b, "move from an address that holds no object");
}

TEST_CASE("VerifyObjectMovedTwice") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden, kTo + 3, 0, 3}}));
  EndYoung(&b, 3, 17);
  CheckOnly(b, "object moved twice in one collection");
}

TEST_CASE("VerifyMoveOntoAnotherObject") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 3, kTo + 2, 0, 3}}));
  EndYoung(&b, 5, 17);
  CheckOnly(b, "overlapping objects");
}

TEST_CASE("VerifyMoveOutOfASpaceThatIsNotCollected") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kOld + 14, kTo, 0, 3}}));
  EndYoung(&b, 3, 17);
  CheckOnly(b, "object outside every space");
}

TEST_CASE("VerifyAllocationOverALiveObject") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kEden + 1).Fixed(6));
  CheckOnly(b, "overlapping objects");
}

TEST_CASE("VerifyFillerOverALiveObjectIsToldApart") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kFillers, 0, Filler(kTo + 2, 4, 0));
  EndYoung(&b, 4, 17);
  CheckOnly(b, "filler that overlaps an object");
}

TEST_CASE("VerifyObjectOutsideItsSpaceAfterACollection") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo + 100, 0, 3}}));
  EndYoung(&b, 3, 17);
  CheckOnly(b, "object outside every space");
}

TEST_CASE("VerifyObjectThatReachesBeyondTheTopOfItsSpace") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  EndYoung(&b, 2, 17);
  CheckOnly(b, "object outside every space");
}

TEST_CASE("VerifyObjectOutsideTheHeap") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kHeapEnd - 1).Fixed(6));
  CheckOnly(b, "object outside the heap");
}

TEST_CASE("VerifyUndefinedKind") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kEden + 512).Fixed(77));
  CheckOnly(b, "undefined kind, site, class or method");
}

TEST_CASE("VerifyPredictionOutOfNothing") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kEden + 512).Run(1));
  CheckOnly(b, "undefined kind, site, class or method");
}

TEST_CASE("VerifyUndefinedSiteClassAndMethod") {
  TraceBuilder b = SmallStart();
  SymbolsBuilder s;
  s.Kind(20, 99, 1).Kind(21, 16, 99).Site(30, 99, 0, 0, 0, 0).Site(31, 1, 0, 0, 99, 0);
  b.Segment(SegmentKind::kSymbols, 0, s.bytes());
  CheckOnly(b, "undefined kind, site, class or method", 4);
}

TEST_CASE("VerifyContradictingDefinitions") {
  TraceBuilder b = SmallStart();
  SymbolsBuilder s;
  s.Class(1, "app.Node", 0, 32).Kind(1, 17, 1).Site(16, 2, 4, 12, 0, 0).Site(2, 1, 0, 0, 0, 0);
  b.Segment(SegmentKind::kSymbols, 0, s.bytes());
  CheckOnly(b, "definition that contradicts an earlier one", 4);
}

TEST_CASE("VerifyLengthOfAnObjectThatHasNone") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 1).Tlab(kEden).WithLength(1, 5));
  CheckOnly(b, "impossible size or length");
}

TEST_CASE("VerifyArrayLongerThanJavaAllows") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 1).Tlab(kEden).WithLength(2, 0x80000000));
  CheckOnly(b, "impossible size or length");
}

TEST_CASE("VerifySyncTotals") {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kSymbols, 0, SmallSymbols().bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 32});
  CheckOnly(b, "totals that disagree");
}

TEST_CASE("VerifySyncObjectOutsideItsSpace") {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kSymbols, 0, SmallSymbols().bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 2, Objects().Tlab(kOld).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  CheckOnly(b, "object outside every space");
}

TEST_CASE("VerifyEventsInTheWrongPlace") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kEden, kEden));
  b.Segment(SegmentKind::kFillers, 0, Filler(kTo, 4, 0));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  EndYoung(&b, 0, 17);
  CheckOnly(b, "event in the wrong place", 6);
}

TEST_CASE("VerifyAllocationWithinACollection") {
  TraceBuilder b = SmallStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 1).Tlab(kOld + 17).Fixed(1));
  EndYoung(&b, 0, 20);
  CheckOnly(b, "event in the wrong place");
}

TEST_CASE("VerifyEventsBehindTheEnd") {
  TraceBuilder b = SmallStart();
  b.End(5000, "x", "{}");
  SmallAllocs(&b);
  CheckOnly(b, "event in the wrong place", 2);
}

TEST_CASE("VerifyCollectionThatEndsAsAnother") {
  TraceBuilder b = SmallStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(0, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "x", 6000, Spaces(0, 0, 0, 17));
  CheckOnly(b, "event in the wrong place");
}

TEST_CASE("VerifyLiveObjectOfAnUnloadedClass") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Numbers(SegmentKind::kClassUnload, 0, {1});
  EndYoung(&b, 0, 17);
  CheckOnly(b, "object of an unloaded class");
}

TEST_CASE("VerifyNewObjectOfAnUnloadedClass") {
  TraceBuilder b = WithAllocs();
  b.Numbers(SegmentKind::kClassUnload, 0, {2});
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kEden + 512).WithLength(2, 10));
  CheckOnly(b, "object of an unloaded class");
}

TEST_CASE("VerifySequenceGap") {
  TraceBuilder b = SmallStart();
  b.Flush().SkipSequence();
  SmallAllocs(&b);
  CheckOnly(b, "gap in the sequence of chunks");
}

TEST_CASE("VerifyLossIsAnErrorAndWhatFollowsIsNotTrusted") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 4500).Tlab(kEden).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.count("event that cannot be checked after a loss") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("VerifyStreamThatGoesOnAfterALossWithoutReset") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(0, 4500).Tlab(64).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("malformed segment") == 1);
}

TEST_CASE("VerifyASyncPointMakesTheHeapExactAgain") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  b.SyncBegin(2, 5000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 6000).Tlab(kEden).Fixed(1).Tlab(-1).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.count("overlapping objects") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("VerifySegmentBeyondItsChunk") {
  TraceBuilder b = SmallStart();
  b.Flush().Chunk(2, std::string("\x01\x01\x7F\x01", 4));
  CheckOnly(b, "malformed segment");
}

TEST_CASE("VerifyUnknownOperationAmongObjects") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1, 1).Tlab(kEden).Uv(0).Uv(9).Uv(0));
  CheckOnly(b, "malformed segment");
}

TEST_CASE("VerifyPromotionFailureKeepsWhatStays") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kEden + 3, kEden + 3));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(66, 0, 3, 17));
  b.Flush();
  CHECK(Verify(b.file()).errors() == 0);
  const CommandResult objects = Anttracks(b.file(), {"heap", "--objects"});
  CHECK(objects.out ==
        "0x10000018\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10000030\tint[]\t56\tapp.Main.run(Main.java:30)\n"
        "0x10180000\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10200000\tjava.lang.Class\t112\t<unknown>\n"
        "0x10200070\tapp.Node\t24\tapp.List.add(List.java:12)\n");
}

TEST_CASE("VerifyUnknownSegmentsAndSymbolsAreSkipped") {
  TraceBuilder b = SmallStart();
  ByteBuffer bytes;
  bytes.Str("later");
  SymbolsBuilder s;
  s.Record(99, bytes);
  b.Segment(static_cast<SegmentKind>(77), 5, bytes).Segment(SegmentKind::kSymbols, 0, s.bytes());
  CHECK(Verify(b.Flush().Chunk(77, "later").file()).errors() == 0);
}

TEST_CASE("VerifyPrintsPlaceKindAndText") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1, 1).Tlab(kEden + 1).Fixed(6));
  const CommandResult result = Anttracks(b.Flush().file(), {"verify"});
  CHECK(result.code == 1);
  const size_t chunk = TraceBuilder().Meta(kEden * 8, kHeapEnd * 8).file().size();
  CHECK(result.out.find("TRACE: chunk at " + std::to_string(chunk) + ", byte ") == 0);
  CHECK(result.out.find(": overlapping objects: java.lang.Object at 0x10000008 with 16 bytes overlaps another "
                        "object\n") != std::string::npos);
}

TEST_CASE("VerifyMaxErrorsLimitsWhatIsPrintedNotWhatIsCounted") {
  TraceBuilder b = SmallStart();
  b.End(5000, "x", "{}");
  SmallAllocs(&b);
  const CommandResult result = Anttracks(b.Flush().file(), {"verify", "--max-errors", "1"});
  CHECK(result.out.find("... and 1 more") != std::string::npos);
  CHECK(result.out.find("2 errors") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
