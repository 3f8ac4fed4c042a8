// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/start_file.h"

#include "analyzer/passes/counts.h"
#include "analyzer/passes/pass.h"

namespace anttracks::analyzer {
namespace {

class FirstGc : public ListGcs {
 public:
  bool done() const override { return !ids().empty(); }
};

// Collections up to one of them, and whether a sync point was complete before that one ended.
class UpToGc : public ListGcs {
 public:
  explicit UpToGc(uint64_t gc) : gc_(gc) {}

  void GcEnd(const GcEvent& event) override {
    ListGcs::GcEnd(event);
    known_ = known_ || (event.id == gc_ && synced_);
  }
  void SyncEnd(uint64_t, uint64_t) override { synced_ = true; }
  bool done() const override { return !ids().empty() && ids().back() == gc_; }
  bool known() const { return known_; }

 private:
  const uint64_t gc_;
  bool synced_ = false, known_ = false;
};

static_assert(!kNeedsObjects<FirstGc> && !kNeedsObjects<UpToGc>);

template <class Sink>
void ReadFile(trace::ChunkSource& reader, size_t file, Sink& sink) {
  Problems problems;
  Definitions definitions(problems);
  PassOptions options;
  options.files.assign(reader.files().size(), false);
  options.files[file] = true;
  Pass<Sink>(reader, definitions, problems, sink, std::move(options)).Run();
}

}  // namespace

std::optional<StartFile> FindStartFile(trace::ChunkSource& reader, uint64_t gc) {
  const std::vector<trace::FileInfo>& files = reader.files();
  size_t start = files.size();
  for (size_t i = 0; i < files.size(); i++) {
    if (!files[i].is_data()) continue;
    FirstGc first;
    ReadFile(reader, i, first);
    if (!first.ids().empty() && first.ids().front() <= gc) start = i;
  }
  if (start == files.size()) return std::nullopt;
  UpToGc found(gc);
  ReadFile(reader, start, found);
  if (!found.known()) return std::nullopt;
  StartFile result{{}, found.ids().size()};
  for (size_t i = 0; i < files.size(); i++) result.files.push_back(i == start || files[i].is_definitions());
  return result;
}

}  // namespace anttracks::analyzer
