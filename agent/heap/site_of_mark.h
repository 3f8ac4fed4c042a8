// SPDX-License-Identifier: Apache-2.0
// Where the VM's scheme has an object's allocation site in its mark word; and where that has the class, if it
// does (compact headers).
//
// A mark is plain if its site can be read from its own bits. Of a mark that is neutral, but not plain, the VM
// knows the site (AntTracksVM::mark_site): in scheme hash it has none, in ash the object has its hash code. A
// mark that is not neutral is elsewhere (object_site).
//
// Thread safety: that of any value type.
#pragma once

#include <cstdint>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

inline constexpr uint64_t kLockBits = 3;
inline constexpr uint64_t kNeutral = 1;
inline constexpr uint64_t kInflated = 2;
inline constexpr uint32_t kAbiHashShift = 8;

struct SiteBits {
  uint64_t mask, plain;    // a mark is plain if mask selects these bits of it
  unsigned shift;          // of the site in a plain mark, whose bits above the site are 0, but for the class
  unsigned klass_bit = 0;  // from here on the mark has the class; 0: that is beside it

  constexpr bool IsPlain(uint64_t mark) const { return (mark & mask) == plain; }
  // Of a mark that is not plain: any number.
  constexpr uint64_t SiteOf(uint64_t mark) const {
    return (klass_bit == 0 ? mark : mark & ((uint64_t{1} << klass_bit) - 1)) >> shift;
  }
  // Of any mark, if klass_bit is not 0.
  constexpr uint32_t KlassOf(uint64_t mark) const { return static_cast<uint32_t>(mark >> klass_bit); }
  friend constexpr bool operator==(const SiteBits&, const SiteBits&) = default;
};

// No mark is plain.
inline constexpr SiteBits kNeverPlain = {0, 1, 0};

// scheme: ANTTRACKS_SITES_*. hash_shift: where the VM's identity hashes begin; the ABI's places are those of 8.
// klass_bit: as in SiteBits, only with scheme ash.
constexpr SiteBits SiteBitsOf(uint32_t scheme, uint32_t hash_shift, unsigned klass_bit = 0) {
  constexpr uint64_t kWithSite = ANTTRACKS_SITE_IN_HASH | kNeutral;
  const unsigned moved = hash_shift - kAbiHashShift;
  switch (scheme) {
    case ANTTRACKS_SITES_HASH:
      return {kLockBits | ANTTRACKS_SITE_IN_HASH, kWithSite, ANTTRACKS_HASH_SITE_SHIFT + moved};
    case ANTTRACKS_SITES_ASH:
      return {kLockBits | ANTTRACKS_SITE_IN_HASH | ANTTRACKS_ASH_FILLED << moved, kWithSite,
              ANTTRACKS_ASH_SITE_SHIFT + moved, klass_bit};
    default:
      return {kLockBits, kNeutral, ANTTRACKS_SITE_SHIFT + moved};
  }
}

constexpr SiteBits SiteBitsOf(const AntTracksVM& vm) {
  const unsigned klass_bit = vm.klass_shift == 0 ? 0 : vm.klass_offset * 8 + vm.klass_shift;
  return SiteBitsOf(vm.site_scheme, vm.hash_shift, klass_bit);
}

// As META has it.
constexpr const char* SchemeName(uint32_t scheme) {
  switch (scheme) {
    case ANTTRACKS_SITES_HASH:
      return "hash";
    case ANTTRACKS_SITES_ASH:
      return "ash";
    default:
      return "mark";
  }
}

}  // namespace anttracks::core
