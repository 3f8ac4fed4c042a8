// SPDX-License-Identifier: Apache-2.0
// What somebody who mistyped a word may have meant.
//
// Thread safety: full.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace anttracks::analyzer {

// Letters to insert, delete, replace, or swap with their neighbour, to make one word of the other.
size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of the known words, the first one of several; "" if none is near: more than a third of the
// letters would have to change, and more than one.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> known);

// "; did you mean 'sites'?", or "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace anttracks::analyzer
