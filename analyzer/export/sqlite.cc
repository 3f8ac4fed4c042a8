// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <string_view>

namespace anttracks::analyzer {
namespace {

using trace::Status;

constexpr const char* kSchema = R"sql(
PRAGMA user_version = 1;
CREATE TABLE process (  -- one row
  trace TEXT PRIMARY KEY,  -- the trace's id; the same in all tables
  pid INTEGER, command TEXT, vm TEXT, vm_flags TEXT, options TEXT,
  started TEXT,  -- UTC
  started_ns INTEGER,  -- since 1970
  duration_ns INTEGER,
  basis TEXT,  -- of what was allocated: exact; incomplete: more was, see notes; share or samples: estimates; census:
               -- not known. What is live is an estimate with samples
  live TEXT  -- the moment at which it was
) WITHOUT ROWID;
CREATE TABLE labels (trace TEXT, name TEXT, value TEXT, PRIMARY KEY (trace, name)) WITHOUT ROWID;
CREATE TABLE notes (trace TEXT, note TEXT);  -- what qualifies the numbers
CREATE TABLE gcs (
  trace TEXT, gc INTEGER, kind TEXT, cause TEXT,
  start_ns INTEGER,  -- since the start of the trace
  duration_ns INTEGER,
  used_before INTEGER, used_after INTEGER,  -- bytes in all spaces
  moved_objects INTEGER, moved_bytes INTEGER, died_objects INTEGER, died_bytes INTEGER,
  live_objects INTEGER, live_bytes INTEGER,
  exact INTEGER,  -- 0: not all objects were known
  PRIMARY KEY (trace, gc)
) WITHOUT ROWID;
CREATE TABLE censuses (  -- of a trace of censuses, which has no gcs
  trace TEXT, gc INTEGER,  -- the collection that it follows
  kind TEXT,
  old_space INTEGER,  -- 0: what is dead in the old space is counted, too
  time_ns INTEGER,  -- since the start of the trace
  count_ns INTEGER,  -- how long the counting took
  allocated_bytes INTEGER,  -- by the whole program since the first collection
  live_objects INTEGER, live_bytes INTEGER,
  PRIMARY KEY (trace, gc)
) WITHOUT ROWID;
CREATE TABLE spaces (  -- all of one kind together; bytes. Of a census what is used after the collection
  trace TEXT, gc INTEGER, space TEXT, used_before INTEGER, used_after INTEGER, capacity INTEGER,
  PRIMARY KEY (trace, gc, space)
) WITHOUT ROWID;
CREATE TABLE classes (trace TEXT, class INTEGER, name TEXT, PRIMARY KEY (trace, class)) WITHOUT ROWID;
CREATE TABLE sites (  -- places in the code: those that allocate, and those that call them
  trace TEXT, site INTEGER, name TEXT, class TEXT, method TEXT, file TEXT, line INTEGER,
  PRIMARY KEY (trace, site)
) WITHOUT ROWID;
CREATE TABLE threads (
  trace TEXT, thread INTEGER, name TEXT, java_name TEXT, java_id INTEGER, os_id INTEGER,
  PRIMARY KEY (trace, thread)
) WITHOUT ROWID;
CREATE TABLE allocations (  -- over the whole trace (of censuses: NULL), and what of it is live
  trace TEXT, site INTEGER, class INTEGER, thread INTEGER,
  objects INTEGER, bytes INTEGER, live_objects INTEGER, live_bytes INTEGER,
  PRIMARY KEY (trace, site, class, thread)
) WITHOUT ROWID;
CREATE TABLE stacks (  -- depth 0: the site that allocates; 1: its caller
  trace TEXT, stack INTEGER, depth INTEGER, site INTEGER,
  PRIMARY KEY (trace, stack, depth)
) WITHOUT ROWID;
CREATE TABLE stack_allocations (  -- the same bytes as in allocations, split among the stacks of each site by samples
  trace TEXT, stack INTEGER, class INTEGER,
  objects INTEGER, bytes INTEGER, live_objects INTEGER, live_bytes INTEGER,
  PRIMARY KEY (trace, stack, class)
) WITHOUT ROWID;
CREATE VIEW named_allocations AS
  SELECT trace, sites.name AS site, classes.name AS class, threads.name AS thread,
         objects, bytes, live_objects, live_bytes
  FROM allocations JOIN sites USING (trace, site) JOIN classes USING (trace, class) JOIN threads USING (trace, thread);
)sql";

// The first error is kept; after it nothing is done.
class Database {
 public:
  Database() {
    sqlite3* opened = nullptr;
    error_ = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    database_.reset(opened);
  }

  void Run(const char* sql) { Check(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr)); }
  std::string Serialized() {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
        error_ == SQLITE_OK ? sqlite3_serialize(database_.get(), "main", &size, 0) : nullptr, &sqlite3_free);
    if (bytes == nullptr) {
      Check(SQLITE_NOMEM);
      return "";
    }
    return {reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size)};
  }
  void Check(int result) {
    if (error_ == SQLITE_OK && result != SQLITE_DONE) error_ = result;
  }
  Status status() const {
    return error_ == SQLITE_OK ? Status() : Status::Error(fmt::format("SQLite: {}", sqlite3_errstr(error_)));
  }
  bool ok() const { return error_ == SQLITE_OK; }
  sqlite3* get() const { return database_.get(); }

 private:
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_{nullptr, &sqlite3_close};
  int error_ = SQLITE_OK;
};

// Rows of one table, each beginning with the trace's id.
class Rows {
 public:
  Rows(Database& database, std::string_view table, size_t columns, std::string trace)
      : database_(database), trace_(std::move(trace)) {
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (size_t i = 1; i < columns; i++) sql += ", ?";
    sql += ")";
    sqlite3_stmt* prepared = nullptr;
    if (database_.ok())
      database_.Check(sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr));
    statement_.reset(prepared);
  }

  template <class... Cells>
  void Add(const Cells&... cells) {
    if (!database_.ok()) return;
    int at = 1;
    Bind(at++, std::string_view(trace_));
    (Bind(at++, cells), ...);
    database_.Check(sqlite3_step(statement_.get()));
    database_.Check(sqlite3_reset(statement_.get()));
    database_.Check(sqlite3_clear_bindings(statement_.get()));
  }

 private:
  // The text must live until the row is added.
  void Bind(int at, std::string_view text) {
    database_.Check(
        sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void Bind(int at, std::integral auto number) {
    const auto most = static_cast<uint64_t>(INT64_MAX);
    const auto bound = std::min(static_cast<uint64_t>(number), most);
    database_.Check(sqlite3_bind_int64(statement_.get(), at, static_cast<sqlite3_int64>(bound)));
  }
  void Bind(int at, std::optional<uint64_t> number) { number ? Bind(at, *number) : Bind(at, nullptr); }
  void Bind(int at, std::nullptr_t) { database_.Check(sqlite3_bind_null(statement_.get(), at)); }

  Database& database_;
  const std::string trace_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_{nullptr, &sqlite3_finalize};
};

class Writer {
 public:
  explicit Writer(const ExportProfile& profile) : profile_(profile), trace_(profile.process.TraceId()) {}

  trace::Result<std::string> Bytes(const ExportTimeline& timeline) {
    database_.Run(kSchema);
    database_.Run("BEGIN");
    Process();
    Gcs(timeline.gcs);
    Censuses(timeline.censuses);
    Names();
    Stacks();
    Allocations();
    database_.Run("COMMIT");
    std::string bytes = database_.Serialized();
    if (!database_.ok()) return database_.status();
    return bytes;
  }

 private:
  Rows Table(std::string_view name, size_t columns) { return {database_, name, columns, trace_}; }

  void Process() {
    const ExportProcess& process = profile_.process;
    Table("process", 11)
        .Add(process.pid, process.command, process.vm, process.vm_flags, process.options, process.Started(),
             process.started_ns, process.duration_ns, BasisText(profile_.basis), profile_.moment);
    Rows labels = Table("labels", 3), notes = Table("notes", 2);
    for (const ExportLabel& label : process.labels) labels.Add(label.name, label.value);
    for (const std::string& note : profile_.notes) notes.Add(note);
  }
  void Gcs(const std::vector<ExportGc>& gcs) {
    Rows rows = Table("gcs", 15), spaces = Table("spaces", 6);
    for (const ExportGc& gc : gcs) {
      const uint64_t duration = gc.end_ns - std::min(gc.begin_ns, gc.end_ns);
      if (gc.kind.empty()) {
        rows.Add(gc.id, nullptr, nullptr, gc.begin_ns, duration);
        continue;
      }
      rows.Add(gc.id, gc.kind, gc.cause, gc.begin_ns, duration, gc.used_before, gc.used_after, gc.moved.objects,
               gc.moved.bytes, gc.died.objects, gc.died.bytes, gc.live.objects, gc.live.bytes, gc.exact);
      for (const ExportSpace& space : gc.spaces)
        spaces.Add(gc.id, space.name, space.used_before, space.used_after, space.capacity);
    }
  }
  void Censuses(const std::vector<ExportCensus>& censuses) {
    Rows rows = Table("censuses", 9), spaces = Table("spaces", 6);
    for (const ExportCensus& census : censuses) {
      rows.Add(census.gc, census.kind, census.old_space, census.time_ns, census.count_ns,
               census.allocated_bytes, census.counted.objects, census.counted.bytes);
      for (const auto& [name, used] : census.spaces) spaces.Add(census.gc, name, nullptr, used, nullptr);
    }
  }
  // Of what was allocated; none, if it is not known.
  std::optional<uint64_t> Known(uint64_t allocated) const {
    return profile_.allocated() ? std::optional(allocated) : std::nullopt;
  }
  void Names() {
    Rows classes = Table("classes", 3), sites = Table("sites", 7), threads = Table("threads", 6);
    for (size_t i = 0; i < profile_.classes.size(); i++) classes.Add(i, profile_.classes[i]);
    for (size_t i = 0; i < profile_.frames.size(); i++) {
      const ExportFrame& frame = profile_.frames[i];
      if (frame.line < 0) {
        sites.Add(i, frame.text, frame.class_name, frame.method, frame.file, nullptr);
      } else {
        sites.Add(i, frame.text, frame.class_name, frame.method, frame.file, frame.line);
      }
    }
    for (size_t i = 0; i < profile_.threads.size(); i++) {
      const ExportThread& thread = profile_.threads[i];
      threads.Add(i, thread.name, thread.java_name, thread.java_id, thread.os_id);
    }
  }
  void Stacks() {
    Rows stacks = Table("stacks", 4), samples = Table("stack_allocations", 7);
    for (size_t i = 0; i < profile_.stacks.size(); i++) {
      for (size_t depth = 0; depth < profile_.stacks[i].size(); depth++)
        stacks.Add(i, depth, profile_.stacks[i][depth]);
    }
    for (const ExportSample& sample : profile_.samples)
      samples.Add(sample.stack, sample.of_class, Known(sample.allocated.objects), Known(sample.allocated.bytes),
                  sample.live.objects, sample.live.bytes);
  }
  void Allocations() {
    Rows rows = Table("allocations", 8);
    for (const ExportAllocation& each : profile_.allocations)
      rows.Add(each.site, each.of_class, each.thread, Known(each.allocated.objects),
               Known(each.allocated.bytes), each.live.objects, each.live.bytes);
  }

  const ExportProfile& profile_;
  const std::string trace_;
  Database database_;
};

}  // namespace

trace::Result<std::string> SqliteBytes(const ExportProfile& profile, const ExportTimeline& timeline) {
  return Writer(profile).Bytes(timeline);
}

}  // namespace anttracks::analyzer
