// SPDX-License-Identifier: Apache-2.0
// My code first: for each allocation site the first place in the application's own code on the way out, through
// the callers that it was inlined into, and beyond these the call stacks that were sampled there.
//
// Thread safety: none. Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/callers.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/frames.h"

namespace anttracks::analyzer {

// In place of the application's site, where there is none.
inline constexpr std::string_view kNoApplicationFrame = "no application frame is known";

class ApplicationSites {
 public:
  struct Part {
    uint32_t site = 0;     // 0: no frame of the stack is the application's
    double share = 0;      // of what was allocated at the site for which this was asked
    bool inlined = false;  // so it is exact; otherwise an estimate from stacks
  };

  // selection: whose window and threads choose the stacks.
  ApplicationSites(const Definitions& definitions, const StackSamples& stacks, const ApplicationFrames& frames,
                   const Selection& selection = {});

  // Empty: nothing is known. The shares add up to 1.
  const std::vector<Part>& Of(uint32_t site);
  // The name of the one from which most comes, or kNoApplicationFrame.
  std::string MainOf(uint32_t site);
  const Definitions& definitions() const { return *definitions_; }

 private:
  std::vector<Part> Find(uint32_t site);
  uint32_t FirstOfSite(uint32_t site);
  uint32_t FirstOfStack(uint32_t stack);

  const Definitions* definitions_;
  const ApplicationFrames* frames_;
  const Callers callers_;
  // The first place that is the application's; 0: there is none.
  std::unordered_map<uint32_t, uint32_t> of_site_, of_stack_;
  std::unordered_map<uint32_t, std::vector<Part>> known_;
};

// Of several sites that are one row of a table: the application site from which most bytes come.
class MainApplicationSite {
 public:
  // Whose bytes are added. Stacks tell where objects are allocated, not where those come from that stay. So for
  // live objects they count only if nothing of the row was inlined into the application.
  enum class Of { kAllocated, kLive };

  explicit MainApplicationSite(Of of = Of::kAllocated) : of_(of) {}

  void Add(ApplicationSites& sites, uint32_t site, double bytes);

  // The row's site is in the application's code.
  bool itself() const { return itself_; }
  // Its name; "": none is known, or it is the row's site.
  std::string name() const;
  // How much of the bytes for which this is known come from there: 0 to 1.
  double share() const;
  // All of them, as far as is known.
  bool all() const;
  // For tables: the name, with the share if that is not all; empty if there is none.
  std::vector<std::string> Lines() const;

 private:
  struct Names {
    double bytes = 0;  // for which something is known
    std::map<std::string, double> by_name;
  };
  const Names& names() const { return of_ == Of::kLive && !inlined_.by_name.empty() ? inlined_ : all_; }

  Of of_;
  bool itself_ = false;
  Names all_, inlined_;
};

// Columns application and application_share of JSON and CSV, and what the table has instead, under the row.
std::vector<Column> ApplicationColumns();
// Their cells. site: the name of the row's site. unknown: what the table says where no application site is
// known.
void AddApplicationCells(Row* row, const MainApplicationSite& application, const std::string& site,
                         std::string_view unknown = {});

}  // namespace anttracks::analyzer
