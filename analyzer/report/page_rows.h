// SPDX-License-Identifier: Apache-2.0
// The rows of the page of `report`: a site and a class each, the largest ones by what they allocate, what of it
// survives and what is live; the smaller sites of a class are one row, if together they are large, and all
// others are one row, so that totals add up. And the calls that lead to them.
//
// Thread safety: none. Ownership: borrows the content.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/report/page_content.h"

namespace anttracks::analyzer {

struct PageRow {
  std::string site, class_name;
  std::string application;  // "": not known
  Amount allocated, survived;
  double weight = 0;  // its largest share of what was allocated, survived, or was live at a moment; 0 to 1
  std::vector<uint32_t> site_classes;
};

class PageRows {
 public:
  // most: so many rows at most, and as many of smaller sites of a class; the one of all others not counted.
  PageRows(const PageContent& content, const ApplicationFrames& frames, size_t most);

  const std::vector<PageRow>& rows() const { return rows_; }
  // How many of them are one site.
  size_t sites() const { return sites_; }
  // The last row is that of all others, of so many sites and classes; 0: there is none.
  size_t others() const { return others_; }
  // How many are in rows of a class.
  size_t in_classes() const { return in_classes_; }
  // By the number of the row. They add up to what was live then.
  std::map<size_t, CallTotals> LiveAt(const PageMoment& moment) const;

 private:
  void Rank(const PageContent& content, std::vector<PageRow>* all) const;
  void AddTo(size_t at, const PageRow& row);
  void AddClasses(const std::vector<PageRow>& all, size_t most);

  std::vector<PageRow> rows_;
  size_t sites_ = 0, others_ = 0, in_classes_ = 0;
  std::unordered_map<uint32_t, size_t> row_of_;  // by site-class pair
};

// The calls that lead to the rows: a tree of names, and for each row in which parts its objects are from which
// node.
struct PageCalls {
  struct Node {
    size_t parent = 0, name = 0;  // of the root both are 0
  };
  std::vector<std::string> names;
  std::vector<Node> nodes;  // a parent precedes its children
  struct Part {
    size_t node = 0;
    uint64_t weight = 0;
  };
  std::vector<std::vector<Part>> of_rows;
};

// most: so many nodes at most. Smaller ones count with their callers.
PageCalls CallsOf(const PageContent& content, const PageRows& rows, size_t most);

}  // namespace anttracks::analyzer
