// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live_screen.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <thread>

// After the others: it defines macros with common names.
#include <curses.h>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {
namespace {

class Terminal : public LiveScreen {
 public:
  explicit Terminal(SCREEN* screen) : screen_(screen) {
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
  }
  ~Terminal() override {
    endwin();
    delscreen(screen_);
  }
  size_t rows() const override { return static_cast<size_t>(std::max(1, LINES)); }
  size_t columns() const override { return static_cast<size_t>(std::max(1, COLS)); }
  void Show(const std::string& status, const std::vector<std::string>& lines) override {
    erase();
    Line(0, status, A_BOLD);
    for (size_t i = 0; i < lines.size() && i + 1 < rows(); i++)
      Line(static_cast<int>(i) + 1, lines[i], A_NORMAL);
    refresh();
  }
  int Wait(int milliseconds) override {
    timeout(milliseconds);
    const int key = getch();
    if (key == KEY_RESIZE) return kResized;
    return key > 0 && key < 256 ? key : kNone;
  }

 private:
  static void Line(int row, const std::string& text, attr_t look) {
    const std::string whole = Printable(text), shown = whole.substr(0, BytesOf(whole, COLS - 1));
    attrset(look);
    move(row, 0);
    clrtoeol();  // a wide character may have made the line before too long
    addstr(shown.c_str());
    attrset(A_NORMAL);
  }
  // Of the first characters, of UTF-8.
  static size_t BytesOf(const std::string& text, int characters) {
    size_t at = 0;
    for (int left = characters; at < text.size(); at++) {
      const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
      if (begins && left-- == 0) break;
    }
    return at;
  }
  SCREEN* screen_;
};

class Lines : public LiveScreen {
 public:
  explicit Lines(std::ostream& out) : out_(&out) {}
  size_t rows() const override { return 0; }
  size_t columns() const override { return 0; }
  void Show(const std::string& status, const std::vector<std::string>&) override {
    *out_ << status << "\n" << std::flush;
  }
  int Wait(int milliseconds) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return kNone;
  }

 private:
  std::ostream* out_;
};

}  // namespace

std::unique_ptr<LiveScreen> OpenTerminal() {
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) return nullptr;
  std::setlocale(LC_CTYPE, "");  // names need not be ASCII
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  return std::make_unique<Terminal>(screen);
}

std::unique_ptr<LiveScreen> PlainLines(std::ostream& out) { return std::make_unique<Lines>(out); }

}  // namespace anttracks::analyzer
