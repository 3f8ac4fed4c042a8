// SPDX-License-Identifier: Apache-2.0
// The file for the patched JVM's flag AntTracksPretenure: sites whose objects are promoted anyway.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/passes/lifetimes.h"

namespace anttracks::analyzer {

// A site is worth it if of the bytes that were promoted or died young this share was promoted.
inline constexpr double kPretenureShare = 0.8;

// What is known of the objects of one site; in words.
struct SitePromotion {
  std::vector<std::string> frames;  // youngest first, at most 8: "p.C.m(I)V:12"
  uint64_t promoted = 0, died_young = 0, copied_young = 0;
};

// Some frames, the youngest first, that at least kPretenureShare of the promoted bytes of all sites that begin
// with them justify; none of its own beginnings does. At most 8 frames, as the JVM reads no more.
struct PretenuredSite {
  std::string frames;        // "p.C.m(I)V:12 < p.D.n()V:5", as the flag's file has it
  uint64_t saved_words = 0;  // copied by young collections
  uint64_t promoted_words = 0;
};

// Those of the sites that save at least a thousandth of copied_words, the most first.
std::vector<PretenuredSite> PretenuredSites(const std::vector<SitePromotion>& sites, uint64_t copied_words);

// Those that save at least a thousandth of what young collections copied, the most first. Sites that another
// run would name differently (in hidden classes) are left out.
std::vector<PretenuredSite> PretenuredSites(const Definitions& definitions, const Lifetimes& lifetimes);

std::string PretenureText(const std::vector<PretenuredSite>& sites);

}  // namespace anttracks::analyzer
