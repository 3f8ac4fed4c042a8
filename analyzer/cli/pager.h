// SPDX-License-Identifier: Apache-2.0
// Shows text that is longer than the terminal through a pager: $PAGER, or less -FRX. Text that fits, and all
// text where there is no pager (PAGER is empty or cat, or cannot be started), goes to standard output.
//
// Thread safety: none. Whoever leaves the pager before the end of the text is not told that it could not be
// written.
#pragma once

#include <cstddef>
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <string>

namespace anttracks::analyzer {

class Pager : public std::streambuf {
 public:
  // rows: of the terminal. direct: standard output.
  Pager(size_t rows, std::ostream& direct) : rows_(rows), direct_(&direct) {}
  ~Pager() override;
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type c) override;
  int sync() override { return 0; }

 private:
  enum class State { kWaiting, kPager, kDirect };
  void Open();

  const size_t rows_;
  std::ostream* direct_;
  State state_ = State::kWaiting;
  size_t lines_ = 0;
  std::string held_;  // while it may fit
  std::FILE* pipe_ = nullptr;
};

// Rows of the terminal that standard output is; 0: it is none, or nobody types at it.
size_t TerminalRows();

}  // namespace anttracks::analyzer
