// SPDX-License-Identifier: Apache-2.0
// Rows of two traces side by side, and which of their differences say something.
//
// Rows are matched by names: ids, addresses and the numbers in names that the JVM makes up differ from run to
// run. Sites are matched by method, line and class. Where the lines of a method differ, since the source was
// changed above them, its sites are matched in their order, so that most bytes find a partner.
//
// What two runs of one program differ in (docs/analyzer.md has figures): JIT compilers work beside the program,
// so that the moment from which on they leave out an allocation, or whether they do, is chance; and collections
// come at other moments, so that another part of what the program holds for a while is live.
//
// Thread safety: full.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/cli/amount.h"

namespace anttracks::analyzer {

// Keeps one copy of each name, as many rows have the same; none is given back before all are.
class Names {
 public:
  std::string_view Of(std::string name) { return *names_.insert(std::move(name)).first; }

 private:
  std::unordered_set<std::string> names_;
};

// What a row stands for; parts that the rows do not have are empty. Borrows its names.
struct Place {
  std::string_view method, file;  // "app.List.add", "List.java"; or a thread's name, "<vm>"
  std::string_view class_name;
  int line = -1;  // last, so that the lines of a method are neighbours
  auto operator<=>(const Place&) const = default;
};

struct Side {
  Amount allocated, live;
  Amount optimized;  // of allocated: by code of C2, which may leave out allocations

  void Add(const Side& other) {
    allocated.Add(other.allocated);
    live.Add(other.live);
    optimized.Add(other.optimized);
  }
};

using Sides = std::map<Place, Side>;

struct DiffRow {
  Place place;         // in B, or in A if B does not have it
  int line_in_a = -1;  // another one than place's if the source was changed
  bool in_a = false, in_b = false;
  Side a, b;
  double optimized = 0;  // how much of Allocated() is kOptimized: see AddMadeUp; of several sites, at these
  // See AddShifts: how much of Allocated() others of the class make up for, and how much more other code than
  // C2's allocated in B than in A for which C2's made up.
  double shifted = 0, later = 0;

  double Allocated() const { return b.allocated.bytes().value - a.allocated.bytes().value; }
  double Live() const { return b.live.bytes().value - a.live.bytes().value; }
};

// Every row of each side is in exactly one row of the result.
std::vector<DiffRow> MatchRows(const Sides& a, const Sides& b);

// A method that is compiled later allocates more in the interpreter and C1, and less in C2's code, where
// inlining and intrinsics may give the same allocations other sites. Of rows that are sites, sets `shifted` to
// what of their differences goes from the one kind of code to the other within all sites of the class, and
// `later` to the sum of this over all classes, with its sign.
void AddShifts(std::vector<DiffRow>* rows);

// The same for samples, which do not tell the kind of code. Of rows that are sites, sets `optimized` to what of
// their differences other sites of the class make up for. A change of the source that moves allocations of a
// class from one site to another looks the same.
void AddMadeUp(std::vector<DiffRow>* rows);

// How much two runs of one program may differ.
struct NoiseRule {
  static constexpr double kLeastBytes = 64 << 10;
  static constexpr double kShare = 0.01, kRelative = 0.05;  // of what was allocated: in all, by the row
  static constexpr double kNewShare = 0.0001;               // the same of a row that one side does not have
  static constexpr double kLiveShare = 0.05, kLiveRelative = 0.5;  // of what is live

  // Of estimates, 95 % intervals that are as much wider must not overlap, on both sides: about 99.7 %
  // intervals, as a report compares many rows at once.
  static constexpr double kWider = 1.5;

  double allocated_bytes = kLeastBytes;  // a difference of less is noise
  double new_bytes = kLeastBytes;
  double live_bytes = kLeastBytes;
  double unseen_a = 0, unseen_b = 0;  // of samples: bytes of which there may well be no sample

  // a, b: all bytes that were allocated, all that are live, and how far the bytes that live after a collection
  // are apart over the last half of the collections.
  struct Totals {
    double allocated = 0, live = 0, live_range = 0;
    double unseen = 0;  // see unseen_a
  };
  static NoiseRule Of(const Totals& a, const Totals& b);
};

enum class Difference {
  kNone,       // noise
  kAllocated,  // above noise
  kLive,       // what was allocated is noise, what is live is not
  kOptimized,  // may be chance: C2 left out allocations in one of the runs only, or sooner; or see AddMadeUp
};
Difference Judge(const DiffRow& row, const NoiseRule& rule);

// The most important difference first: what says something, by how many bytes; then noise.
void SortRows(std::vector<DiffRow>* rows, const NoiseRule& rule);

}  // namespace anttracks::analyzer
