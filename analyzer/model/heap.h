// SPDX-License-Identifier: Apache-2.0
// The objects of the traced heap by address: pages over the JVM's reserved range.
//
// Thread safety: none. Ownership: owns its pages; shapes are borrowed and must outlive the heap.
// Units: words of 8 bytes; addresses are word numbers (address / 8).
// Invariant: objects do not overlap and lie in the reserved range. A call that would break this changes
// nothing, and its result says why.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "analyzer/model/object_shapes.h"
#include "analyzer/model/page.h"
#include "analyzer/model/page_tree.h"
#include "analyzer/model/units.h"

namespace anttracks::analyzer {

// What the heap knows about one object. shape and provenance are numbers in ObjectShapes and ProvenanceTable.
struct HeapObject {
  uint64_t word = 0;
  uint32_t shape = 0;
  uint32_t provenance = 0;
};

struct HeapTotals {
  uint64_t objects = 0;
  uint64_t words = 0;

  uint64_t bytes() const { return InBytes(words); }
  void Add(const HeapTotals& other) {
    objects += other.objects;
    words += other.words;
  }
};

enum class InsertResult { kOk, kOverlap, kOutsideHeap };
enum class MoveResult { kOk, kNoObject, kMovedTwice };

class Heap {
 public:
  // [start, end) is the reserved range in words; end - start must be at most kMaxHeapWords.
  Heap(const ObjectShapes& shapes, uint64_t start, uint64_t end);
  ~Heap() { FreeMemory(); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // The shape must have at least kMinObjectWords words.
  InsertResult Insert(uint64_t word, uint32_t shape, uint32_t provenance) {
    const uint32_t words = shapes_->words(shape);
    Page* page = FindPage(word);
    if (page != nullptr) {
      const uint32_t in_page = InPage(word);
      if (in_page >= page->end() && words <= kPageWords - in_page && words <= end_ - word) {
        if (page->full()) [[unlikely]]
          Open(Index(word), page);
        page->Append(in_page, words, shape, provenance);
        objects_++;
        words_ += words;
        return InsertResult::kOk;
      }
    }
    return InsertSlow(word, words, shape, provenance);
  }

  // Inserts neighbours, the first one at the word; words has their sizes. Returns how many: all, or those
  // before the first one that cannot be inserted, for which Insert says why.
  size_t InsertRun(uint64_t word, std::span<const uint32_t> shapes, std::span<const uint32_t> words,
                   uint32_t provenance);

  // Finds the object that starts at the word, and marks it as moved away. Sets *out unless there is none.
  MoveResult Take(uint64_t word, HeapObject* out) {
    Page* page = FindPage(word);
    const uint32_t in_page = InPage(word);
    if (page == nullptr || !page->IsStart(in_page)) return MoveResult::kNoObject;
    const uint32_t rank = page->Rank(in_page);
    *out = {word, page->shape(rank), page->provenance(rank)};
    return page->MarkMoved(in_page, shapes_->words(out->shape)) ? MoveResult::kOk : MoveResult::kMovedTwice;
  }

  // The object that starts at the word. False if there is none.
  bool Find(uint64_t word, HeapObject* out) const {
    const Page* page = FindPage(word);
    const uint32_t in_page = InPage(word);
    if (page == nullptr || !page->IsStart(in_page)) return false;
    const uint32_t rank = page->Rank(in_page);
    *out = {word, page->shape(rank), page->provenance(rank)};
    return true;
  }

  // Sets the provenance of the object that starts at the word, if there is one.
  void SetProvenance(uint64_t word, uint32_t provenance) {
    Page* page = FindPage(word);
    if (page == nullptr || !page->IsStart(InPage(word))) return;
    page->SetProvenance(page->Rank(InPage(word)), provenance);
  }

  // Removes all objects that start in [bottom, top); returns how many of them were not taken.
  HeapTotals Drop(uint64_t bottom, uint64_t top);

  // Calls visit(const HeapObject&, bool taken) for every object that starts in [bottom, top), by address.
  template <class Visit>
  void ForEach(uint64_t bottom, uint64_t top, Visit&& visit) const;
  template <class Visit>
  void ForEach(Visit&& visit) const {
    ForEach(start_, end_, visit);
  }

  // Calls visit(std::span<const uint32_t> shapes, uint32_t provenance) for all objects that start in
  // [bottom, top) and were not taken, by address: each time for some neighbours of the same provenance. Several
  // times as fast as ForEach.
  template <class Visit>
  void ForEachRun(uint64_t bottom, uint64_t top, Visit&& visit) const {
    ForEachRun(bottom, top, visit, [](const Page&) { return false; });
  }
  // The same without the pages for which skips(const Page&) is true; it is asked of those that lie wholly in
  // the range.
  template <class Visit, class Skips>
  void ForEachRun(uint64_t bottom, uint64_t top, Visit&& visit, Skips&& skips) const;

  // The last object that starts in [bottom, top). False if there is none.
  bool FindLast(uint64_t bottom, uint64_t top, HeapObject* out) const;

  void Clear();
  // The same; and the memory of pages goes back to the system, if no other heap has any.
  void FreeMemory();
  void Swap(Heap& other);

  HeapTotals totals() const { return {objects_, words_}; }
  uint64_t start() const { return start_; }
  uint64_t end() const { return end_; }
  // Memory of the heap model, without the shapes.
  uint64_t MemoryBytes() const;

 private:
  static uint32_t InPage(uint64_t word) { return static_cast<uint32_t>(word % kPageWords); }
  uint64_t Index(uint64_t word) const { return word / kPageWords - first_page_; }
  uint64_t PageStart(uint64_t index) const { return (first_page_ + index) * kPageWords; }
  Page* FindPage(uint64_t word) const {
    if (word < start_ || word >= end_) return nullptr;
    return pages_.Find(Index(word));
  }
  // For a walk over the pages up to end: what it wants next is loaded while it looks at page index.
  void FetchBehind(uint64_t index, uint64_t end) const {
    if (index + 2 >= end) return;
    if (const Page* const page = pages_.Find(index + 2)) page->Fetch();
    if (const Page* const page = pages_.Find(index + 1)) page->FetchArrays();
  }
  InsertResult InsertSlow(uint64_t word, uint32_t words, uint32_t shape, uint32_t provenance);
  void Open(uint64_t index, Page* page);
  uint64_t EndBefore(uint64_t word) const;
  bool IsFree(uint64_t word, uint64_t end) const;
  void Account(const Page& page, uint32_t from, uint32_t to, HeapTotals* untaken);
  std::unique_ptr<Page> Without(const Page& page, uint32_t covered, uint32_t from, uint32_t to) const;

  const ObjectShapes* shapes_;
  uint64_t start_;
  uint64_t end_;
  uint64_t first_page_;
  // A page that is empty, or lies wholly within an object that starts in an earlier page, does not exist.
  PageTree pages_;
  uint64_t open_ = PageTree::kNone;  // the page that has room to spare, if it still exists
  uint64_t objects_ = 0;
  uint64_t words_ = 0;
};

template <class Visit>
void Heap::ForEach(uint64_t bottom, uint64_t top, Visit&& visit) const {
  if (bottom < start_) bottom = start_;
  if (top > end_) top = end_;
  if (bottom >= top) return;
  const uint64_t first = Index(bottom), end = Index(top - 1) + 1;
  for (uint64_t i = pages_.First(first, end); i != PageTree::kNone; i = pages_.First(i + 1, end)) {
    const Page& page = *pages_.Find(i);
    const uint64_t start = PageStart(i);
    uint32_t in_page = page.NextStart(i == first ? InPage(bottom) : 0);
    uint32_t rank = in_page == kPageWords ? 0 : page.Rank(in_page);
    for (; in_page < kPageWords && start + in_page < top; rank++) {
      visit(HeapObject{start + in_page, page.shape(rank), page.provenance(rank)}, page.IsMoved(in_page));
      in_page = page.NextStart(in_page + 1);
    }
  }
}

template <class Visit, class Skips>
void Heap::ForEachRun(uint64_t bottom, uint64_t top, Visit&& visit, Skips&& skips) const {
  if (bottom < start_) bottom = start_;
  if (top > end_) top = end_;
  if (bottom >= top) return;
  const uint64_t first = Index(bottom), end = Index(top - 1) + 1;
  std::array<uint32_t, kMaxPageObjects> shapes;
  std::array<uint16_t, kMaxPageObjects> indexes;
  for (uint64_t i = pages_.First(first, end); i != PageTree::kNone; i = pages_.First(i + 1, end)) {
    FetchBehind(i, end);
    const Page& page = *pages_.Find(i);
    const uint64_t start = PageStart(i);
    const uint32_t from = i == first ? InPage(bottom) : 0;
    if (from == 0 && kPageWords <= top - start) {
      if (skips(page)) continue;
      const uint32_t count = page.CopyUnmoved(shapes.data(), indexes.data());
      for (uint32_t run = 0, next = 0; run < count; run = next) {
        for (next = page.one_provenance() ? count : run + 1; next < count && indexes[next] == indexes[run];)
          next++;
        visit(std::span<const uint32_t>(&shapes[run], next - run),
              page.provenance_of_index(page.one_provenance() ? 0 : indexes[run]));
      }
      continue;
    }
    uint32_t in_page = page.NextStart(from);
    uint32_t rank = in_page == kPageWords ? 0 : page.Rank(in_page);
    for (; in_page < kPageWords && start + in_page < top; rank++) {
      shapes[0] = page.shape(rank);
      if (!page.IsMoved(in_page)) visit(std::span<const uint32_t>(shapes.data(), 1), page.provenance(rank));
      in_page = page.NextStart(in_page + 1);
    }
  }
}

}  // namespace anttracks::analyzer
