// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/pager.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace anttracks::analyzer {

namespace {

// Whether a shell would find the program. What is more than words is left to the shell.
bool CanStart(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  if (program.find_first_of("=$`'\"\\|&;<>()") != std::string::npos) return true;
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

Pager::~Pager() {
  if (pipe_ != nullptr) {
    ::pclose(pipe_);
    return;
  }
  if (state_ == State::kWaiting) direct_->write(held_.data(), static_cast<std::streamsize>(held_.size()));
  direct_->flush();
}

void Pager::Open() {
  const char* command = std::getenv("PAGER");
  if (command == nullptr) command = "less -FRX";
  const std::string name(command);
  if (!name.empty() && name != "cat" && CanStart(name)) {
    // Who leaves the pager closes the pipe.
    ::signal(SIGPIPE, SIG_IGN);
    direct_->flush();
    pipe_ = ::popen(command, "we");
  }
  state_ = pipe_ != nullptr ? State::kPager : State::kDirect;
  const std::string text = std::move(held_);
  held_.clear();
  xsputn(text.data(), static_cast<std::streamsize>(text.size()));
}

std::streamsize Pager::xsputn(const char* text, std::streamsize size) {
  switch (state_) {
    case State::kPager:
      std::fwrite(text, 1, static_cast<size_t>(size), pipe_);
      return size;
    case State::kDirect:
      direct_->write(text, size);
      return direct_->good() ? size : 0;
    case State::kWaiting:
      break;
  }
  held_.append(text, static_cast<size_t>(size));
  lines_ += static_cast<size_t>(std::count(text, text + size, '\n'));
  if (lines_ >= rows_) Open();
  return size;
}

Pager::int_type Pager::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

size_t TerminalRows() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) return 0;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_row;
}

}  // namespace anttracks::analyzer
