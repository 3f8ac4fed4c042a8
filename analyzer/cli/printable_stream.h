// SPDX-License-Identifier: Apache-2.0
// A stream that passes text on to another stream through PrintableLines. It makes all text safe for the
// terminal that was not made so as a table cell: paths, error messages, texts of other processes.
//
// Thread safety: none. Ownership: borrows the other stream, which gets the error state if a write fails.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {

class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::ostream& to) : to_(&to) {}
  // An incomplete character at the end is written as '?'.
  ~PrintableBuffer() override { Put(rest_); }
  PrintableBuffer(const PrintableBuffer&) = delete;
  PrintableBuffer& operator=(const PrintableBuffer&) = delete;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    rest_.append(text, static_cast<size_t>(size));
    const size_t whole = rest_.size() - UnfinishedBytes(rest_);
    Put(std::string_view(rest_).substr(0, whole));
    rest_.erase(0, whole);
    return to_->good() ? size : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return to_->flush() ? 0 : -1; }

 private:
  void Put(std::string_view text) {
    const std::string clean = PrintableLines(text);
    to_->write(clean.data(), static_cast<std::streamsize>(clean.size()));
  }

  std::ostream* to_;
  std::string rest_;
};

class PrintableStream : public std::ostream {
 public:
  explicit PrintableStream(std::ostream& to) : std::ostream(nullptr), buffer_(to) { rdbuf(&buffer_); }

 private:
  PrintableBuffer buffer_;
};

}  // namespace anttracks::analyzer
