// SPDX-License-Identifier: Apache-2.0
#include "agent/heap/object_reader.h"

#include <fmt/format.h>

namespace anttracks::core {

// Cold. Fails the session if the object makes no sense.
SiteClass ObjectReader::ResolveSiteClass(uint32_t site, uint64_t klass, uint64_t address) {
  const SiteClass site_class = klass == 0 ? SiteClass() : definitions_.Resolve(site, klass);
  if (site_class.id == 0 && definitions_.exhausted()) {
    failure_.Fail(definitions_.ExhaustedText());
  } else if (site_class.id == 0) {
    failure_.Fail(fmt::format("internal error: the word at {:#x} is no object (class {:#x})", address, klass));
  }
  return site_class;
}

bool ObjectReader::ReadPlain(uint64_t address, Header* header) const {
  const uint64_t mark = LoadMark(address);
  if (vm_.klass_bytes != 4 || !sites_.IsPlain(mark)) return false;
  const LayoutTable& layouts = definitions_.layouts();
  const auto site = static_cast<uint32_t>(sites_.SiteOf(mark));
  const uint32_t klass = NarrowKlass(address, mark);
  const LayoutTable::Entry& entry = layouts.entries()[site < layouts.sites() ? site : 0];
  if (klass == 0 || !entry.Is(klass)) return false;
  header->site = site;
  header->klass = klass;
  header->site_class.id = entry.id & trace::kSiteClassMask;
  header->length = Length(address, entry.length_mask);
  header->has_length = entry.is_array != 0;
  const uint64_t bytes = entry.base_bytes + (uint64_t{header->length} << entry.log2);
  header->words =
      ((bytes + vm_.object_alignment - 1) & ~uint64_t{vm_.object_alignment - 1}) / trace::kWordBytes;
  header->locked = false;
  return true;
}

bool ObjectReader::ReadHeader(uint64_t address, Header* header, Lookup lookup) {
  const uint64_t mark = LoadMark(address);
  header->klass =
      vm_.klass_bytes == 4 ? NarrowKlass(address, mark) : LoadAt<uint64_t>(address + vm_.klass_offset);
  header->site = static_cast<uint32_t>(sites_.SiteOf(mark));
  header->locked = (mark & kLockBits) != kNeutral;
  if (!header->locked && !sites_.IsPlain(mark)) {
    header->site = vm_.mark_site(mark);
  } else if (header->locked) {
    // A heap walk of JVM TI holds the world and must not be waited for; and what the stack of a lock's owner
    // holds may be another object's header by the time it is read.
    if (lookup == Lookup::kTablesOnly && (mark & kLockBits) != kInflated) return false;
    header->site = vm_.object_site(address);
    if (header->site == ANTTRACKS_SITE_CANNOT_TELL) {
      if (lookup == Lookup::kTablesOnly) return false;
      header->site = ANTTRACKS_SITE_NONE;
    }
  }
  if (header->site >> ANTTRACKS_SITE_BITS != 0) {
    failure_.Fail(
        fmt::format("internal error: the word at {:#x} is no object (site {})", address, header->site));
    return false;
  }
  header->site_class = definitions_.site_classes().Find(header->site, header->klass);
  if (header->site_class.id == 0 && lookup == Lookup::kAskVm) {
    header->site_class = ResolveSiteClass(header->site, header->klass, address);
  }
  if (header->site_class.id == 0) return false;
  const ObjectLayout layout = header->site_class.layout;
  header->length = 0;
  header->has_length = layout.how() != ObjectLayout::kFixed;
  if (!header->has_length) {
    header->words = layout.fixed_words();
  } else if (layout.how() == ObjectLayout::kArray) {
    header->length = LoadAt<uint32_t>(address + vm_.array_length_offset);
    header->words = layout.array_words(header->length, vm_.object_alignment);
  } else {
    if (lookup == Lookup::kTablesOnly) return false;
    header->words = vm_.object_bytes(address) / trace::kWordBytes;
    header->length = static_cast<uint32_t>(header->words);
  }
  if (header->words != 0) return true;
  failure_.Fail(fmt::format("internal error: object of no size at {:#x}", address));
  return false;
}

// Called for each object whose pair's id does not fit into a column. From then on the table of layouts has the
// pairs that many objects have.
void ObjectReader::CountWide(SiteClassCache& cache, uint32_t site, uint64_t klass, Lookup lookup) {
  if (!cache.ChooseWide() || lookup == Lookup::kTablesOnly) return;
  const SiteClass site_class = definitions_.GiveColumnId(site, klass);
  if (site_class.id == 0 || vm_.klass_bytes != 4 || site_class.layout.how() == ObjectLayout::kVariable) return;
  definitions_.layouts().Put(site, static_cast<uint32_t>(klass), site_class);
  cache.Put(site, static_cast<uint32_t>(klass), site_class);
}

// What a walk does not find in the table of layouts. The bytes of the object; 0: only the VM could tell, or
// tracing has failed.
uint64_t ObjectReader::ReadOdd(SiteClassCache& cache, uint64_t address, Columns* columns, Lookup lookup) {
  const bool narrow = vm_.klass_bytes == 4;
  const uint64_t mark = LoadMark(address);
  const bool neutral = (mark & kLockBits) == kNeutral;
  // In scheme ash the mark of an object with a hash code is not plain. The walker has found most of those.
  const bool ask = narrow && neutral && !sites_.IsPlain(mark);
  const uint32_t site = ask ? vm_.mark_site(mark) : static_cast<uint32_t>(sites_.SiteOf(mark));
  const uint32_t klass = NarrowKlass(address, mark);
  const SiteClassCache::Entry& entry = cache.At(site, klass);
  if (narrow && neutral && klass != 0 && entry.Is(site, klass)) {
    const uint32_t length = Length(address, entry.length_mask());
    columns->Put(entry.site_class(), length, entry.has_length());
    const uint64_t bytes = entry.base() + (uint64_t{length} << entry.log2());
    if (entry.site_class() > trace::kSiteClassMask) CountWide(cache, site, klass, lookup);
    return (bytes + vm_.object_alignment - 1) & ~uint64_t{vm_.object_alignment - 1};
  }
  Header header;
  if (!ReadHeader(address, &header, lookup)) return 0;
  columns->Put(header.site_class.id, header.length, header.has_length);
  if (narrow && !header.locked && header.site_class.layout.how() != ObjectLayout::kVariable) {
    definitions_.layouts().Put(header.site, static_cast<uint32_t>(header.klass), header.site_class);
    cache.Put(header.site, static_cast<uint32_t>(header.klass), header.site_class);
  }
  if (header.site_class.id > trace::kSiteClassMask) CountWide(cache, header.site, header.klass, lookup);
  return header.words * trace::kWordBytes;
}

template <SiteBits kSites>
bool ObjectReader::ReadSomeStretches(SiteClassCache& cache, const AddressRange (&stretches)[kLanes],
                                     Scratch& scratch, Lookup lookup) {
  Columns out[kLanes];
  for (unsigned i = 0; i < kLanes; i++) {
    Scratch::Lane& lane = scratch.lanes[i];
    const size_t ids = MostIds(stretches[i], LeastObjectBytes(vm_));
    if (lane.ids.size() < ids) lane.ids.resize(ids);
    if (lane.lengths.size() < MostLengths(ids)) lane.lengths.resize(MostLengths(ids));
    out[i] = {lane.ids.data(), lane.lengths.data()};
  }
  const auto resolve = [this, &cache, lookup](uint64_t address, Columns* columns) {
    return ReadOdd(cache, address, columns, lookup);
  };
  TlabWalker<kSites, decltype(resolve)> walker(definitions_.layouts(), vm_.mark_site, resolve);
  const bool read = walker.Read(stretches, out, scratch.ends);
  for (unsigned i = 0; i < kLanes; i++) {
    scratch.lanes[i].id_count = static_cast<size_t>(out[i].ids - scratch.lanes[i].ids.data());
    scratch.lanes[i].length_count = static_cast<size_t>(out[i].lengths - scratch.lanes[i].lengths.data());
  }
  return read;
}

template <SiteBits... kKnown>
bool ObjectReader::ReadAsOneOf(SiteClassCache& cache, const AddressRange (&stretches)[kLanes], Scratch& scratch,
                               Lookup lookup) {
  bool read = false;
  const auto read_if = [&]<SiteBits kSites>(std::integral_constant<SiteBits, kSites>) {
    if (sites_ != kSites) return false;
    read = ReadSomeStretches<kSites>(cache, stretches, scratch, lookup);
    return true;
  };
  const bool known = PlainHeaders(vm_) && (read_if(std::integral_constant<SiteBits, kKnown>()) || ...);
  return known ? read : ReadSomeStretches<kNeverPlain>(cache, stretches, scratch, lookup);
}

bool ObjectReader::ReadStretches(SiteClassCache& cache, const AddressRange (&stretches)[kLanes],
                                 Scratch& scratch, Lookup lookup) {
  constexpr uint32_t k25 = kAbiHashShift + 3;  // JDK 25's hash_shift
  constexpr unsigned kCompact = 42;            // where JDK 25's compact headers have the class
  return ReadAsOneOf<SiteBitsOf(ANTTRACKS_SITES_MARK, kAbiHashShift),
                     SiteBitsOf(ANTTRACKS_SITES_HASH, kAbiHashShift),
                     SiteBitsOf(ANTTRACKS_SITES_ASH, kAbiHashShift), SiteBitsOf(ANTTRACKS_SITES_MARK, k25),
                     SiteBitsOf(ANTTRACKS_SITES_HASH, k25), SiteBitsOf(ANTTRACKS_SITES_ASH, k25),
                     SiteBitsOf(ANTTRACKS_SITES_ASH, k25, kCompact)>(cache, stretches, scratch, lookup);
}

}  // namespace anttracks::core
