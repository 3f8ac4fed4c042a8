// SPDX-License-Identifier: Apache-2.0
// A screen that is drawn again and again, and the keys that are typed meanwhile; or plain lines where the
// output is no terminal.
//
// Thread safety: none. One screen at a time.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace anttracks::analyzer {

class LiveScreen {
 public:
  enum Key : int { kNone = 0, kResized = -1 };
  virtual ~LiveScreen() = default;

  // Lines that fit, and characters in a line; 0: any number.
  virtual size_t rows() const = 0;
  virtual size_t columns() const = 0;
  // Shows these lines instead of those before: a status that says all in one line, and what a screen has room
  // for.
  virtual void Show(const std::string& status, const std::vector<std::string>& lines) = 0;
  // Waits for so long at most, and returns the character that was typed.
  virtual int Wait(int milliseconds) = 0;
};

// On the terminal that is standard output, with ncurses; nullptr: it is none, or one that cannot be drawn on.
// The terminal is as before when the screen is destroyed, and after SIGINT and SIGTERM. No colours are used.
std::unique_ptr<LiveScreen> OpenTerminal();
// Writes the status lines, one after the other.
std::unique_ptr<LiveScreen> PlainLines(std::ostream& out);

}  // namespace anttracks::analyzer
