// SPDX-License-Identifier: Apache-2.0
// Finds the word that was probably meant by a mistyped one.
//
// Thread safety: full.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace anttracks::trace {

// The number of letters to insert, delete, replace, or swap with their neighbour, to turn one word into the
// other.
size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of the known words, the first one of several; "" if none is near: to make one of the other would
// take more than one change, and more than a third of the longer word's letters.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> known);

// "; did you mean 'sites'?", or "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace anttracks::trace
