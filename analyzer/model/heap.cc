// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/heap.h"

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {

Heap::Heap(const ObjectShapes& shapes, uint64_t start, uint64_t end)
    : shapes_(&shapes),
      start_(start),
      end_(end),
      first_page_(start / kPageWords),
      pages_(end <= start ? 0 : (end - 1) / kPageWords - first_page_ + 1) {}

void Heap::Clear() {
  pages_.Clear();
  open_ = PageTree::kNone;
  objects_ = 0;
  words_ = 0;
}

void Heap::FreeMemory() {
  Clear();
  PageMemory::Trim();
}

void Heap::Swap(Heap& other) {
  std::swap(shapes_, other.shapes_);
  std::swap(start_, other.start_);
  std::swap(end_, other.end_);
  std::swap(first_page_, other.first_page_);
  pages_.Swap(other.pages_);
  std::swap(open_, other.open_);
  std::swap(objects_, other.objects_);
  std::swap(words_, other.words_);
}

// The page that is appended to gets all the room there can be, so that its array need not grow step by step.
void Heap::Open(uint64_t index, Page* page) {
  if (open_ != index && open_ != PageTree::kNone) {
    if (Page* const before = pages_.Find(open_)) before->Close();
  }
  open_ = index;
  page->Open();
}

// Where the last object that starts before the word ends; 0 if there is none.
uint64_t Heap::EndBefore(uint64_t word) const {
  HeapObject last;
  if (!FindLast(start_, word, &last)) return 0;
  return last.word + shapes_->words(last.shape);
}

// Whether no object lies in [word, end), which is within the reserved range.
bool Heap::IsFree(uint64_t word, uint64_t end) const {
  const uint64_t first = Index(word), last = Index(end - 1);
  for (uint64_t i = pages_.First(first, last + 1); i != PageTree::kNone; i = pages_.First(i + 1, last + 1)) {
    const Page& page = *pages_.Find(i);
    const uint32_t from = i == first ? InPage(word) : 0;
    if (from < page.covered() || page.NextStart(from) < std::min<uint64_t>(end - PageStart(i), kPageWords))
      return false;
  }
  return EndBefore(word) <= word;
}

size_t Heap::InsertRun(uint64_t word, std::span<const uint32_t> shapes, std::span<const uint32_t> words,
                       uint32_t provenance) {
  constexpr size_t kWorthOpening = 8;
  size_t done = 0;
  while (done < shapes.size()) {
    size_t count = 0;
    if (Page* const page = FindPage(word)) {
      const uint32_t in_page = InPage(word);
      const bool has_no_room = page->full() || (page->count() == 0 && shapes.size() - done >= kWorthOpening);
      if (has_no_room && in_page >= page->end()) Open(Index(word), page);
      const auto limit = static_cast<uint32_t>(std::min<uint64_t>(kPageWords, in_page + (end_ - word)));
      count = page->AppendRun(in_page, shapes.subspan(done), words.subspan(done), limit, provenance);
      if (count != 0) {
        const uint32_t added = page->end() - in_page;
        objects_ += count;
        words_ += added;
        word += added;
      }
    }
    if (count == 0) {
      if (Insert(word, shapes[done], provenance) != InsertResult::kOk) return done;
      word += words[done];
      count = 1;
    }
    done += count;
  }
  return done;
}

InsertResult Heap::InsertSlow(uint64_t word, uint32_t words, uint32_t shape, uint32_t provenance) {
  if (word < start_ || word >= end_ || words > end_ - word) return InsertResult::kOutsideHeap;
  const uint64_t end = word + words;
  const uint64_t first = Index(word), last = Index(end - 1);
  const uint32_t in_page = InPage(word);
  Page* page = pages_.Find(first);
  // Behind the last object, into a page that is not there yet: nothing has to be looked for.
  const bool is_free =
      page != nullptr && in_page >= page->end() && last == first + 1 && pages_.Find(last) == nullptr;
  if (!is_free && !IsFree(word, end)) return InsertResult::kOverlap;
  if (page == nullptr) page = pages_.FindOrAdd(first);
  if (in_page >= page->end()) {
    page->Append(in_page, words, shape, provenance);
  } else {
    page->Insert(in_page, words, shape, provenance);
  }
  if (words > kPageWords - in_page && InPage(end) != 0) pages_.FindOrAdd(Index(end))->Cover(InPage(end));
  objects_++;
  words_ += words;
  return InsertResult::kOk;
}

// Takes the objects that start in [from, to) out of the account; those not taken are added to untaken.
void Heap::Account(const Page& page, uint32_t from, uint32_t to, HeapTotals* untaken) {
  if (from == 0 && to == kPageWords) {
    objects_ -= page.count();
    words_ -= page.words();
    untaken->Add({page.count() - page.moved_count(), page.words() - page.moved_words()});
    return;
  }
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
    const uint32_t words = shapes_->words(page.shape(rank));
    copy->Append(i, words, page.shape(rank), page.provenance(rank));
    if (page.IsMoved(i)) copy->MarkMoved(i, words);
  }
  return copy;
}

HeapTotals Heap::Drop(uint64_t bottom, uint64_t top) {
  HeapTotals untaken;
  bottom = std::max(bottom, start_);
  top = std::min(top, end_);
  if (bottom >= top) return untaken;
  const uint64_t first = Index(bottom), end = Index(top - 1) + 1;
  const uint64_t reach = EndBefore(bottom);  // of an object that stays
  for (uint64_t i = pages_.First(first, end); i != PageTree::kNone; i = pages_.First(i + 1, end)) {
    FetchBehind(i, end);
    const Page& page = *pages_.Find(i);
    const uint64_t start = PageStart(i);
    const uint32_t from = i == first ? InPage(bottom) : 0;
    const auto to = static_cast<uint32_t>(std::min<uint64_t>(top - start, kPageWords));
    Account(page, from, to, &untaken);
    const bool keeps_cover = i == first || reach > start;
    const uint32_t covered = keeps_cover ? page.covered() : 0;
    std::unique_ptr<Page> rest;
    if (from != 0 || to != kPageWords || covered != 0) rest = Without(page, covered, from, to);
    if (rest != nullptr && (rest->count() != 0 || covered != 0)) {
      pages_.Replace(i, std::move(rest));
    } else {
      pages_.Remove(i);
    }
  }
  return untaken;
}

bool Heap::FindLast(uint64_t bottom, uint64_t top, HeapObject* out) const {
  bottom = std::max(bottom, start_);
  top = std::min(top, end_);
  if (bottom >= top) return false;
  const uint64_t first = Index(bottom);
  for (uint64_t i = pages_.Last(first, Index(top - 1) + 1); i != PageTree::kNone; i = pages_.Last(first, i)) {
    const Page& page = *pages_.Find(i);
    const uint64_t start = PageStart(i);
    const uint32_t in_page =
        page.PreviousStart(static_cast<uint32_t>(std::min<uint64_t>(top - start, kPageWords)));
    if (in_page == kPageWords) continue;
    const uint32_t rank = page.Rank(in_page);
    *out = {start + in_page, page.shape(rank), page.provenance(rank)};
    return out->word >= bottom;
  }
  return false;
}

uint64_t Heap::MemoryBytes() const { return sizeof(Heap) + pages_.MemoryBytes(); }

}  // namespace anttracks::analyzer
