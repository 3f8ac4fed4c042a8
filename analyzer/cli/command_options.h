// SPDX-License-Identifier: Apache-2.0
// The options of each command: what a row of the table of commands has for the parser.
//
// Thread safety: none. What the options are to set is borrowed until the words are parsed.
#pragma once

#include "analyzer/cli/commands.h"

namespace CLI {
class App;
}

namespace anttracks::analyzer {

// What --by takes, of commands in which it was there before --group-by.
inline constexpr Choice<Field> kHeapRows[] = {{Field::kClass, "class"},
                                              {Field::kSite, "site"},
                                              {Field::kThread, "thread"},
                                              {Field::kSpace, "space"},
                                              {Field::kAge, "age"}};
inline constexpr Choice<Field> kLifetimesRows[] = {{Field::kSite, "site"}, {Field::kClass, "class"}};

void AddOnlyTrace(CLI::App& app, Session& session, Arguments& arguments);
void AddHeap(CLI::App& app, Session& session, Arguments& arguments);
void AddSites(CLI::App& app, Session& session, Arguments& arguments);
void AddTree(CLI::App& app, Session& session, Arguments& arguments);
void AddLifetimes(CLI::App& app, Session& session, Arguments& arguments);
void AddSummary(CLI::App& app, Session& session, Arguments& arguments);
void AddGcs(CLI::App& app, Session& session, Arguments& arguments);
void AddObject(CLI::App& app, Session& session, Arguments& arguments);
void AddTimeline(CLI::App& app, Session& session, Arguments& arguments);
void AddLeaks(CLI::App& app, Session& session, Arguments& arguments);
void AddReport(CLI::App& app, Session& session, Arguments& arguments);
void AddClasses(CLI::App& app, Session& session, Arguments& arguments);
void AddDiff(CLI::App& app, Session& session, Arguments& arguments);
void AddJoin(CLI::App& app, Session& session, Arguments& arguments);
void AddAssert(CLI::App& app, Session& session, Arguments& arguments);
void AddExport(CLI::App& app, Session& session, Arguments& arguments);
void AddThreads(CLI::App& app, Session& session, Arguments& arguments);
void AddVerify(CLI::App& app, Session& session, Arguments& arguments);
void AddAttach(CLI::App& app, Session& session, Arguments& arguments);
void AddCtl(CLI::App& app, Session& session, Arguments& arguments);
void AddTop(CLI::App& app, Session& session, Arguments& arguments);

}  // namespace anttracks::analyzer
