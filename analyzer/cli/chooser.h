// SPDX-License-Identifier: Apache-2.0
// Which of a trace's portions a selection has, the names that it is about, and what reports say of it.
//
// Thread safety: none. Ownership: definitions and selections are borrowed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/content.h"
#include "analyzer/cli/selection.h"
#include "analyzer/model/id_map.h"

namespace anttracks::analyzer {

// The name that a field has: a class, a site, and so on.
std::string FieldText(const Definitions& definitions, Field field, const PortionKey& key);
// Whether the pattern fits that name.
bool Matches(const Definitions& definitions, const Condition& condition, const PortionKey& key);

// Looks names up once per site-class pair and thread.
class Chooser {
 public:
  Chooser(const Definitions& definitions, const Selection& selection)
      : definitions_(&definitions), selection_(&selection) {}
  bool operator()(const PortionKey& key) { return selection_->InWindow(key.passed) && OfAnyTime(key); }
  // The same without the window.
  bool OfAnyTime(const PortionKey& key) { return OfPair(key) && OfThread(key); }

 private:
  bool OfPair(const PortionKey& key);
  bool OfThread(const PortionKey& key);
  bool Hold(const PortionKey& key, bool threads) const;

  const Definitions* definitions_;
  const Selection* selection_;
  std::unordered_map<uint32_t, bool> pairs_;
  IdMap<bool> threads_;
};

// Whether the window makes sense, also for what is live, of which only the collections before are known. An
// exit code, with a message, if not.
std::optional<int> CheckWindow(Session& session, const Selection& selection, bool live);
// The same of the collections that the trace has, in their order.
std::optional<int> CheckGcs(Session& session, const PassSummary& summary, const Selection& selection,
                            const std::vector<uint64_t>& gc_ids);
// And of names. A name that it does not have is told on stderr.
std::optional<int> CheckNames(Session& session, const Content& content, const Selection& selection);
// What is selected of the trace, and of what lives, if that is wanted, after a collection or (none) at the end.
struct WantedSelection {
  const Selection& selection;
  bool threads = false;  // apart, also if no condition is on them
  bool live = false;
  std::optional<uint64_t> gc;
};
// Says in the content if what is chosen of its live objects is not all of that.
void QualifyLive(const Selection& selection, Content* content);
// Reads it, after all these checks. nullptr: *exit is the exit code, and what is wrong was told.
std::unique_ptr<Content> ReadSelected(Session& session, const WantedSelection& wanted, int* exit);
// On stderr: of which conditions the pattern fits none of the keys, and no name that the trace defines.
void TellUnknownNames(Session& session, const Definitions& definitions, const std::vector<PortionKey>& keys,
                      const std::vector<Condition>& where);
// Says in the report's heading and head what it is about, unless that is all.
void ShowSelection(const Selection& selection, Report* report);

// Whether the trace defines a class or thread that the pattern fits, allocated or not.
bool NamesInDefinitions(const Definitions& definitions, const Condition& condition);

// The names nearest to a pattern that matches nothing: "; did you mean 'com.app.Foo'?", or "".
std::string NearestNames(const Definitions& definitions, const std::vector<PortionKey>& keys,
                         const Condition& condition);

}  // namespace anttracks::analyzer
