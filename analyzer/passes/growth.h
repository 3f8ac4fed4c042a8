// SPDX-License-Identifier: Apache-2.0
// Whether a population (the live objects of one site and class) piles up: a test for growth that knows nothing
// of traces.
//
// What a leak leaves behind is in the births of what is live after the last old-space collection: about as many
// survivors from each part of the time since it began. A cache that has filled has old survivors only, work
// that is under way has young ones only, start-up left its own at the beginning. And of what a leak keeps
// nothing is ever freed, while a program that builds and drops its data was seen to free some before.
// docs/decisions/0015-growth.md has the reasons for the numbers.
//
// Of censuses births are not known. Then the counts of what was live stand for them: see PopulationOfCounts and
// docs/decisions/0018-census.md.
//
// The time of the test is the number of bytes that the whole program allocated, which is even where seconds are
// not: a program that waits does not leak.
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace anttracks::analyzer {

// Old-space collections that a verdict takes. The last two confirm only; of the others each adds an interval in
// which the population has to grow.
inline constexpr size_t kLeastOldSpaceCollections = 5;
// Of a census it takes more: between them nothing is known.
inline constexpr size_t kLeastOldSpaceCensuses = 8;
// For growth that began in the second half. With fewer it is told as what it is, growth of late.
inline constexpr size_t kLeastLateCollections = 8;
inline constexpr size_t kLeastLateCensuses = 16;

// Of all populations of a trace. An epoch is the number of collections that had ended.
struct GrowthTimeline {
  uint32_t first_epoch = 0;               // births before it are not known
  std::vector<uint64_t> allocated_words;  // by epoch: by all the program until the epoch ended
  struct OldSpace {
    uint32_t epoch = 0;         // after the collection
    uint32_t epoch_before = 0;  // after the old-space collection before it
    uint64_t live_words = 0;    // of all populations
  };
  std::vector<OldSpace> old_space;  // the old-space collections, some may be left out
  // Births are not known but told by counts (PopulationOfCounts). What was freed before growth began says
  // nothing then: it need not have been of the same objects.
  bool counted = false;
  // The longest time, in words that were allocated, for which something grew that was dropped later
  // (passes/phases.h). What began to grow of late has to grow for longer, or it may be such a phase, too.
  uint64_t longest_phase_words = 0;

  size_t least_late() const { return counted ? kLeastLateCensuses : kLeastLateCollections; }
  size_t least_old_space() const { return counted ? kLeastOldSpaceCensuses : kLeastOldSpaceCollections; }
};

struct Births {
  uint32_t epoch = 0;
  uint64_t objects = 0, words = 0;
};

struct Population {
  Births before;               // born before the first epoch, live after the last old-space collection
  std::vector<Births> births;  // the others that are live then, by epoch
  // By old-space collection: objects that were live then, and born before epoch_before.
  std::vector<uint64_t> survived;
};

enum class Verdict {
  kTooFew,     // too few collections to tell: in all, or since growth began
  kNone,       // hardly anything survives
  kStopped,    // grew, and grows no more, or ever slower: start-up, a cache that filled
  kUneven,     // grows in leaps
  kRecent,     // grows evenly, but began so late that it may be a phase of the program
  kFreed,      // was seen to be freed
  kSmall,      // grows, but hardly counts; whoever knows the whole heap may say so
  kNotJudged,  // nothing is said of such a population
  kLeak,
};
std::string_view VerdictName(Verdict verdict);

struct Growth {
  Verdict verdict = Verdict::kNone;
  uint32_t onset = 0;  // the epoch in which growth began
  uint32_t end = 0;    // what was born in an epoch before this one is judged
  // Survivors born in [onset, end).
  uint64_t objects = 0, words = 0;
  uint64_t freed = 0;        // at most so many were there at an old-space collection, and freed later
  uint32_t collections = 0;  // of the old space since the onset
  bool late = false;         // it has not lasted for half of them

  bool grows() const { return verdict == Verdict::kLeak || verdict == Verdict::kRecent; }
};

// What was live at one census.
struct LiveCount {
  uint32_t epoch = 0;  // as OldSpace::epoch: 1 for the first census, and so on
  uint64_t objects = 0, words = 0;
};

// A population of which only counts are known, by epoch. Of what was live at a census no more stayed for ever
// than the least that was live at a later one. That is taken as what stayed, replacements included; what it
// grows by from one census to the next counts as born between them.
Population PopulationOfCounts(const std::vector<LiveCount>& counts);

Growth JudgeGrowth(const GrowthTimeline& timeline, const Population& population);

}  // namespace anttracks::analyzer
