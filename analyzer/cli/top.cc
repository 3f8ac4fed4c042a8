// SPDX-License-Identifier: Apache-2.0
// A trace while it is written: what allocates now, what is live after the last collection, pauses, losses.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>

#include "analyzer/attach/open_traces.h"
#include "analyzer/attach/target.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/live_screen.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/report.h"
#include "analyzer/passes/top_sink.h"
#include "trace/reader.h"

namespace anttracks::analyzer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kWindowNs = 5'000'000'000;  // rates are those of the last five seconds of the trace
constexpr int kPollMs = 200;
constexpr size_t kLinesAbove = 4, kRowsAtEnd = 15;

bool IsProcess(const std::string& word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
}

// It exists, and is no zombie.
bool Runs(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(stat, text)) return false;
  const size_t name = text.rfind(") ");
  return name != std::string::npos && name + 2 < text.size() && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

bool SameFile(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Whether the process has the trace open. If that cannot be seen, whether it runs.
bool Writes(pid_t pid, const std::string& trace) {
  if (!Runs(pid)) return false;
  const std::vector<std::string> open = OpenTraces(pid);
  if (open.empty()) return errno == EACCES || errno == EPERM;
  return std::any_of(open.begin(), open.end(), [&](const std::string& path) { return SameFile(path, trace); });
}

// "Attr.visit(Attr.java:7)" of "com.sun.tools.javac.comp.Attr.visit(Attr.java:7)"
std::string WithoutPackage(const std::string& name) {
  size_t at = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', at)) {
    const std::string_view part = std::string_view(name).substr(at, dot - at);
    const bool package = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
    });
    if (!package) break;
    at = dot + 1;
  }
  return name.substr(at);
}

enum class Order { kRate, kLive };

// Rows of site and class, with the numbers of this moment.
class TopTable {
 public:
  explicit TopTable(TopSink& sink) : sink_(&sink) {}

  // Takes the present numbers.
  void Update() {
    const uint64_t now = sink_->time_ns();
    if (moments_.empty() || moments_.back().time_ns < now)
      moments_.push_back({now, sink_->allocated(), sink_->skipped_words()});
    while (moments_.size() > 2 && moments_[1].time_ns + kWindowNs <= now) moments_.pop_front();
    if (sink_->epoch() == live_epoch_ && !live_.empty()) return;
    live_ = sink_->Live();
    live_epoch_ = sink_->epoch();
  }

  double seconds() const {
    return moments_.empty() ? 0 : static_cast<double>(moments_.back().time_ns - moments_.front().time_ns) / 1e9;
  }
  bool estimated() const { return sink_->skipped_words() != 0; }
  // Of the whole program.
  double bytes_per_second() const {
    if (seconds() == 0) return 0;
    const auto [read, skipped] = Words();
    return static_cast<double>(InBytes(read + skipped)) / seconds();
  }
  HeapTotals live() const {
    HeapTotals all;
    for (uint32_t shape = 0; shape < live_.size(); shape++) all.Add(Of(shape, live_[shape]));
    return all;
  }
  // brief: names without packages, for which a line has room.
  Report ToReport(Order order, bool brief) const;

 private:
  struct Moment {
    uint64_t time_ns = 0;
    std::vector<uint64_t> allocated;
    uint64_t skipped_words = 0;
  };
  struct Row {
    HeapTotals made, live;
  };
  const ObjectShapes& shapes() const { return sink_->definitions().shapes(); }
  HeapTotals Of(uint32_t shape, uint64_t objects) const { return {objects, objects * shapes().words(shape)}; }
  uint64_t Made(uint32_t shape) const {
    const auto at = [&](const Moment& moment) {
      return shape < moment.allocated.size() ? moment.allocated[shape] : 0;
    };
    return moments_.empty() ? 0 : at(moments_.back()) - at(moments_.front());
  }
  // Words that were read, and skipped ones, within the window.
  std::pair<uint64_t, uint64_t> Words() const {
    if (moments_.empty()) return {0, 0};
    uint64_t read = 0;
    for (uint32_t shape = 0; shape < moments_.back().allocated.size(); shape++)
      read += Of(shape, Made(shape)).words;
    return {read, moments_.back().skipped_words - moments_.front().skipped_words};
  }
  std::map<std::pair<std::string, std::string>, Row> Rows() const {
    std::map<std::pair<std::string, std::string>, Row> rows;
    const Definitions& definitions = sink_->definitions();
    const size_t count = std::max(live_.size(), moments_.empty() ? 0 : moments_.back().allocated.size());
    for (uint32_t shape = 0; shape < count; shape++) {
      const HeapTotals made = Of(shape, Made(shape));
      const HeapTotals live = shape < live_.size() ? Of(shape, live_[shape]) : HeapTotals();
      if (made.objects == 0 && live.objects == 0) continue;
      const SiteClass& pair = definitions.site_class_of_shape(shape);
      Row& row = rows[{ClassLabel(definitions, pair.class_id), SiteLabel(definitions, pair.site)}];
      row.made.Add(made);
      row.live.Add(live);
    }
    return rows;
  }

  TopSink* sink_;
  std::deque<Moment> moments_;
  std::vector<uint64_t> live_;
  uint32_t live_epoch_ = UINT32_MAX;
};

Report TopTable::ToReport(Order order, bool brief) const {
  const auto [read, skipped] = Words();
  // What was not read is taken to be as what was.
  const double whole = read == 0 ? 1 : static_cast<double>(read + skipped) / static_cast<double>(read);
  const double per_second = seconds() == 0 ? 0 : whole / seconds();
  const Accuracy accuracy = estimated() ? Accuracy::kEstimate : Accuracy::kExact;
  const auto rate = [&](uint64_t number) -> Value {
    const double value = static_cast<double>(number) * per_second;
    if (estimated()) return Estimated{value, value, value};
    return Rounded(value);
  };
  Report report;
  report.columns = {
      {.key = "bytes_per_second", .title = "Bytes/s", .unit = Unit::kRoundedBytes, .accuracy = accuracy},
      {.key = "objects_per_second", .title = "Objects/s", .unit = Unit::kCount, .accuracy = accuracy},
      {.key = "live_bytes", .title = "Live bytes", .unit = Unit::kRoundedBytes},
      {.key = "live_objects", .title = "Live objects", .unit = Unit::kCount},
      {.key = "class", .title = "Class"},
      {.key = "site", .title = "Site"}};
  const auto rows = Rows();
  std::vector<const std::pair<const std::pair<std::string, std::string>, Row>*> sorted;
  for (const auto& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) {
    return order == Order::kRate ? a->second.made.words > b->second.made.words
                                 : a->second.live.words > b->second.live.words;
  });
  for (const auto* row : sorted) {
    const auto& [class_name, site] = row->first;
    report.rows.push_back({Cell(rate(row->second.made.bytes())), Cell(rate(row->second.made.objects)),
                           row->second.live.bytes(), row->second.live.objects,
                           brief ? WithoutPackage(class_name) : class_name,
                           brief ? WithoutPackage(site) : site});
  }
  return report;
}

class Top {
 public:
  Top(Session& session, const TopArguments& arguments, trace::TraceReader& reader, pid_t pid)
      : session_(session),
        arguments_(arguments),
        reader_(reader),
        pid_(pid),
        sink_(definitions_, problems_),
        table_(sink_),
        screen_(OpenTerminal()) {
    if (!screen_) screen_ = PlainLines(session.out);
  }

  int Run() {
    PassOptions options{.stop_at_damage = false};
    options.progress = [this](uint64_t done, uint64_t total) { Progress(done, total); };
    options.more = [this] { return More(); };
    const PassSummary summary =
        Pass<TopSink>(reader_, definitions_, problems_, sink_, std::move(options)).Run();
    screen_.reset();
    if (!summary.fatal.ok()) return session_.Unreadable(summary.fatal);
    table_.Update();
    session_.out << Status() << "\n";
    const std::string table = Rows(table_.ToReport(order_, false), kRowsAtEnd);
    if (!table.empty()) session_.out << "\n" << table;
    session_.out << "\n" << Why(summary) << "\n";
    if (problems_.count(ProblemKind::kSequenceGap) != 0)
      session_.err
          << "note: data files were deleted before they were read; what they held is not in the rates\n";
    if (problems_.count(ProblemKind::kDamagedChunk) == 0) return kExitFine;
    session_.err << "warning: the trace is damaged: " << summary.damage << "\n";
    return kExitDamaged;
  }

 private:
  // While the trace is read from its beginning.
  void Progress(uint64_t done, uint64_t total) {
    behind_ = total > done ? total - done : 0;
    if (Clock::now() >= next_) Draw(0);
  }
  // At the end of what is written.
  bool More() {
    behind_ = 0;
    for (bool last = false;; last = !Writes(pid_, reader_.files()[0].path)) {
      if (reader_.Refresh()) return true;
      if (last || quit_) return false;
      Draw(kPollMs);
      if (quit_) return false;
    }
  }
  void Draw(int wait_ms) {
    const int key = screen_->Wait(wait_ms);
    if (key == 'q' || key == 'Q') {
      quit_ = true;
      sink_.Stop();
    }
    if (key == 'a' || key == 'l') order_ = key == 'a' ? Order::kRate : Order::kLive;
    if (Clock::now() < next_ && key == LiveScreen::kNone) return;
    next_ = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(arguments_.interval * 1000));
    table_.Update();
    screen_->Show(Status(), Lines());
  }

  // Without the line that says how many there are more.
  static std::string Rows(const Report& report, size_t most) {
    std::string text = TableText(report, most);
    text.resize(text.size() - LeftOut(report.rows.size(), Shown(report.rows.size(), most)).size());
    return text;
  }
  std::string Status() const {
    const std::string about = table_.estimated() ? "~" : "";
    std::string text = Duration(sink_.time_ns()) + ": ";
    // First, since a narrow screen cuts the line.
    if (sink_.losses() != 0) text += fmt::format("LOST EVENTS {}; ", Plural(sink_.losses(), "time"));
    if (behind_ > kMuch) text += fmt::format("reading, {} to go; ", Bytes(behind_));
    text += fmt::format("allocates {}{}/s", about, Bytes(Rounded(table_.bytes_per_second())));
    if (sink_.gcs().empty()) {
      text += "; no collection yet";
    } else {
      const GcRecord& gc = sink_.gcs().back();
      const HeapTotals live = table_.live();
      text += fmt::format("; {} in {} after GC {} ({}, {}){}; {} in {}", Bytes(live.bytes()),
                          Plural(live.objects, "object"), gc.id, GcLabel(gc.kind),
                          Duration(gc.end_ns - gc.begin_ns), Caveat(sink_.state()),
                          Plural(sink_.gcs().size(), "collection"), Duration(sink_.pauses_ns()));
    }
    return text;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines{fmt::format("{}; rates are those of the last {:.0f} s of the trace",
                                               reader_.files()[0].path, static_cast<double>(kWindowNs) / 1e9),
                                   "q: end   a: by allocation   l: by what is live", ""};
    const size_t room = screen_->rows() > kLinesAbove + 2 ? screen_->rows() - kLinesAbove - 2 : 1;
    std::istringstream table(Rows(table_.ToReport(order_, true), room));
    for (std::string line; std::getline(table, line);) lines.push_back(line);
    return lines;
  }
  std::string Why(const PassSummary& summary) const {
    if (quit_) return "left at your request; the trace goes on";
    if (summary.ended) return fmt::format("the trace has ended ({})", Printable(sink_.end_reason()));
    return fmt::format("process {} does not write the trace any more, which has no end record", pid_);
  }

  static constexpr uint64_t kMuch = 1 << 20;

  Session& session_;
  const TopArguments& arguments_;
  trace::TraceReader& reader_;
  const pid_t pid_;
  Problems problems_;
  Definitions definitions_{problems_};
  TopSink sink_;
  TopTable table_;
  std::unique_ptr<LiveScreen> screen_;
  Order order_ = Order::kRate;
  Clock::time_point next_{};
  uint64_t behind_ = 0;
  bool quit_ = false;
};

// Sets the file and the process that writes it. An exit code, with a message: there is none.
std::optional<int> FindTrace(Session& session, const std::string& word, pid_t* pid) {
  if (!IsProcess(word)) {
    session.files = {word};
    return std::nullopt;
  }
  *pid = static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10));
  if (word.size() > 9 || !Runs(*pid)) {
    session.err << "anttracks: there is no process " << word << "; a trace whose name is a number is ./" << word
                << "\n";
    return kExitNoProcess;
  }
  const std::vector<std::string> traces = OpenTraces(*pid);
  if (traces.size() == 1) {
    session.files = traces;
    return std::nullopt;
  }
  if (traces.empty() && errno != 0) {
    session.err << "anttracks: the files of process " << word << " cannot be seen: " << std::strerror(errno)
                << "; ask as its user or as root, or name the trace\n";
    return kExitOtherUser;
  }
  session.err << "anttracks: process " << word << " writes "
              << (traces.empty() ? "no trace; anttracks attach " + word + " begins one\n"
                                 : "several traces, name one of them:\n");
  for (const std::string& trace : traces) session.err << "  " << trace << "\n";
  return traces.empty() ? int{kExitNotLoaded} : int{kExitUsage};
}

}  // namespace

int RunTop(Session& session, const TopArguments& arguments) {
  pid_t pid = 0;
  if (const auto exit = FindTrace(session, arguments.what, &pid)) return *exit;
  session.read_ahead = false;
  if (!session.Open()) return kExitUnreadable;
  if (session.sampled) return session.NotInSamples("top shows the heap after each collection");
  if (session.census) return session.NotInCensuses("top shows what is allocated; 'anttracks gcs' has censuses");
  auto* const reader = dynamic_cast<trace::TraceReader*>(session.reader.get());
  if (reader == nullptr) return kExitUnreadable;
  if (pid == 0) pid = static_cast<pid_t>(reader->files()[0].process_id);
  return Top(session, arguments, *reader, pid).Run();
}

}  // namespace anttracks::analyzer
