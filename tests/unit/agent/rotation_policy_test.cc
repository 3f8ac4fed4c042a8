// SPDX-License-Identifier: Apache-2.0
// What a rotated trace decides, without a file, a thread or a clock.
#include <doctest/doctest.h>

#include "agent/io/rotation/policy.h"

namespace anttracks::io {
namespace {

using std::chrono::milliseconds;
using Time = RotationPolicy::Time;

// Far from the time before which a policy cannot have asked.
constexpr Time kNow{std::chrono::hours(1)};
// Four files of 64 KB, and 64 KB more to wait for a collection: half of them before one is asked for.
const RotationLimits kLimits{.max_bytes = 256 << 10, .deviation = 0.25};

RotationPolicy Begun(const RotationLimits& limits = kLimits) {
  RotationPolicy policy(limits);
  policy.FileBegun();
  return policy;
}

// Until the bound leaves room for so many bytes only.
void FillBound(RotationPolicy* policy, uint64_t left = 0) {
  while (policy->HasRoom(left + 1)) policy->Wrote(1);
}

bool WantsNothing(RotationPolicy* policy, Time now) {
  const RotationPolicy::Wish wish = policy->Wishes(now);
  return !wish.sync_point && !wish.collection;
}

TEST_CASE("limits: files, slack and backlog follow from size and deviation") {
  const RotationLimits limits{.max_bytes = 1000, .deviation = 0.1};
  CHECK(limits.files() == 10);
  CHECK(limits.slack() == 100);
  CHECK(limits.bound() == 1100);
  CHECK(limits.backlog() == 25);
  CHECK(RotationLimits{.max_bytes = 1000, .deviation = 0.3}.files() == 3);
}

TEST_CASE("files share what definitions leave, one share is for provenance if it is kept") {
  RotationPolicy policy({.max_bytes = 1 << 20, .deviation = 0.25});
  CHECK(policy.share() == (1 << 18));
  policy.WroteDefinitions(1 << 18);
  CHECK(policy.share() == (3 << 16));
  RotationPolicy keeping({.max_bytes = 1 << 20, .deviation = 0.25, .keep_provenance = true});
  CHECK(keeping.share() == (1 << 20) / 5);
  CHECK(keeping.max_provenance_bytes() == keeping.share() / 2);
  policy.WroteDefinitions(1 << 20);  // more than all
  CHECK(policy.share() == 0);
}

TEST_CASE("chunks are a small part of a file, within limits") {
  CHECK(Begun({.max_bytes = 64 << 20, .deviation = 0.25}).chunk_bytes() == 256 << 10);
  CHECK(Begun({.max_bytes = 8 << 20, .deviation = 0.25}).chunk_bytes() == 128 << 10);
  CHECK(Begun({.max_bytes = 1 << 10, .deviation = 0.25}).chunk_bytes() == 4 << 10);
}

TEST_CASE(
    "a sync point is wanted when the file has its share, a collection when half of the deviation is left") {
  RotationPolicy policy = Begun();
  policy.Wrote(policy.share() - 1);
  CHECK(WantsNothing(&policy, kNow));
  policy.Wrote(1);
  CHECK(policy.Wishes(kNow).sync_point);
  CHECK_FALSE(policy.Wishes(kNow).collection);
  while (!policy.NearBound()) policy.Wrote(1);
  CHECK(policy.current().bytes == (256 << 10) + (32 << 10));
  CHECK(policy.Wishes(kNow).collection);
}

TEST_CASE("a collection is asked for now and then, not all the time") {
  RotationPolicy policy = Begun();
  FillBound(&policy);
  CHECK(policy.Wishes(kNow).collection);
  CHECK_FALSE(policy.Wishes(kNow).collection);
  CHECK(policy.Wishes(kNow).sync_point);
  CHECK_FALSE(policy.Wishes(kNow + RotationPolicy::kAskAgainAfter - milliseconds(1)).collection);
  CHECK(policy.Wishes(kNow + RotationPolicy::kAskAgainAfter).collection);
}

TEST_CASE("a file whose sync point is not complete wants nothing, however full it is") {
  RotationPolicy policy = Begun();
  policy.FileBegun();
  CHECK(policy.files_to_keep() == 2);
  FillBound(&policy);
  CHECK(WantsNothing(&policy, kNow));
  CHECK(policy.SyncPointComplete());
  CHECK(policy.files_to_keep() == 1);
  CHECK(policy.Wishes(kNow).sync_point);
}

TEST_CASE("the first file begins with the VM's sync point; files are numbered") {
  RotationPolicy policy = Begun();
  CHECK(policy.files_to_keep() == 1);
  CHECK(policy.current().index == 0);
  policy.FileBegun();
  CHECK(policy.current().index == 1);
  CHECK(policy.oldest().index == 0);
  policy.OldestDeleted();
  CHECK(policy.oldest().index == 1);
}

TEST_CASE("who drops wants sync point and collection, until the next file begins") {
  RotationPolicy policy = Begun();
  CHECK(policy.bounded());
  CHECK_FALSE(policy.BeginToDrop(kNow));
  CHECK(policy.dropping());
  CHECK_FALSE(policy.bounded());
  const RotationPolicy::Wish wish = policy.Wishes(kNow);
  CHECK(wish.sync_point);
  CHECK(wish.collection);
  policy.FileBegun();
  CHECK_FALSE(policy.dropping());
  CHECK(policy.bounded());
}

TEST_CASE("a sync point without room is tried again, each time later, and no collection is asked for") {
  RotationPolicy policy = Begun();
  Time now = kNow;
  milliseconds after = RotationPolicy::kRetryAfter;
  for (int i = 0; i < 10; i++) {
    policy.FileBegun();
    CHECK(policy.BeginToDrop(now));
    CHECK_FALSE(policy.SyncPointComplete());
    CHECK(policy.files_to_keep() == 2);
    CHECK(WantsNothing(&policy, now + after - milliseconds(1)));
    now += after;
    CHECK(policy.Wishes(now).sync_point);
    CHECK_FALSE(policy.Wishes(now).collection);
    after = std::min(2 * after, RotationPolicy::kRetryAtMost);
  }
  CHECK(after == RotationPolicy::kRetryAtMost);
  policy.FileBegun();
  CHECK(policy.SyncPointComplete());  // from now on as at first
  policy.FileBegun();
  CHECK(policy.BeginToDrop(now));
  CHECK(policy.Wishes(now + RotationPolicy::kRetryAfter).sync_point);
}

TEST_CASE("what was dropped is told once") {
  RotationPolicy policy = Begun();
  (void)policy.BeginToDrop(kNow);
  policy.Drop(10);
  policy.Drop(20);
  const RotationPolicy::Dropped dropped = policy.TakeDropped();
  CHECK(dropped.chunks == 2);
  CHECK(dropped.bytes == 30);
  CHECK(policy.TakeDropped().chunks == 0);
}

TEST_CASE("the last words are neither dropped nor need room made") {
  RotationPolicy policy = Begun();
  FillBound(&policy);
  (void)policy.BeginToDrop(kNow);
  policy.End();
  CHECK_FALSE(policy.dropping());
  CHECK_FALSE(policy.bounded());
  CHECK_FALSE(policy.HasRoom(1));
  CHECK(policy.HasRoomForDefinitions(RotationPolicy::kReserve));
  CHECK_FALSE(policy.HasRoomForDefinitions(RotationPolicy::kReserve + 1));
}

TEST_CASE("old files go for room, but not those that are kept") {
  RotationPolicy policy = Begun();
  policy.Wrote(2000);
  for (int i = 0; i < 2; i++) policy.FileBegun();
  FillBound(&policy, 100);
  CHECK_FALSE(policy.MustDelete(100, 1));
  CHECK(policy.MustDelete(101, 2));
  CHECK_FALSE(policy.MustDelete(101, 3));
  policy.OldestDeleted();
  CHECK(policy.HasRoom(2100));
  CHECK_FALSE(policy.HasRoom(2101));
}

TEST_CASE("a file that has begun has room for its share within the size that was asked for") {
  RotationPolicy policy = Begun();
  for (int i = 0; i < 3; i++) {
    policy.Wrote(policy.share());
    CHECK_FALSE(policy.MustDeleteForShare());
    policy.FileBegun();
  }
  policy.Wrote(1);
  CHECK_FALSE(policy.MustDeleteForShare());
  policy.Wrote(policy.share() - 1);
  policy.FileBegun();  // the fifth
  CHECK(policy.MustDeleteForShare());
  policy.OldestDeleted();
  CHECK_FALSE(policy.MustDeleteForShare());

  RotationPolicy small = Begun();
  for (int i = 0; i < 4; i++) small.FileBegun();
  CHECK(small.MustDeleteForShare());  // five, however small

  RotationPolicy only = Begun();
  only.WroteDefinitions(kLimits.max_bytes + 1);
  CHECK_FALSE(only.MustDeleteForShare());

  RotationPolicy large = Begun();  // one file took all
  large.Wrote(kLimits.max_bytes - large.share() + 1);
  CHECK_FALSE(large.MustDeleteForShare());  // the only one
  large.FileBegun();
  CHECK(large.MustDeleteForShare());
}

TEST_CASE("whatever a file takes, the bound holds") {
  for (const double deviation : {0.1, 0.25, 0.5}) {
    const RotationLimits limits{.max_bytes = 256 << 10, .deviation = deviation};
    RotationPolicy policy = Begun(limits);
    uint64_t first = 0, last = 0, total = 0;
    std::deque<uint64_t> files{0};
    const auto drop_oldest = [&] {
      total -= files.front();
      files.pop_front();
      policy.OldestDeleted();
      first++;
    };
    uint32_t random = 1;
    for (int i = 0; i < 20'000; i++) {
      random = random * 1664525 + 1013904223;
      const uint64_t bytes = random >> 20;
      while (policy.MustDelete(bytes, policy.files_to_keep())) drop_oldest();
      if (policy.HasRoom(bytes)) {
        policy.Wrote(bytes);
        files.back() += bytes;
        total += bytes;
      }
      REQUIRE(total <= limits.bound());
      if (!policy.IsFull() || random % 7 != 0) continue;
      policy.FileBegun();
      files.push_back(0);
      last++;
      while (policy.MustDeleteForShare()) drop_oldest();
      REQUIRE(total + policy.share() <= limits.max_bytes);
      if (random % 3 != 0) CHECK(policy.SyncPointComplete());
    }
    CHECK(last > 100);
    CHECK(policy.oldest().index == first);
    CHECK(policy.current().index == last);
  }
}

TEST_CASE("a provenance file counts against the bound, and goes with its data file") {
  RotationPolicy policy = Begun({.max_bytes = 1 << 20, .deviation = 0.25, .keep_provenance = true});
  policy.FileBegun();
  CHECK(policy.SyncPointComplete());
  FillBound(&policy, 1000);
  policy.WroteProvenance(100);
  CHECK(policy.HasRoom(900));
  CHECK_FALSE(policy.HasRoom(901));
  policy.OldestDeleted();
  CHECK(policy.oldest().provenance_bytes == 100);
  policy.FileBegun();
  policy.OldestDeleted();
  CHECK(policy.HasRoom((5 << 18) - RotationPolicy::kReserve));
}

TEST_CASE("the remedy for a bound that is too small has room for as many files as there are") {
  const RotationPolicy policy = Begun({.max_bytes = 1 << 20, .deviation = 0.25});
  const auto share = static_cast<double>(policy.share());
  CHECK(policy.TooSmall(share / 2) ==
        "maxsize=1048576 is too small: events fill one of 4 files, 256 KB, before the sync point that it "
        "begins with is "
        "complete; give at least maxsize=3M. Events are lost, the trace goes on");
  CHECK(policy.TooSmall(10 * share) ==
        "maxsize=1048576 is too small: a sync point of this heap takes about 2561 KB, one of 4 files has 256 "
        "KB; give at "
        "least maxsize=21M. Events are lost, the trace goes on");
}

}  // namespace
}  // namespace anttracks::io
