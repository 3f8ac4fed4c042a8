// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/annotate.h"

#include <unordered_map>

#include "analyzer/hprof/hprof_writer.h"
#include "analyzer/hprof/names.h"
#include "analyzer/hprof/site_stacks.h"

namespace anttracks::hprof {
namespace {

using trace::Status;

// Copies the heap's records.
class Copier {
 public:
  using SiteOf = std::function<std::optional<uint32_t>(uint64_t id)>;

  Copier(const HprofReader& dump, HprofWriter& writer, SiteStacks& stacks, const SiteOf& site_of,
         Annotated* out)
      : dump_(&dump), writer_(&writer), stacks_(&stacks), site_of_(&site_of), out_(out) {}

  Status operator()(const RootRecord& record) { return Copy(record.offset, 1 + RootBytes(record.kind), 0); }
  Status operator()(const ClassRecord& record) {
    const auto end = static_cast<uint64_t>(record.fields.data() + record.fields.size() - dump_->bytes().data());
    return Copy(record.offset, end - record.offset, StackOf(record.id));
  }
  Status operator()(const InstanceRecord& record) {
    return Copy(record.offset, 1 + kInstanceHeadBytes + record.values.size(), StackOf(record.id));
  }
  Status operator()(const ArrayRecord& record) {
    const size_t head = record.type == Type::kObject ? kObjectArrayHeadBytes : kPrimitiveArrayHeadBytes;
    return Copy(record.offset, 1 + head + uint64_t{record.length} * TypeBytes(record.type), StackOf(record.id));
  }

 private:
  uint32_t StackOf(uint64_t id) {
    const std::optional<uint32_t> site = (*site_of_)(id);
    if (!site) return 0;
    out_->objects++;
    return stacks_->Of(*site);
  }
  Status Copy(uint64_t offset, uint64_t size, uint32_t stack) {
    writer_->HeapRecord(dump_->bytes().subspan(offset, size), stack);
    return {};
  }

  const HprofReader* dump_;
  HprofWriter* writer_;
  SiteStacks* stacks_;
  const SiteOf* site_of_;
  Annotated* out_;
};

}  // namespace

trace::Result<Annotated> Annotate(const HprofReader& dump, const analyzer::Definitions& definitions,
                                  const std::vector<uint32_t>& sites, const Copier::SiteOf& site_of,
                                  const std::string& path, bool force) {
  auto created = HprofWriter::Create(path, force);
  if (!created.ok()) return created.status();
  HprofWriter& writer = **created;
  writer.Header(dump.bytes().first(dump.header_bytes()));
  writer.StartAfter(dump.last_string(), dump.last_frame(), dump.last_stack());
  dump.ForEachRecord([&](const HprofReader::Record& record) {
    if (!record.heap() && record.tag != Tag::kHeapDumpEnd)
      writer.Record(dump.bytes().subspan(record.offset, kRecordHeadBytes + record.body.size()));
  });
  std::unordered_map<std::string, uint32_t> serials;
  for (const LoadedClass& each : dump.classes()) serials.emplace(SourceName(each.name), each.serial);
  SiteStacks stacks(writer, definitions, [&](const std::string& name) {
    const auto found = serials.find(name);
    return found == serials.end() ? 0 : found->second;
  });
  for (const uint32_t site : sites) stacks.Of(site);
  Annotated annotated{0, sites.size()};
  Copier copier(dump, writer, stacks, site_of, &annotated);
  Status status = dump.ForEach(copier);
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  return annotated;
}

}  // namespace anttracks::hprof
