// SPDX-License-Identifier: Apache-2.0
// What somebody who mistyped a word may have meant.
#include "trace/nearest.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anttracks::trace {
namespace {

const std::vector<std::string_view> kWords{"info", "sites", "heap", "gcs", "classes", "threads"};

TEST_CASE("the distance of two words is how many letters are inserted, deleted, replaced or swapped") {
  CHECK(EditDistance("", "") == 0);
  CHECK(EditDistance("", "heap") == 4);
  CHECK(EditDistance("heap", "") == 4);
  CHECK(EditDistance("heap", "heap") == 0);
  CHECK(EditDistance("sits", "sites") == 1);
  CHECK(EditDistance("sitess", "sites") == 1);
  CHECK(EditDistance("sitas", "sites") == 1);
  CHECK(EditDistance("siets", "sites") == 1);
  CHECK(EditDistance("kitten", "sitting") == 3);
}

TEST_CASE("of equally near words the first one is taken") {
  const std::vector<std::string_view> words{"walks", "walls", "walls1"};
  CHECK(Nearest("wal1s", words) == "walks");
}

TEST_CASE("a word with a mistake or two is taken for the nearest known one") {
  CHECK(Nearest("sits", kWords) == "sites");
  CHECK(Nearest("haep", kWords) == "heap");
  CHECK(Nearest("thraeds", kWords) == "threads");
  CHECK(Nearest("clases", kWords) == "classes");
  CHECK(Nearest("gc", kWords) == "gcs");
  CHECK(Nearest("overflow", std::vector<std::string_view>{"on-overflow"}) == "on-overflow");
}

TEST_CASE("a word that is like no known one is not taken for any") {
  for (const char* word : {"", "x", "leaks", "app.trace", "--json"}) CHECK(Nearest(word, kWords) == "");
  CHECK(Nearest(std::string(100'000, 's'), kWords) == "");
  CHECK(Nearest("heap", {}) == "");
  CHECK(Nearest("thrwxyz", kWords) == "");  // four of seven letters
  CHECK(Nearest("clasxyz", kWords) == "");  // three of seven
  const std::string longest(64, 's'), longer(65, 's');
  CHECK(Nearest(longest, std::vector<std::string_view>{longest}) == longest);
  CHECK(Nearest(longer, std::vector<std::string_view>{longer}) == "");
}

TEST_CASE("the question names the word, or is not asked") {
  CHECK(DidYouMean("sits", kWords) == "; did you mean 'sites'?");
  CHECK(DidYouMean("leaks", kWords) == "");
}

}  // namespace
}  // namespace anttracks::trace
