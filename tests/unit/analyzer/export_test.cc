// SPDX-License-Identifier: Apache-2.0
// Exports: what the files hold, as a reader of each format finds it, and that no file is lost. Foreign readers
// are in tests/integration/suites/exports.py.
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zlib.h>

#include <map>
#include <memory>
#include <set>

#include "analyzer/export/protobuf.h"
#include "analyzer/passes/block_lives.h"
#include "analyzer/passes/pass.h"
#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/json_output.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/stacks_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

class Folder {
 public:
  Folder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("export-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string At(const std::string& name) const { return (path_ / name).string(); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

CommandResult Export(const std::string& trace, const std::string& format, const std::string& out,
                     const Words& more = {}) {
  const TempFile file(trace);
  Words words{"export", format, file.path(), out};
  words.insert(words.end(), more.begin(), more.end());
  std::ostringstream printed, err;
  const int code = analyzer::Main(words, printed, err, false);
  return {code, Replace(printed.str(), out, "OUT"), Replace(err.str(), out, "OUT")};
}

// The file's contents; it must be written.
std::string Exported(const TraceBuilder& trace, const std::string& format, const Words& more = {}) {
  const Folder folder;
  const CommandResult result = Export(trace.file(), format, folder.At("out"), more);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(folder.files() == 1);
  return Contents(folder.At("out"));
}

std::string Unzipped(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

// A message of protocol buffers: its fields' numbers and texts in their order.
struct Message {
  std::multimap<uint64_t, uint64_t> numbers;
  std::multimap<uint64_t, std::string> texts;

  explicit Message(std::string_view bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      const uint64_t key = Varint(bytes, &at), value = Varint(bytes, &at);
      if ((key & 7) == 0) {
        numbers.emplace(key >> 3, value);
      } else {
        REQUIRE((key & 7) == 2);
        REQUIRE(value <= bytes.size() - at);
        texts.emplace(key >> 3, bytes.substr(at, value));
        at += value;
      }
    }
  }
  static uint64_t Varint(std::string_view bytes, size_t* at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(*at < bytes.size());
      const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  uint64_t Number(uint64_t field) const {
    REQUIRE(numbers.count(field) == 1);
    return numbers.find(field)->second;
  }
  std::vector<std::string> Texts(uint64_t field) const {
    std::vector<std::string> all;
    const auto [from, to] = texts.equal_range(field);
    for (auto each = from; each != to; ++each) all.push_back(each->second);
    return all;
  }
  std::vector<uint64_t> Packed(uint64_t field) const {
    std::vector<uint64_t> all;
    for (const std::string& bytes : Texts(field)) {
      for (size_t at = 0; at < bytes.size();) all.push_back(Varint(bytes, &at));
    }
    return all;
  }
};

// What a reader of pprof sees.
struct Pprof {
  std::vector<std::string> strings, types, comments;
  std::map<uint64_t, std::string> functions, locations;  // locations: "function:line"
  // "leaf;...;root label=value: values"
  std::vector<std::string> samples;
  std::vector<uint64_t> sums = std::vector<uint64_t>(4);
  std::string default_type;

  explicit Pprof(const std::string& gzip) {
    const Message all(Unzipped(gzip));
    strings = all.Texts(6);
    REQUIRE(!strings.empty());
    for (const std::string& type : all.Texts(1)) types.push_back(Pair(type, "/"));
    CHECK(Pair(all.Texts(11).at(0), "/") == "space/bytes");
    default_type = strings.at(all.Number(14));
    const auto [from, to] = all.numbers.equal_range(13);
    for (auto each = from; each != to; ++each) comments.push_back(strings.at(each->second));
    for (const std::string& bytes : all.Texts(5)) {
      const Message function(bytes);
      CHECK(function.Number(1) != 0);
      CHECK(functions.emplace(function.Number(1), strings.at(function.Number(2))).second);
    }
    for (const std::string& bytes : all.Texts(4)) {
      const Message location(bytes), line(location.Texts(4).at(0));
      CHECK(location.Number(1) != 0);
      CHECK(
          locations
              .emplace(location.Number(1), functions.at(line.Number(1)) + ":" + std::to_string(line.Number(2)))
              .second);
    }
    for (const std::string& bytes : all.Texts(2)) Sample(Message(bytes));
  }

 private:
  std::string Pair(const std::string& bytes, const std::string& between) const {
    const Message pair(bytes);
    return strings.at(pair.Number(1)) + between + strings.at(pair.Number(2));
  }
  void Sample(const Message& sample) {
    std::string text;
    for (const uint64_t location : sample.Packed(1)) text += (text.empty() ? "" : ";") + locations.at(location);
    for (const std::string& label : sample.Texts(3)) text += " " + Pair(label, "=");
    const std::vector<uint64_t> values = sample.Packed(2);
    REQUIRE(values.size() == types.size());
    for (size_t i = 0; i < values.size(); i++) {
      text += (i == 0 ? ": " : " ") + std::to_string(values[i]);
      sums[i] += values[i];
    }
    samples.push_back(text);
  }
};

class Database {
 public:
  explicit Database(const std::string& bytes) : bytes_(bytes) {
    REQUIRE(sqlite3_open(":memory:", &database_) == SQLITE_OK);
    REQUIRE(sqlite3_deserialize(database_, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                                static_cast<sqlite3_int64>(bytes_.size()),
                                static_cast<sqlite3_int64>(bytes_.size()),
                                SQLITE_DESERIALIZE_READONLY) == SQLITE_OK);
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Rows, their fields with a bar between.
  Words Rows(const std::string& sql) const {
    Words rows;
    char* error = nullptr;
    const auto add = [](void* to, int columns, char** values, char**) {
      std::string row;
      for (int i = 0; i < columns; i++)
        row += (i == 0 ? "" : "|") + std::string(values[i] ? values[i] : "null");
      static_cast<Words*>(to)->push_back(row);
      return 0;
    };
    const int result = sqlite3_exec(database_, sql.c_str(), add, &rows, &error);
    CAPTURE(std::string(error == nullptr ? "" : error));
    CHECK(result == SQLITE_OK);
    sqlite3_free(error);
    return rows;
  }

 private:
  std::string bytes_;
  sqlite3* database_ = nullptr;
};

TEST_CASE("pprof has the class as leaf, the stacks behind it, four values, and the labels") {
  const Pprof pprof(Exported(StacksTrace(), "pprof", {"--label", "service=web", "--label", "host=a1"}));
  CHECK(pprof.strings[0].empty());
  CHECK(std::set<std::string>(pprof.strings.begin(), pprof.strings.end()).size() == pprof.strings.size());
  CHECK(pprof.types ==
        Words{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"});
  CHECK(pprof.default_type == "alloc_space");
  const std::string labels = " service=web host=a1: ";
  // Objects and bytes of a site are split each by itself, as tree does it: what lives 3 to 1, too.
  CHECK(pprof.samples ==
        Words{"app.Node:0;app.List.add:12;app.Main.run:30;app.Main.main:5" + labels + "4 96 2 36",
              "app.Node:0;app.List.add:12;app.Worker.work:7" + labels + "1 24 0 12",
              "int[]:0;app.Main.run:30;<no stack was sampled>:0" + labels + "2 72 1 56",
              "java.lang.Object:0;java.lang.Object.clone:0;app.Main.run:30;<no stack was sampled>:0" + labels +
                  "1 16 0 0"});
  CHECK(pprof.comments ==
        Words{"command: Main 1", "process: 4711", "trace: 1122334455667788", "VM: 17.0.19",
              "in use: at the end of the trace, 2.00 ms", "service=web", "host=a1",
              "how the bytes of a site split among its callers is estimated from sampled stacks"});
}

TEST_CASE("the totals of pprof are those of tree and sites") {
  const std::string trace = StacksTrace().file();
  const Pprof pprof(Exported(StacksTrace(), "pprof"));
  const nlohmann::json tree = Json(trace, {"tree"}), live = Json(trace, {"tree", "--live"});
  CHECK(pprof.sums == std::vector<uint64_t>{tree["objects"], tree["bytes"], live["objects"], live["bytes"]});
  const Pprof after_gc(Exported(SmallTrace(), "pprof", {"--gc", "0"}));
  const nlohmann::json then = Json(SmallTrace().file(), {"tree", "--live", "--gc", "0"});
  CHECK(after_gc.sums[2] == then["objects"]);
  CHECK(after_gc.sums[3] == then["bytes"]);
}

TEST_CASE("a selection chooses what is exported") {
  CHECK(Pprof(Exported(StacksTrace(), "pprof", {"--where", "class=Node"})).sums ==
        std::vector<uint64_t>{5, 120, 2, 48});
  CHECK(Pprof(Exported(StacksTrace(), "pprof", {"--from", "0"})).samples ==
        Words{"app.Node:0;app.List.add:12;app.Worker.work:7: 1 24 1 24"});
}

TEST_CASE("estimates are marked in pprof, and are those of tree") {
  const Pprof samples(Exported(SampledTrace(), "pprof"));
  CHECK(samples.sums[1] == Json(SampledTrace().file(), {"tree"})["bytes"]);
  CHECK(samples.comments.back().find("estimates from 5 samples") == 0);
  const Pprof share(Exported(SkippedTrace(), "pprof"));
  CHECK(share.sums[1] == Json(SkippedTrace().file(), {"tree"})["bytes"]);
  CHECK(share.comments.back().find("were skipped; a range is") != std::string::npos);
}

TEST_CASE("an export says what it wrote") {
  const Folder folder;
  const CommandResult result =
      Export(StacksTrace().file(), "pprof", folder.At("app.pb.gz"), {"--label", "service=web"});
  CHECK(Replace(result.out, "OUT", "app.pb.gz") ==
        R"(wrote app.pb.gz: allocated 8 objects, 208 B; live at the end of the trace, 2.00 ms: 3 objects, 104 B
)");
  CHECK(result.err ==
        "note: how the bytes of a site split among its callers is estimated from sampled stacks\n");
}

TEST_CASE("collapsed stacks are those of tree") {
  CHECK(Exported(StacksTrace(), "collapsed") == Anttracks(StacksTrace().file(), {"tree", "--collapsed"}).out);
}

TEST_CASE("the flat table repeats labels and process in each row") {
  const std::string same = "\"a,b\",1122334455667788,4711,Main 1,2023-11-14T22:13:20.000Z,2000000,exact,";
  CHECK(Exported(StacksTrace(), "csv", {"--label", "service=a,b"}) ==
        "service,trace,pid,command,started,duration_ns,basis,class,site,method,file,line,thread,objects,bytes,"
        "live_objects,live_bytes\n" +
            same + "app.Node,app.List.add(List.java:12),app.List.add,List.java,12,main (1),4,96,1,24\n" + same +
            "app.Node,app.List.add(List.java:12),app.List.add,List.java,12,worker (2),1,24,1,24\n" + same +
            "int[],app.Main.run(Main.java:30),app.Main.run,Main.java,30,main (1),1,56,1,56\n" + same +
            "int[],app.Main.run(Main.java:30),app.Main.run,Main.java,30,worker (2),1,16,0,0\n" + same +
            "java.lang.Object,java.lang.Object.clone(Native Method),java.lang.Object.clone,,,worker "
            "(2),1,16,0,0\n");
}

TEST_CASE("the database has the totals of sites in allocations and in stacks") {
  const Database database(Exported(StacksTrace(), "sqlite", {"--label", "service=web"}));
  CHECK(database.Rows("SELECT trace, pid, command, started, duration_ns, basis, live FROM process") ==
        Words{"1122334455667788|4711|Main 1|2023-11-14T22:13:20.000Z|2000000|exact|at the end of the trace, "
              "2.00 ms"});
  CHECK(database.Rows("SELECT name, value FROM labels") == Words{"service|web"});
  const Words by_class{"app.Node|5|120|2|48", "int[]|2|72|1|56", "java.lang.Object|1|16|0|0"};
  const std::string sums = "sum(objects), sum(bytes), sum(live_objects), sum(live_bytes)";
  CHECK(database.Rows("SELECT class, " + sums + " FROM named_allocations GROUP BY class ORDER BY class") ==
        by_class);
  CHECK(
      database.Rows("SELECT name, " + sums +
                    " FROM stack_allocations JOIN classes USING (trace, class) GROUP BY name ORDER BY name") ==
      by_class);
  CHECK(database.Rows(
            "SELECT group_concat(name, ' <- ') FROM (SELECT * FROM stacks JOIN sites USING (trace, site) "
            "ORDER BY trace, stack, depth) GROUP BY stack ORDER BY 1") ==
        Words{"app.List.add(List.java:12) <- app.Main.run(Main.java:30) <- app.Main.main(Main.java:5)",
              "app.List.add(List.java:12) <- app.Worker.work(Worker.java:7)",
              "app.Main.run(Main.java:30) <- <no stack was sampled>",
              "java.lang.Object.clone(Native Method) <- app.Main.run(Main.java:30) <- <no stack was sampled>"});
}

TEST_CASE("the database has the collections with their spaces") {
  const Database database(Exported(SmallTrace(), "sqlite"));
  CHECK(database.Rows("SELECT gc, kind, cause, start_ns, duration_ns, used_before, used_after, died_objects, "
                      "live_objects, exact FROM gcs ORDER BY gc") ==
        Words{"0|young|Allocation Failure|5000|4000|664|264|4|6|1",
              "1|full|System.gc()|20000|1500000|360|240|5|5|1"});
  CHECK(database.Rows("SELECT gc, space, used_before, used_after, capacity FROM spaces WHERE gc = 0") ==
        Words{"0|eden|528|0|1048576", "0|old|136|192|6291456", "0|survivor|0|72|1048576"});
  const Database samples(Exported(SampledTrace(), "sqlite"));
  CHECK(samples.Rows("SELECT gc, kind, start_ns, duration_ns, live_bytes FROM gcs") ==
        Words{"0|null|5000|4000|null", "1|null|20000|2000|null"});
  CHECK(samples.Rows("SELECT basis FROM process") == Words{"samples"});
  CHECK(samples.Rows("SELECT count(*) FROM notes WHERE note LIKE 'estimates from%'") == Words{"1"});
}

TEST_CASE("the points of DHAT add up, and no maximum is above what was allocated") {
  const nlohmann::json dhat = nlohmann::json::parse(Exported(SmallTrace(), "dhat"));
  CHECK(dhat["dhatFileVersion"] == 2);
  CHECK(dhat["bklt"] == true);
  CHECK(dhat["ftbl"][0] == "[root]");
  std::map<std::string, uint64_t> sums;
  for (const auto& point : dhat["pps"]) {
    for (const char* key : {"tb", "tbk", "mb", "gb", "eb", "ebk"}) sums[key] += point[key].get<uint64_t>();
    CHECK(point["tb"] >= point["mb"]);
    CHECK(point["mb"] >= point["gb"]);
    CHECK(point["mb"] >= point["eb"]);
    CHECK(!point["fs"].empty());
    for (const auto& frame : point["fs"]) CHECK(frame.get<size_t>() < dhat["ftbl"].size());
  }
  const nlohmann::json sites = Json(SmallTrace().file(), {"sites"});
  CHECK(sums["tb"] == sites["bytes"]);
  CHECK(sums["tbk"] == sites["objects"]);
  // At the end: three Nodes after the full collection, an int[10], and one Node more.
  CHECK(sums["ebk"] == 5);
  CHECK(sums["eb"] == 152);
}

TEST_CASE("lifetimes end at the collection that finds an object dead, or with the trace") {
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  TempFile file(SmallTrace().file());
  auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE(reader.ok());
  analyzer::BlockLives lives(definitions, problems);
  analyzer::Pass<analyzer::BlockLives>(**reader, definitions, problems, lives).Run();
  lives.Finish(2'000'000);
  // Of the inlined List.add: one Node, allocated at 2,000 and dead at the collection of 5,000.
  CHECK(lives.sums().at(5).lived_ns == 3000);
  CHECK(lives.sums().at(5).live.objects == 0);
  // int[10] lives from 2,000 to the end, int[0] from 3,000 until the collection of 5,000.
  CHECK(lives.sums().at(2).lived_ns == 2'000'000);
  // The Object, from 3,000: in collection 0 it survived, in collection 1, at 20,000, it died.
  CHECK(lives.sums().at(6).lived_ns == 17'000);
  CHECK(lives.sums().at(6).most.objects == 1);
}

TEST_CASE("DHAT has no lifetimes where not every object was seen") {
  const Folder folder;
  for (const TraceBuilder& trace : {SampledTrace(), SkippedTrace()}) {
    const CommandResult result = Export(trace.file(), "dhat", folder.At("out"), {"-f"});
    CHECK(result.code == 0);
    CHECK(result.err.find("lifetimes and maxima are left out") != std::string::npos);
    const nlohmann::json dhat = nlohmann::json::parse(Contents(folder.At("out")));
    CHECK(dhat["bklt"] == false);
    CHECK(!dhat["pps"][0].contains("mb"));
    uint64_t bytes = 0;
    for (const auto& point : dhat["pps"]) bytes += point["tb"].get<uint64_t>();
    CHECK(bytes == Json(trace.file(), {"tree"})["bytes"]);
  }
}

// Slices and counters of a timeline: "5000 heap used 664".
Words TimelineEvents(const std::string& bytes_of_all) {
  const Message all(bytes_of_all);
  std::map<uint64_t, std::string> tracks;
  Words events;
  for (const std::string& bytes : all.Texts(1)) {
    const Message packet(bytes);
    CHECK(packet.Number(10) == 1);
    for (const std::string& track : packet.Texts(60)) {
      const Message descriptor(track);
      if (!descriptor.Texts(2).empty()) tracks[descriptor.Number(1)] = descriptor.Texts(2)[0];
    }
    for (const std::string& of : packet.Texts(11)) {
      const Message event(of);
      const std::string time = std::to_string(packet.Number(8)) + " ";
      switch (event.Number(9)) {
        case 1:
          events.push_back(time + event.Texts(23).at(0));
          break;
        case 2:
          events.push_back(time + "end");
          break;
        case 4:
          events.push_back(time + tracks.at(event.Number(11)) + " " + std::to_string(event.Number(30)));
          break;
        default:
          CHECK(of.find("trace begins") != std::string::npos);
      }
    }
  }
  return events;
}

TEST_CASE("a timeline has a slice for each collection, and counters before and after it") {
  const std::string bytes = Exported(SmallTrace(), "perfetto", {"--label", "service=web"});
  CHECK(bytes.find("label service") != std::string::npos);
  const Words events = TimelineEvents(bytes);
  CHECK(Words(events.begin(), events.begin() + 10) ==
        Words{"5000 heap used 664", "5000 eden used 528", "5000 survivor used 0", "5000 old used 136",
              "5000 young: Allocation Failure", "9000 end", "9000 heap used 264", "9000 eden used 0",
              "9000 survivor used 72", "9000 old used 192"});
  CHECK(events.size() == 20);
}

TEST_CASE("a timeline of censuses has what each counted, and what is live only of those that tell") {
  const Words events = TimelineEvents(Exported(CensusTraceFile(1), "perfetto"));
  CHECK(Words(events.begin(), events.begin() + 12) ==
        Words{"1000000 counted bytes 2080", "1000000 counted objects 102", "1000000 survivor used 80",
              "1000000 old used 2080", "1000000 counting", "1000500 end", "2000000 counted bytes 3488",
              "2000000 counted objects 143", "2000000 live bytes 3488", "2000000 live objects 143",
              "2000000 survivor used 80", "2000000 old used 3488"});
  CHECK(events.size() == 20);
}

TEST_CASE("a census is exported without what was allocated, with the totals of heap") {
  const std::string trace = CensusTraceFile(2).file();
  const nlohmann::json heap = Json(trace, {"heap", "--gc", "20"});
  const Pprof pprof(Exported(CensusTraceFile(2), "pprof", {"--gc", "20"}));
  CHECK(pprof.types == Words{"inuse_objects/count", "inuse_space/bytes"});
  CHECK(pprof.default_type == "inuse_space");
  CHECK((pprof.sums[0] == heap["objects"] && pprof.sums[1] == heap["bytes"]));
  CHECK(std::count(pprof.comments.begin(), pprof.comments.end(), "in use: after GC 20 (full), at 3.00 ms") ==
        1);
  CHECK(std::count(pprof.comments.begin(), pprof.comments.end(),
                   "what was allocated was not counted (mode=census)") == 1);
  // Without --gc the last one, as in heap.
  const Pprof last(Exported(CensusTraceFile(2), "pprof"));
  CHECK((last.sums[0] == 3 && last.sums[1] == 480));
  CHECK(Pprof(Exported(CensusTraceFile(2), "pprof", {"--gc", "20", "--where", "class=Node"})).sums[0] == 300);
  CHECK(Exported(CensusTraceFile(2), "collapsed") ==
        "<no stack was sampled>;app.Main.run(Main.java:30);int[] 480\n");
  const std::string csv = Exported(CensusTraceFile(2), "csv", {"--gc", "20"});
  CHECK(csv.find(",census,app.Node,app.List.add(List.java:12),app.List.add,List.java,12,<not recorded>,,,300,"
                 "7200\n") != std::string::npos);
}

TEST_CASE("the database of censuses has each of them, and no numbers of what was allocated") {
  const Database database(Exported(CensusTraceFile(2), "sqlite", {"--gc", "20"}));
  CHECK(database.Rows("SELECT basis, live FROM process") == Words{"census|after GC 20 (full), at 3.00 ms"});
  CHECK(database.Rows("SELECT sum(live_bytes), sum(objects), sum(bytes) FROM named_allocations") ==
        Words{std::to_string((900 + 50 + 6 + 82) * 8) + "|null|null"});
  CHECK(database.Rows(
            "SELECT gc, kind, old_space, time_ns, count_ns, allocated_bytes, live_objects FROM censuses "
            "ORDER BY gc") == Words{"3|young|0|1000000|500|80000|102", "10|full|1|2000000|500|160000|143",
                                    "20|full|1|3000000|500|240000|344", "23|young|0|4500000|500|360000|3"});
  CHECK(database.Rows("SELECT space, used_before, used_after, capacity FROM spaces WHERE gc = 10") ==
        Words{"old|null|3488|null", "survivor|null|80|null"});
  CHECK(database.Rows("SELECT count(*) FROM gcs") == Words{"0"});
}

TEST_CASE("what needs more than a census is not exported, and the message names what can be") {
  const Folder folder;
  const auto error = [&](const Words& words) {
    const CommandResult result =
        Export(CensusTraceFile(2).file(), words[0], folder.At("out"), Words(words.begin() + 1, words.end()));
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK(error({"dhat"}).find("dhat is about lifetimes; pprof, sqlite and csv have what is live") !=
        std::string::npos);
  CHECK(error({"hprof"}).find("a heap dump has each object at its address; pprof, sqlite and csv have") !=
        std::string::npos);
  CHECK(error({"pprof", "--gc", "7"}).find("no census follows collection 7") != std::string::npos);
  CHECK(error({"csv", "--from", "1"}).find("and when, was not recorded") != std::string::npos);
  const CommandResult none = Export(CensusStart().Flush().file(), "pprof", folder.At("out"));
  CHECK((none.code == 1 && none.err.find("there is no census in the trace") != std::string::npos));
  CHECK(folder.files() == 0);
}

TEST_CASE("numbers of protocol buffers take seven bits a byte") {
  const analyzer::ProtoMessage message =
      analyzer::ProtoMessage().Number(1, 300).Text(2, "ab").Number(3, UINT64_MAX);
  CHECK(message.bytes() == std::string("\x08\xAC\x02\x12\x02"
                                       "ab\x18\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
}

TEST_CASE("the heap is exported after a collection or at the end, of a trace of every object only") {
  const Folder folder;
  const std::string out = folder.At("out"), trace = SmallTrace().file();
  CommandResult result = Export(trace, "hprof", out, {"--gc", "0"});
  CHECK(result.code == 0);
  CHECK(result.out == "wrote OUT: heap after GC 0 (young, Allocation Failure), at 9.0 us: 6 objects, 264 B\n");
  CHECK(Contents(out).find("JAVA PROFILE 1.0.2") == 0);
  CHECK(Export(trace, "hprof", out).err == "anttracks: OUT exists already; -f replaces it\n");
  result = Export(trace, "hprof", out, {"-f", "--by-site"});
  CHECK(result.code == 0);
  CHECK(result.out.find("heap at the end of the trace") != std::string::npos);
  CHECK(Contents(out).find("site app.List.add(List.java:12)") != std::string::npos);
  CHECK(Export(SampledTrace().file(), "hprof", folder.At("new")).err.find("a heap dump has every object") !=
        std::string::npos);
  CHECK(Export(trace, "hprof", folder.At("new"), {"--gc", "7"}).code == 2);
  CHECK(Export(trace, "hprof", folder.At("new"), {"--label", "a=b"}).code == 2);
  CHECK(Export(trace, "csv", folder.At("new"), {"--by-site"}).err.find("--by-site is for hprof") !=
        std::string::npos);
  CHECK(folder.files() == 1);
}

TEST_CASE("an export replaces no file without -f, and never a trace") {
  const Folder folder;
  const std::string out = folder.At("out"), trace = StacksTrace().file();
  std::ofstream(out) << "mine";
  CommandResult result = Export(trace, "csv", out);
  CHECK(result.code == 2);
  CHECK(result.err == "anttracks: OUT exists already; -f replaces it\n");
  CHECK(Contents(out) == "mine");
  CHECK(Export(trace, "csv", out, {"-f"}).code == 0);
  std::ofstream(out, std::ios::binary) << trace;
  result = Export(trace, "csv", out, {"-f"});
  CHECK(result.code == 2);
  CHECK(result.err.find("OUT is an AntTracks trace") != std::string::npos);
  CHECK(Contents(out) == trace);
  // A heap dump takes the place of one only, which is told before anything is read.
  std::ofstream(out) << "mine";
  result = Export(SampledTrace().file(), "hprof", out, {"-f"});
  CHECK(result.err == "anttracks: OUT is something else, not a heap dump: give another name, or remove it\n");
}

TEST_CASE("an export that cannot be written leaves nothing") {
  const Folder folder;
  const CommandResult missing = Export(StacksTrace().file(), "pprof", folder.At("no/out"));
  CHECK(missing.code == 2);
  CHECK(missing.err == "anttracks: cannot write OUT: No such file or directory\n");
  const CommandResult device = Export(StacksTrace().file(), "pprof", "/dev/full", {"-f"});
  CHECK(device.code == 2);
  CHECK(device.err.find("OUT is a device") != std::string::npos);
  CHECK(Export(StacksTrace().file(), "pprof", folder.At("out"), {"--gc", "7"}).code == 2);
  CHECK(folder.files() == 0);
}

TEST_CASE("an export says what it does not know") {
  const auto error = [](const std::string& format, const Words& more) {
    const Folder folder;
    const CommandResult result = Export(StacksTrace().file(), format, folder.At("out"), more);
    CHECK(result.code == 2);
    CHECK(folder.files() == 0);
    return result.err;
  };
  CHECK(error("sqlit", {}).find("no 'sqlit'; did you mean 'sqlite'?") != std::string::npos);
  CHECK(error("csv", {"--label", "web"}).find("'web' is no NAME=VALUE") != std::string::npos);
  CHECK(error("csv", {"--label", "1=web"}).find("'1' is no name") != std::string::npos);
  CHECK(error("csv", {"--label", "site=web"}).find("'site' is a column") != std::string::npos);
  CHECK(error("csv", {"--label", "a="}).find("'a' has no value") != std::string::npos);
  CHECK(error("csv", {"--label", "a=1", "--label", "a=2"}).find("'a' is there twice") != std::string::npos);
  CHECK(error("perfetto", {"--gc", "0"}).find("perfetto shows all collections") != std::string::npos);
  CHECK(error("dhat", {"--from", "0"}).find("dhat has the whole trace") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
