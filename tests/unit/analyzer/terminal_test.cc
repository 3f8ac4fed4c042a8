// SPDX-License-Identifier: Apache-2.0
// What a trace, a path or a message may not do to the terminal that it is printed on.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "analyzer/cli/printable_stream.h"
#include "analyzer/cli/text.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using analyzer::Printable;

// CSI as one byte of Latin-1 and as UTF-8, right-to-left override, zero-width space, line separator, an
// overlong ESC, a line of its own.
const std::string kEvil = "a\x9B[2J\u009B31m\u202E\u200B\u2028\xC0\x9B\x1B[0mb\nFORGED";
const std::string kHarmless =
    "a?[2J?31m?????"
    "?[0mb?FORGED";

TEST_CASE("letters of every language and definitions stay as they are") {
  for (const char* text : {"plain", "\u00E4\u00F6\u00FC\u00DF", "\u4E2D\u6587", "\u05D0\u05D1", "\u0645",
                           "\U0001F600", "\u2026 \u2190", ""}) {
    CHECK(Printable(text) == text);
  }
}

TEST_CASE("each character that a terminal may act on becomes a question mark") {
  for (const char* text : {"\x01",   "\n",     "\t",     "\x1B",   "\x7F",   "\u0080", "\u009B", "\u009F",
                           "\u061C", "\u200B", "\u200C", "\u200D", "\u200E", "\u200F", "\u2028", "\u2029",
                           "\u202A", "\u202E", "\u2060", "\u2066", "\u2069", "\uFEFF"}) {
    CHECK(Printable(text) == "?");
    CHECK(Printable("x" + std::string(text) + "y") == "x?y");
  }
  CHECK(Printable(std::string("\0", 1)) == "?");
  CHECK(Printable(kEvil) == kHarmless);
}

std::string Utf8(char32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  std::string text;
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[more] | c >> (6 * more));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
  return text;
}

TEST_CASE("what a terminal may act on begins and ends where it does in Unicode") {
  // Controls, soft hyphen, what has no width or turns the direction of text, separators of lines, annotations,
  // tags.
  constexpr std::pair<char32_t, char32_t> kRanges[] = {{0x00, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},
                                                       {0x61C, 0x61C},   {0x180E, 0x180E},  {0x200B, 0x200F},
                                                       {0x2028, 0x202E}, {0x2060, 0x206F},  {0xFEFF, 0xFEFF},
                                                       {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  for (char32_t c = 0; c <= 0x10FFFF; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const bool unsafe = std::any_of(std::begin(kRanges), std::end(kRanges),
                                    [c](const auto& r) { return r.first <= c && c <= r.second; });
    const std::string text = Utf8(c);
    if (Printable(text) == (unsafe ? "?" : text)) continue;
    CAPTURE(static_cast<uint32_t>(c));
    CHECK(Printable(text) == (unsafe ? "?" : text));
  }
}

TEST_CASE("each byte that is not UTF-8 becomes a question mark") {
  CHECK(Printable("\x80") == "?");
  CHECK(Printable("\xFF\xFE") == "??");
  CHECK(Printable("\xC3") == "?");
  CHECK(Printable(std::string_view("\xC3\xA4", 1)) == "?");  // what follows is not the text's
  CHECK(Printable("\xC3z") == "?z");
  CHECK(Printable("\xE4\xB8z") == "??z");
  CHECK(Printable("\xC1\xBF") == "??");            // overlong
  CHECK(Printable("\xE0\x80\xAF") == "???");       // overlong
  CHECK(Printable("\xED\xA0\x80") == "???");       // surrogate
  CHECK(Printable("\xF4\x90\x80\x80") == "????");  // beyond the last character
}

TEST_CASE("a stream cleans what is written in pieces, and keeps lines") {
  std::ostringstream to;
  {
    analyzer::PrintableStream out(to);
    for (const char c : std::string("a\u00E4\U0001F600\n\tb\u202Ec\xE2\x80")) out << c;
    CHECK(to.str() == "a\u00E4\U0001F600\n\tb?c");
  }
  CHECK(to.str() == "a\u00E4\U0001F600\n\tb?c??");
  std::ostringstream failed;
  failed.setstate(std::ios::badbit);
  analyzer::PrintableStream out(failed);
  out << "text";
  CHECK(!out);
}

TraceBuilder EvilTrace() {
  TraceBuilder b;
  b.Chunk(1,
          "{\"vm_version\":\"\u009B31m\",\"java_command\":\"\u202Eevil\",\"object_alignment\":8,\"heap_start\":"
          "0,\"heap_end\":4096}");
  DefinitionsBuilder s;
  s.Class(1, kEvil, 0, 24)
      .Method(1, kEvil, kEvil, kEvil)
      .Site(16, 1, 4, 12, 0, 0)
      .Site(17, 1, 4, 12, 16, 0)
      .Thread(1, kEvil, 1);
  s.SiteClass(1, 17, 1);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.SyncBegin(0, 0, {{0, 1, 0, 0, 512}});
  b.Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(0).Tlab(0).Fixed(1).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 0, 0, kEvil, 5, {{0, 0, 0, 6, 512}})
      .Gc(SegmentKind::kGcEnd, 0, 0, kEvil, 6, {{0, 0, 0, 6, 512}});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(7).Tlab(0).WithLength(1, 5));
  b.Loss(8, 1, 1, kEvil);
  b.End(9, kEvil, "{\"" + std::string("\u009B\u202E") + "\":1}");
  return b.Flush();
}

TEST_CASE("no report lets a name through, as text or JSON") {
  const std::vector<std::vector<std::string>> commands{{"info"},
                                                       {"heap"},
                                                       {"heap", "--by", "site"},
                                                       {"heap", "--by", "thread"},
                                                       {"heap", "--objects"},
                                                       {"gcs"},
                                                       {"sites", "--callers"},
                                                       {"sites", "--live"},
                                                       {"classes"},
                                                       {"classes", "--layout"},
                                                       {"threads"},
                                                       {"quality"},
                                                       {"verify"},
                                                       {"verify", "--csv"},
                                                       {"summary"},
                                                       {"leaks", "--all"},
                                                       {"lifetimes"},
                                                       {"timeline"},
                                                       {"tree"},
                                                       {"tree", "--collapsed"},
                                                       {"object", "0x0"}};
  for (std::vector<std::string> command : commands) {
    for (const bool json : {false, true}) {
      if (json && (command.back() == "--csv" || command.back() == "--collapsed")) continue;
      if (json) command.push_back("--json");
      const CommandResult result = Anttracks(EvilTrace().file(), command);
      CAPTURE(command[0]);
      CHECK(analyzer::PrintableLines(result.out) == result.out);
      CHECK(analyzer::PrintableLines(result.err) == result.err);
      CHECK(result.out.find("\nFORGED") == std::string::npos);
      CHECK(result.err.find("\nFORGED") == std::string::npos);
      if (json) CHECK(!nlohmann::json::parse(result.out).is_discarded());
    }
  }
}

TEST_CASE("JSON keeps what it escapes") {
  const auto json = nlohmann::json::parse(Anttracks(EvilTrace().file(), {"info", "--json"}).out);
  CHECK(json["java_command"] == "\u202Eevil");
  CHECK(json["vm_version"] == "\u009B31m");
  CHECK(nlohmann::json::parse(analyzer::EscapedJson("\"\U000E0041\"")) == "\U000E0041");
}

TEST_CASE("a message that names a file is printable") {
  std::ostringstream out, err;
  CHECK(analyzer::Main({"info", "/nowhere/" + kEvil}, out, err, false) == 3);
  CHECK(err.str().find("/nowhere/" + kHarmless) != std::string::npos);
  std::ostringstream usage;
  CHECK(analyzer::Main({"info", "x", "--\x1B[2J"}, out, usage, false) == 2);
  CHECK(analyzer::PrintableLines(usage.str()) == usage.str());
}

}  // namespace
}  // namespace anttracks::testing
