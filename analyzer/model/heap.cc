// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/heap.h"

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {
namespace {

// Stands for every page that lies wholly within an object that starts in an earlier page. Never changed.
Page* CoveredPage() {
  static Page* const page = [] {
    auto* covered = new Page();
    covered->Cover(kPageWords);
    return covered;
  }();
  return page;
}

}  // namespace

Heap::Heap(const Shapes& shapes, uint64_t start, uint64_t end)
    : shapes_(&shapes),
      start_(start),
      end_(end),
      first_page_(start / kPageWords),
      pages_(end <= start ? 0 : (end - 1) / kPageWords - first_page_ + 1),
      leaves_((pages_ + kLeafPages - 1) / kLeafPages) {}

Heap::~Heap() { Clear(); }

void Heap::Release(Page* page) {
  if (page != CoveredPage()) delete page;
}

void Heap::Clear() {
  for (auto& leaf : leaves_) {
    if (!leaf) continue;
    for (Page* page : leaf->pages) Release(page);
    leaf.reset();
  }
  objects_ = 0;
  words_ = 0;
}

void Heap::Swap(Heap& other) {
  std::swap(shapes_, other.shapes_);
  std::swap(start_, other.start_);
  std::swap(end_, other.end_);
  std::swap(first_page_, other.first_page_);
  std::swap(pages_, other.pages_);
  leaves_.swap(other.leaves_);
  std::swap(objects_, other.objects_);
  std::swap(words_, other.words_);
}

Page** Heap::SlotAt(uint64_t index) {
  auto& leaf = leaves_[index / kLeafPages];
  if (!leaf) leaf = std::make_unique<Leaf>();
  return &leaf->pages[index % kLeafPages];
}

Page* Heap::OwnPageAt(uint64_t index) {
  Page** slot = SlotAt(index);
  if (*slot == nullptr) *slot = new Page();
  return *slot;
}

// Whether no object lies in [word, end), which is within the reserved range.
bool Heap::IsFree(uint64_t word, uint64_t end) const {
  const uint64_t first = word / kPageWords - first_page_;
  const uint64_t last = (end - 1) / kPageWords - first_page_;
  for (uint64_t index = first; index <= last; index++) {
    const Page* page = PageAt(index);
    if (page == nullptr) continue;
    const uint64_t page_start = (first_page_ + index) * kPageWords;
    const auto from = static_cast<uint32_t>(index == first ? word - page_start : 0);
    const uint64_t to = std::min<uint64_t>(end - page_start, kPageWords);
    if (from < page->covered() || page->NextStart(from) < to) return false;
    if (from < page->end()) {
      const uint32_t previous = page->PreviousStart(from);
      if (previous != kPageWords && previous + shapes_->words(page->shape(page->Rank(previous))) > from) {
        return false;
      }
    }
  }
  return true;
}

void Heap::CoverBehind(uint64_t word, uint64_t end) {
  uint64_t index = word / kPageWords - first_page_ + 1;
  for (; (first_page_ + index) * kPageWords < end; index++) {
    const uint64_t rest = end - (first_page_ + index) * kPageWords;
    if (rest < kPageWords) {
      OwnPageAt(index)->Cover(static_cast<uint32_t>(rest));
      continue;
    }
    Page** slot = SlotAt(index);
    Release(*slot);  // empty: the range is free
    *slot = CoveredPage();
  }
}

InsertResult Heap::InsertSlow(uint64_t word, uint32_t words, uint32_t shape, uint32_t origin) {
  if (word < start_ || word >= end_ || words > end_ - word) return InsertResult::kOutsideHeap;
  if (!IsFree(word, word + words)) return InsertResult::kOverlap;
  Page* page = OwnPageAt(word / kPageWords - first_page_);
  const uint32_t in_page = InPage(word);
  if (in_page >= page->end()) {
    page->Append(in_page, words, shape, origin);
  } else {
    page->Insert(in_page, shape, origin);
  }
  if (words > kPageWords - in_page) CoverBehind(word, word + words);
  objects_++;
  words_ += words;
  return InsertResult::kOk;
}

// Takes the objects that start in [from, to) out of the account; those not taken are added to untaken.
void Heap::Account(const Page& page, uint32_t from, uint32_t to, HeapTotals* untaken) {
  uint32_t in_page = page.NextStart(from);
  if (in_page >= to) return;
  for (uint32_t rank = page.Rank(in_page); in_page < to; rank++) {
    const uint32_t words = shapes_->words(page.shape(rank));
    objects_--;
    words_ -= words;
    if (!page.IsMoved(in_page)) {
      untaken->objects++;
      untaken->words += words;
    }
    in_page = page.NextStart(in_page + 1);
  }
}

// A copy of the page without the objects that start in [from, to), its first words covered as given.
std::unique_ptr<Page> Heap::Without(const Page& page, uint32_t covered, uint32_t from, uint32_t to) const {
  auto copy = std::make_unique<Page>();
  if (covered != 0) copy->Cover(covered);
  uint32_t rank = 0;
  for (uint32_t i = page.NextStart(0); i < kPageWords; i = page.NextStart(i + 1), rank++) {
    if (i >= from && i < to) continue;
    copy->Append(i, shapes_->words(page.shape(rank)), page.shape(rank), page.origin(rank));
    if (page.IsMoved(i)) copy->MarkMoved(i);
  }
  return copy;
}

HeapTotals Heap::Drop(uint64_t bottom, uint64_t top) {
  HeapTotals untaken;
  bottom = std::max(bottom, start_);
  top = std::min(top, end_);
  if (bottom >= top) return untaken;
  const uint64_t first = bottom / kPageWords - first_page_;
  const uint64_t last = (top - 1) / kPageWords - first_page_;
  for (uint64_t index = first; index <= last; index++) {
    auto& leaf = leaves_[index / kLeafPages];
    if (!leaf) {
      index |= kLeafPages - 1;
      continue;
    }
    Page*& page = leaf->pages[index % kLeafPages];
    if (page == nullptr) continue;
    const uint64_t page_start = (first_page_ + index) * kPageWords;
    const auto from = static_cast<uint32_t>(index == first ? bottom - page_start : 0);
    const auto to = static_cast<uint32_t>(std::min<uint64_t>(top - page_start, kPageWords));
    Account(*page, from, to, &untaken);
    Page* rest = nullptr;
    // What covers the first page's start belongs to an object before the range, others' to one within.
    const uint32_t covered = index == first ? page->covered() : 0;
    if (covered == kPageWords) {
      rest = page;
    } else if (from != 0 || to != kPageWords || covered != 0) {
      rest = Without(*page, covered, from, to).release();
    }
    if (rest != page) Release(page);
    page = rest;
  }
  return untaken;
}

bool Heap::FindLast(uint64_t bottom, uint64_t top, HeapObject* out) const {
  bottom = std::max(bottom, start_);
  top = std::min(top, end_);
  while (top > bottom) {
    const uint64_t index = (top - 1) / kPageWords - first_page_;
    const uint64_t page_start = (first_page_ + index) * kPageWords;
    const Page* page = PageAt(index);
    if (page != nullptr) {
      const uint32_t in_page = page->PreviousStart(static_cast<uint32_t>(top - page_start));
      if (in_page != kPageWords) {
        const uint32_t rank = page->Rank(in_page);
        *out = {page_start + in_page, page->shape(rank), page->origin(rank)};
        return out->word >= bottom;
      }
    }
    top = page_start;
  }
  return false;
}

uint64_t Heap::MemoryBytes() const {
  uint64_t bytes = sizeof(Heap) + leaves_.capacity() * sizeof(leaves_[0]);
  for (const auto& leaf : leaves_) {
    if (!leaf) continue;
    bytes += sizeof(Leaf);
    for (const Page* page : leaf->pages) {
      if (page != nullptr && page != CoveredPage()) bytes += page->MemoryBytes();
    }
  }
  return bytes;
}

}  // namespace anttracks::analyzer
