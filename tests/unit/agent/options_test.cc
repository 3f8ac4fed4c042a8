// SPDX-License-Identifier: Apache-2.0
#include "agent/core/options.h"

#include <doctest/doctest.h>

namespace anttracks::core {
namespace {

TEST_CASE("no options mean the defaults") {
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    const auto options = ParseOptions(text);
    REQUIRE(options.ok());
    CHECK(options->file == "anttracks-%p.trace");
    CHECK(options->buffer_bytes == 16 * 1024);
    CHECK(options->compress);
    CHECK_FALSE(options->overwrite);
    CHECK_FALSE(options->help);
  }
}

TEST_CASE("every option is taken") {
  const auto options =
      ParseOptions("file=a=b.trace,overwrite=yes,buffer=8K,queue=2M,compress=off,log=debug,help");
  REQUIRE(options.ok());
  CHECK(options->file == "a=b.trace");
  CHECK(options->overwrite);
  CHECK(options->buffer_bytes == 8192);
  CHECK(options->queue_bytes == 2 << 20);
  CHECK_FALSE(options->compress);
  CHECK(options->log == LogLevel::kDebug);
  CHECK(options->help);
}

TEST_CASE("an unknown option is refused, and the valid ones are named") {
  const auto options = ParseOptions("file=x,maxsize=3G");
  REQUIRE_FALSE(options.ok());
  CHECK(options.message().find("maxsize") != std::string::npos);
  for (const char* valid : {"file", "overwrite", "buffer", "queue", "compress", "log", "help"}) {
    CHECK(options.message().find(valid) != std::string::npos);
  }
}

TEST_CASE("malformed values are refused, and the option is named") {
  for (const char* text : {"buffer=",       "buffer=0",     "buffer=12Q",
                           "buffer=-1",     "buffer=1",     "buffer=99999999999999999999K",
                           "buffer=16KK",   "buffer",       "queue=1K",
                           "queue=5000M",   "compress=yes", "log=loud",
                           "overwrite=1",   "file=",        "file=a%d",
                           "file=a%",       "file",         ",",
                           "file=a,",       "help=1",       "buffer=1M,queue=1M",
                           "file=a,file=b", "=x",           " file=a"}) {
    CAPTURE(text);
    const auto options = ParseOptions(text);
    CHECK_FALSE(options.ok());
    CHECK(options.message().find("option") != std::string::npos);
  }
}

TEST_CASE("the file name may contain the process id and percent signs") {
  CHECK(ExpandFile("a-%p.trace", 42) == "a-42.trace");
  CHECK(ExpandFile("100%%-%p%p", 7) == "100%-77");
}

TEST_CASE("the option table has every option and default") {
  const std::string table = OptionTable();
  for (const char* word :
       {"file=", "overwrite=", "buffer=", "16K", "queue=", "32M", "compress=", "log=", "help"}) {
    CHECK(table.find(word) != std::string::npos);
  }
}

}  // namespace
}  // namespace anttracks::core
