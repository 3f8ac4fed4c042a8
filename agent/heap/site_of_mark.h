// SPDX-License-Identifier: Apache-2.0
// Where the VM's scheme has an object's allocation site in its mark word.
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

struct SiteBits {
  uint64_t mask, plain;  // a mark is plain if mask selects these bits of it
  unsigned shift;        // of the site in a plain mark, whose bits above the site are 0

  constexpr bool IsPlain(uint64_t mark) const { return (mark & mask) == plain; }
  // Of a mark that is not plain: any number.
  constexpr uint64_t SiteOf(uint64_t mark) const { return mark >> shift; }
};

// scheme: ANTTRACKS_SITES_*.
constexpr SiteBits SiteBitsOf(uint32_t scheme) {
  constexpr uint64_t kWithSite = ANTTRACKS_SITE_IN_HASH | kNeutral;
  switch (scheme) {
    case ANTTRACKS_SITES_HASH:
      return {kLockBits | ANTTRACKS_SITE_IN_HASH, kWithSite, ANTTRACKS_HASH_SITE_SHIFT};
    case ANTTRACKS_SITES_ASH:
      return {kLockBits | ANTTRACKS_SITE_IN_HASH | ANTTRACKS_ASH_FILLED, kWithSite, ANTTRACKS_ASH_SITE_SHIFT};
    default:
      return {kLockBits, kNeutral, ANTTRACKS_SITE_SHIFT};
  }
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

// What is known of all headers when code is compiled: that they are plain (PlainHeaders) and where sites are,
// or nothing.
enum class Headers : uint8_t { kOdd, kMark, kHash, kAsh };

constexpr SiteBits SiteBitsOf(Headers headers) {
  return SiteBitsOf(uint32_t{headers == Headers::kHash  ? ANTTRACKS_SITES_HASH
                             : headers == Headers::kAsh ? ANTTRACKS_SITES_ASH
                                                        : ANTTRACKS_SITES_MARK});
}

}  // namespace anttracks::core
