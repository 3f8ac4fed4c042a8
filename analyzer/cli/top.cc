// SPDX-License-Identifier: Apache-2.0
// A trace while it is written, at a terminal or in plain lines.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <ostream>
#include <sstream>
#include <utility>

#include "analyzer/attach/open_traces.h"
#include "analyzer/attach/target.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/live_screen.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/top_view.h"
#include "trace/reader.h"

namespace anttracks::analyzer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 200;
constexpr size_t kLinesOfTable = 2, kRowsAtEnd = 15;  // that have no row

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

// In lines of less than so many characters, if a semicolon is where they may end; 0: in one line.
std::vector<std::string> Wrapped(const std::string& text, size_t characters) {
  std::vector<std::string> lines{""};
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find("; ", at);
    end = end == std::string::npos ? text.size() : end + 2;
    const bool fits = characters == 0 || lines.back().size() + (end - at) <= characters;
    if (!fits && !lines.back().empty()) lines.emplace_back();
    lines.back() += text.substr(at, end - at);
    at = end;
  }
  return lines;
}

Clock::time_point NextTime(const TopArguments& arguments) {
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(arguments.interval * 1000));
}

constexpr const char* kLeft = "left at your request; the trace goes on";

class Top {
 public:
  Top(Session& session, const TopArguments& arguments, trace::TraceReader& reader, pid_t pid, TopView& view,
      std::unique_ptr<LiveScreen> screen)
      : session_(session),
        arguments_(arguments),
        reader_(reader),
        pid_(pid),
        view_(view),
        order_(session.census ? TopView::Order::kLive : TopView::Order::kRate),
        screen_(std::move(screen)) {}

  int Run() {
    PassOptions options{.stop_at_damage = false};
    options.progress = [this](uint64_t done, uint64_t total) { Progress(done, total); };
    options.more = [this] { return More(); };
    const PassSummary summary = view_.Read(reader_, std::move(options));
    screen_.reset();
    if (!summary.fatal.ok()) return session_.Unreadable(summary.fatal);
    view_.Update();
    session_.out << Status() << "\n";
    const std::string table = Rows(view_.Table(order_, false), kRowsAtEnd);
    if (!table.empty()) session_.out << "\n" << table;
    session_.out << "\n" << Why(summary) << "\n";
    return TellProblems(summary);
  }

 private:
  // Returns the exit code.
  int TellProblems(const PassSummary& summary) {
    const Problems& problems = view_.problems();
    if (problems.count(ProblemKind::kSequenceGap) != 0)
      session_.err
          << "note: data files were deleted before they were read; what they held is not in the rates\n";
    if (problems.count(ProblemKind::kDamagedChunk) != 0) {
      session_.err << "warning: the trace is damaged: " << Printable(summary.damage) << "\n";
      return kExitDamaged;
    }
    const uint64_t others = Contradictions(problems) - problems.count(ProblemKind::kSequenceGap);
    if (others == 0) return kExitFine;
    session_.err << "warning: the trace contradicts itself in " << Plural(others, "place")
                 << ", numbers may be wrong; see 'anttracks verify'\n";
    return kExitDamaged;
  }
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
      view_.Stop();
    }
    if (key == 'a' || key == 'l') order_ = key == 'a' ? TopView::Order::kRate : TopView::Order::kLive;
    if (Clock::now() < next_ && key == LiveScreen::kNone) return;
    next_ = NextTime(arguments_);
    view_.Update();
    std::vector<std::string> lines = Lines();
    const std::string first = std::move(lines.front());
    lines.erase(lines.begin());
    screen_->Show(first, lines);
  }

  // Without the line that says how many there are more.
  static std::string Rows(const Report& report, size_t most) {
    std::string text = TableText(report, most);
    text.resize(text.size() - LeftOut(report.rows.size(), Shown(report.rows.size(), most)).size());
    return text;
  }
  std::string Status() const {
    std::string text = Duration(view_.time_ns()) + ": ";
    // First, since a narrow screen cuts the line.
    if (view_.losses() != 0) text += fmt::format("LOST EVENTS {}; ", Plural(view_.losses(), "time"));
    if (behind_ > kMuch) text += fmt::format("reading, {} to go; ", Bytes(behind_));
    return text + view_.Status();
  }
  // What the screen has room for, the status first.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const std::string& text : {Status(), fmt::format("{}; {}", reader_.files()[0].path, view_.about())})
      for (std::string& line : Wrapped(text, screen_->columns())) lines.push_back(std::move(line));
    lines.push_back(fmt::format("q: end   {}", view_.keys()));
    lines.emplace_back();
    const size_t above = lines.size() + kLinesOfTable,
                 room = screen_->rows() > above ? screen_->rows() - above : 1;
    Report report = view_.Table(order_, true);
    report.text_order = view_.ColumnsWithin(screen_->columns(), order_);
    std::istringstream table(Rows(report, room));
    for (std::string line; std::getline(table, line);) lines.push_back(line);
    return lines;
  }
  std::string Why(const PassSummary& summary) const {
    if (quit_) return kLeft;
    if (summary.ended) return fmt::format("the trace has ended ({})", Printable(view_.end_reason()));
    return fmt::format("process {} does not write the trace any more, which has no end record", pid_);
  }

  static constexpr uint64_t kMuch = 1 << 20;

  Session& session_;
  const TopArguments& arguments_;
  trace::TraceReader& reader_;
  const pid_t pid_;
  TopView& view_;
  TopView::Order order_;
  std::unique_ptr<LiveScreen> screen_;
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

// What a trace holds is known when its first chunk is written: of censuses, after the first one. An exit code:
// it was left, or cannot be read.
std::optional<int> WaitForMeta(Session& session, const TopArguments& arguments, pid_t pid, LiveScreen& screen) {
  Clock::time_point next{};
  for (bool last = false; !session.has_meta && !last;) {
    const std::string path = session.reader->files()[0].path;
    last = !Writes(pid, path);
    if (Clock::now() >= next) {
      screen.Show("nothing is written yet", {path, "q: end"});
      next = NextTime(arguments);
    }
    const int key = screen.Wait(kPollMs);
    if (key == 'q' || key == 'Q') return kExitFine;
    session.reader.reset();
    if (!session.Open()) return kExitUnreadable;
  }
  return std::nullopt;
}

}  // namespace

int RunTop(Session& session, const TopArguments& arguments) {
  pid_t pid = 0;
  if (const auto exit = FindTrace(session, arguments.what, &pid)) return *exit;
  session.read_ahead = false;
  if (!session.Open()) return kExitUnreadable;
  if (pid == 0) pid = static_cast<pid_t>(session.reader->files()[0].process_id);
  std::unique_ptr<LiveScreen> screen = OpenTerminal();
  if (!screen) screen = PlainLines(session.out);
  if (const auto exit = WaitForMeta(session, arguments, pid, *screen)) {
    screen.reset();
    if (*exit == kExitFine) session.out << kLeft << "\n";
    return *exit;
  }
  auto* const reader = dynamic_cast<trace::TraceReader*>(session.reader.get());
  if (reader == nullptr) return kExitUnreadable;
  const std::unique_ptr<TopView> view = session.sampled  ? TopOfSamples(session.sampled->interval)
                                        : session.census ? TopOfCensuses()
                                                         : TopOfObjects();
  return Top(session, arguments, *reader, pid, *view, std::move(screen)).Run();
}

}  // namespace anttracks::analyzer
