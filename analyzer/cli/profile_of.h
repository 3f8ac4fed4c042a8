// SPDX-License-Identifier: Apache-2.0
// Makes what exports are written from.
//
// Thread safety: none. Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/cli/call_paths.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/selection.h"
#include "analyzer/cli/session.h"
#include "analyzer/export/profile.h"
#include "analyzer/model/id_map.h"

namespace anttracks::analyzer {

// The process of a trace that was read.
ExportProcess ProcessOf(const Session& session, const PassSummary& summary,
                        const std::vector<ExportLabel>& labels);

// Gives numbers to what an export names.
class ProfileBuilder {
 public:
  ProfileBuilder(const Content& content, const Selection& selection, ExportProcess process);

  uint32_t Frame(uint32_t site);
  uint32_t Class(uint32_t id);
  uint32_t Thread(const PortionKey& key);
  uint32_t Stack(const CallPath& path);
  CallPaths& paths() { return paths_; }
  // All but samples and allocations.
  ExportProfile Take() { return std::move(profile_); }

 private:
  uint32_t Intern(ExportFrame frame);

  const Definitions& definitions_;
  CallPaths paths_;
  ExportProfile profile_;
  std::unordered_map<std::string, uint32_t> frames_, classes_;
  std::unordered_map<uint32_t, uint32_t> frames_of_sites_;
  IdMap<uint32_t> threads_;
  std::map<std::vector<uint32_t>, uint32_t> stacks_;
};

// Of what the selection has. content: with what is live. The samples add up to what `tree` has, the allocations
// are those of `sites --group-by site,class,thread`: estimates are rounded where these round them.
ExportProfile ProfileOf(const Content& content, const Selection& selection, ExportProcess process);

}  // namespace anttracks::analyzer
