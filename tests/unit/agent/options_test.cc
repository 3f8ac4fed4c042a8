// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

#include "agent/base/option_table.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

TEST_CASE("no options mean the defaults") {
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    const auto options = ParseOptions(text);
    REQUIRE(options.ok());
    CHECK(options->mode == Mode::kAuto);
    CHECK(options->interval == 512 << 10);
    CHECK(options->depth == 16);
    CHECK(options->not_of_samples.empty());
    CHECK(options->budget_percent == 0);
    CHECK(options->share == 1);
    CHECK(options->file == "anttracks-%p.trace");
    CHECK(options->max_bytes == 0);
    CHECK(options->deviation == 0.1);
    CHECK(options->buffer_bytes == 64 * 1024);
    CHECK(options->fuzz == 0.1);
    CHECK(options->queue_bytes == 32 << 20);
    CHECK(options->when_full == WhenFull::kBlock);
    CHECK(options->compression == Compression::kFull);
    CHECK(options->threshold == 0.2);
    CHECK(options->compressors == 0);
    CHECK_FALSE(options->overwrite);
    CHECK_FALSE(options->keep_provenance);
    CHECK(options->stats.empty());
    CHECK_FALSE(options->help);
  }
}

TEST_CASE("every option is taken") {
  const auto options = ParseOptions(
      "file=a=b.trace,overwrite=yes,maxsize=3G,dev=0.25,keep=yes,buffer=8K,fuzz=0.3,stretch=128K,walkers=2,"
      "queue=2M,on-overflow=drop,"
      "compress=partial,threshold=0.75,compressors=3,stats=%p.json,log=debug,help");
  REQUIRE(options.ok());
  CHECK(options->file == "a=b.trace");
  CHECK(options->overwrite);
  CHECK(options->max_bytes == uint64_t{3} << 30);
  CHECK(options->deviation == 0.25);
  CHECK(options->keep_provenance);
  CHECK(options->stats == "%p.json");
  CHECK(options->buffer_bytes == 8192);
  CHECK(options->fuzz == 0.3);
  CHECK(options->stretch_bytes == 128 << 10);
  CHECK(options->walkers == 2);
  CHECK(options->queue_bytes == 2 << 20);
  CHECK(options->when_full == WhenFull::kDrop);
  CHECK(options->compression == Compression::kPartial);
  CHECK(options->threshold == 0.75);
  CHECK(options->compressors == 3);
  CHECK(options->log == LogLevel::kDebug);
  CHECK(options->help);
  CHECK(options->notes.empty());
}

TEST_CASE("each row's default is a valid value, and the one that no option means") {
  for (const Option& option : OptionRows()) {
    CAPTURE(option.name);
    const std::string value = DefaultValue(option);
    if (value.empty()) continue;
    Options options;
    CHECK(SetOption(option, value, &options));
    CHECK(DefaultValue(option) == value);
    CHECK(options == Options());
  }
}

TEST_CASE("an old name of an option is taken, and the user is told the new one") {
  const auto walkers = ParseOptions("readers=3");
  REQUIRE(walkers.ok());
  CHECK(walkers->walkers == 3);
  CHECK(walkers->notes == std::vector<std::string>{"option readers is now called walkers"});
  CHECK(walkers->not_of_samples == std::vector<std::string>{"readers"});
  const auto overflow = ParseOptions("full=drop,mode=sample");
  REQUIRE(overflow.ok());
  CHECK(overflow->when_full == WhenFull::kDrop);
  CHECK(overflow->notes == std::vector<std::string>{"option full is now called on-overflow"});
  CHECK(ParseOptions("readers=17").message() ==
        "option readers: '17' is not valid; give a number from 0 to 16");
  CHECK(ParseOptions("readers=1,mode=sample").message() ==
        "option readers means nothing with mode=sample; leave it out");
}

TEST_CASE("an option under both of its names is given twice") {
  for (const char* text : {"readers=1,walkers=1", "full=drop,on-overflow=drop"}) {
    CAPTURE(text);
    const auto options = ParseOptions(text);
    REQUIRE_FALSE(options.ok());
    CHECK(options.message().find("given twice") != std::string::npos);
  }
  CHECK(ParseOptions("walkers=1,readers=1").message() ==
        "option readers is given twice, once as walkers; one of them is the old name");
}

TEST_CASE("an unknown option is answered with the one that is meant, if any is close") {
  struct Misspelt {
    const char *given, *meant;
  };
  for (const Misspelt& word : {Misspelt{"maxsise=1M", "maxsize"},
                               {"fiel=x", "file"},
                               {"compres=off", "compress"},
                               {"walker=1", "walkers"},
                               {"reader=1", "walkers"},
                               {"overflow=drop", "on-overflow"}}) {
    CAPTURE(word.given);
    const std::string message = ParseOptions(word.given).message();
    CHECK(message.find(std::string("unknown option '") + word.given + "'; did you mean '" + word.meant +
                       "'? valid options: ") == 0);
  }
  for (const char* given : {"", "x=1", "nonsense=1", "=1"}) {
    CAPTURE(given);
    CHECK(ParseOptions((std::string("log=info,") + given).c_str()).message().find("did you mean") ==
          std::string::npos);
  }
}

TEST_CASE("an unknown option is refused, and the valid ones are named") {
  const auto options = ParseOptions("file=x,maxsiez=3G");
  REQUIRE_FALSE(options.ok());
  CHECK(options.message().find("maxsiez") != std::string::npos);
  for (const char* valid :
       {"mode", "interval", "depth", "file", "overwrite", "maxsize", "dev", "keep", "buffer", "fuzz", "stretch",
        "queue", "on-overflow", "compress", "threshold", "compressors", "stats", "log", "help"}) {
    CAPTURE(valid);
    CHECK(options.message().find(std::string(valid)) != std::string::npos);
  }
}

TEST_CASE("malformed values are refused, and the option is named") {
  for (const char* text : {"buffer=",
                           "buffer=0",
                           "buffer=12Q",
                           "buffer=-1",
                           "buffer=1",
                           "buffer=99999999999999999999K",
                           "buffer=16KK",
                           "buffer",
                           "queue=1K",
                           "queue=5000M",
                           "queue=5G",
                           "compress=yes",
                           "log=loud",
                           "overwrite=1",
                           "file=",
                           "file=a%d",
                           "file=a%",
                           "file",
                           ",",
                           "file=a,",
                           "help=1",
                           "file=a,file=b",
                           "=x",
                           " file=a",
                           "buffer=1M,queue=1M",
                           "on-overflow=wait",
                           "on-overflow=",
                           "on-overflow",
                           "help,help",
                           "compress=Partial",
                           "compressors=",
                           "compressors=65",
                           "compressors=-1",
                           "compressors=1K",
                           "compressors=two",
                           "compressors=0x2",
                           "maxsize=1M,keep=1",
                           "maxsize=1M,keep=",
                           "maxsize=1M,keep",
                           "stats=",
                           "stats",
                           "stats=a%d",
                           "mode=",
                           "mode",
                           "mode=samples",
                           "mode=Full",
                           "interval=",
                           "interval=1025M",
                           "interval=-1",
                           "interval=0.5",
                           "depth=0",
                           "depth=257",
                           "depth=16K",
                           "depth=",
                           "stretch=0K",
                           "stretch=2K",
                           "stretch=2G"}) {
    CAPTURE(text);
    const auto options = ParseOptions(text);
    CHECK_FALSE(options.ok());
    CHECK(options.message().find("option") != std::string::npos);
  }
}

TEST_CASE("sizes may end in K, M or G of either case") {
  for (const char* text :
       {"maxsize=2147483648", "maxsize=2097152k", "maxsize=2048M", "maxsize=2g", "maxsize=2G"}) {
    CAPTURE(text);
    const auto options = ParseOptions(text);
    REQUIRE(options.ok());
    CHECK(options->max_bytes == uint64_t{2} << 30);
  }
  CHECK(ParseOptions("queue=4G")->queue_bytes == size_t{4} << 30);
}

TEST_CASE("limits themselves are valid") {
  CHECK(ParseOptions("maxsize=8589934591G")->max_bytes == (uint64_t{8589934591} << 30));
  CHECK(ParseOptions("buffer=16K,queue=64K")->queue_bytes == 64 << 10);
  CHECK(ParseOptions("maxsize=256K,dev=0.0625")->deviation == 0.0625);
  CHECK(ParseOptions("compressors=64")->compressors == 64);
}

TEST_CASE("a bound of the trace is 0, for none, or at least 256K") {
  CHECK(ParseOptions("maxsize=0")->max_bytes == 0);
  CHECK(ParseOptions("maxsize=256K")->max_bytes == 256 << 10);
  for (const char* text : {"maxsize=", "maxsize=255K", "maxsize=1", "maxsize=0K", "maxsize=10%", "maxsize=1T",
                           "maxsize=-1G", "maxsize=1.5G", "maxsize=9223372036854775808", "maxsize=8589934592G",
                           "maxsize=18446744073709551616", "maxsize=17179869185G"}) {
    CAPTURE(text);
    const auto options = ParseOptions(text);
    REQUIRE_FALSE(options.ok());
    CHECK(options.message().find("option maxsize") != std::string::npos);
    CHECK(options.message().find("256K") != std::string::npos);
  }
}

TEST_CASE("a deviation needs a bound, before or behind it") {
  CHECK(ParseOptions("maxsize=1M,dev=0.5")->deviation == 0.5);
  CHECK(ParseOptions("dev=0.01,maxsize=2M")->deviation == 0.01);
  CHECK(ParseOptions("maxsize=256K").ok());
  for (const char* text : {"dev=0.1", "maxsize=0,dev=0.1", "dev=0.01,maxsize=1M", "maxsize=256K,dev=0.06"}) {
    const auto options = ParseOptions(text);
    REQUIRE_FALSE(options.ok());
    CHECK(options.message().find("dev") != std::string::npos);
    CHECK(options.message().find("maxsize") != std::string::npos);
  }
}

TEST_CASE("to keep what deleted files know needs a bound, before or behind it") {
  CHECK(ParseOptions("maxsize=1M,keep=yes")->keep_provenance);
  CHECK(ParseOptions("keep=yes,maxsize=1M")->keep_provenance);
  CHECK_FALSE(ParseOptions("keep=no")->keep_provenance);
  for (const char* text : {"keep=yes", "maxsize=0,keep=yes"}) {
    const auto options = ParseOptions(text);
    REQUIRE_FALSE(options.ok());
    CHECK(options.message() == "option keep is only valid with option maxsize");
  }
}

TEST_CASE("samples have an interval and a depth") {
  const auto options = ParseOptions("interval=64K,mode=sample,depth=3");
  REQUIRE(options.ok());
  CHECK(options->mode == Mode::kSample);
  CHECK(options->interval == 64 << 10);
  CHECK(options->depth == 3);
  CHECK(ParseOptions("mode=auto,interval=0,depth=256")->interval == 0);
  CHECK(ParseOptions("interval=1G")->interval == 1 << 30);
  CHECK(ParseOptions("mode=sample,queue=1M,on-overflow=drop,compress=off,stats=s,overwrite=yes,log=info,file=a")
            .ok());
}

TEST_CASE("what means nothing in the mode that was asked for is refused by name") {
  for (const std::string option :
       {"maxsize=1M", "buffer=1K", "fuzz=0.1", "stretch=64K", "walkers=0", "maxsize=0"}) {
    const std::string name = option.substr(0, option.find('='));
    CAPTURE(name);
    for (const std::string& text : {"mode=sample," + option, option + ",mode=sample"}) {
      const auto refused = ParseOptions(text.c_str());
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.message() == "option " + name + " means nothing with mode=sample; leave it out");
    }
    CHECK(ParseOptions(("mode=full," + option).c_str()).ok());
    // What auto comes to is not known yet.
    CHECK(ParseOptions(option.c_str())->not_of_samples == std::vector<std::string>{name});
  }
  for (const std::string name : {"interval", "depth"}) {
    const auto refused = ParseOptions((name + "=1,mode=full").c_str());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message() == "option " + name + " is only valid with mode=sample or mode=auto");
  }
}

TEST_CASE("a census has a time between two, and nothing that concerns allocations") {
  using std::chrono::seconds;
  CHECK(ParseOptions("mode=census")->every == seconds(300));
  const std::pair<const char*, seconds> valid[] = {{"1s", seconds(1)},
                                                   {"90s", seconds(90)},
                                                   {"5m", seconds(300)},
                                                   {"24h", seconds(86400)},
                                                   {"gc", seconds(0)}};
  for (const auto& [text, time] : valid) {
    CAPTURE(text);
    const auto options = ParseOptions((std::string("mode=census,every=") + text).c_str());
    REQUIRE(options.ok());
    CHECK(options->every == time);
  }
  for (const std::string text : {"", "5", "m", "0s", "25h", "1441m", "-1s", "1.5m", "5M", "5ms", "GC", "5m ",
                                 "1d", "18446744073709551615h", "99999999999999999999s"}) {
    CAPTURE(text);
    const auto refused = ParseOptions(("mode=census,every=" + text).c_str());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message().find("a time from 1s to 24h, such as 90s, 5m or 1h") != std::string::npos);
  }
  for (const std::string option :
       {"maxsize=1M", "budget=3%", "stacks=0", "interval=64K", "depth=3", "buffer=1K"}) {
    CAPTURE(option);
    const auto refused = ParseOptions(("mode=census," + option).c_str());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message() ==
          "option " + option.substr(0, option.find('=')) + " means nothing with mode=census; leave it out");
  }
  for (const std::string mode : {"", "mode=full,", "mode=sample,", "mode=auto,"}) {
    const auto refused = ParseOptions((mode + "every=5m").c_str());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message() == "option every is only valid with mode=census");
  }
  CHECK(ParseOptions("mode=census,queue=1M,compress=off,stats=s,overwrite=yes,log=info,file=a,every=gc").ok());
}

TEST_CASE("fractions are decimals within their range, and nothing else") {
  struct {
    std::string option, before, below, least, most, above;
    double Options::*member;
  } fractions[] = {{"dev", "maxsize=1G,", "0.009", "0.01", "0.5", "0.51", &Options::deviation},
                   {"fuzz", "", "-0.1", "0", "0.5", "0.500001", &Options::fuzz},
                   {"threshold", "", "-1", "0", "1", "1.01", &Options::threshold}};
  for (const auto& f : fractions) {
    CAPTURE(f.option);
    for (const std::string& valid : {f.least, f.most, std::string("0.125")}) {
      const auto options = ParseOptions((f.before + f.option + "=" + valid).c_str());
      REQUIRE(options.ok());
      CHECK((*options).*f.member == std::stod(valid));
    }
    for (const std::string& invalid :
         {f.below, f.above, std::string(), std::string("10%"), std::string("1/4"), std::string("1e-1"),
          std::string(".1"), std::string("0."), std::string("0.1.1"), std::string("0.1 "), std::string("+0.1"),
          std::string("nan"), std::string("inf"), std::string("0x1"), std::string("0.1K")}) {
      CAPTURE(invalid);
      const auto options = ParseOptions((f.before + f.option + "=" + invalid).c_str());
      REQUIRE_FALSE(options.ok());
      CHECK(options.message().find("option " + f.option + ": '" + invalid + "'") != std::string::npos);
      CHECK(options.message().find("such as 0.") != std::string::npos);
    }
  }
}

TEST_CASE("a budget is a percentage, a share a fraction, and only one of them is given") {
  CHECK(ParseOptions("budget=3%")->budget_percent == 3);
  CHECK(ParseOptions("budget=0.5%")->budget_percent == 0.5);
  CHECK(ParseOptions("budget=100%")->budget_percent == 100);
  CHECK(ParseOptions("share=0.00390625")->share == 1.0 / 256);
  for (const char* text : {"budget=3", "budget=", "budget=%", "budget=0.4%", "budget=101%", "budget=-1%",
                           "budget=1e1%", "share=0", "share=0.003", "share=1.1", "share=50%",
                           "budget=3%,share=0.5", "share=0.5,budget=3%", "mode=sample,budget=3%"}) {
    CAPTURE(text);
    CHECK(!ParseOptions(text).ok());
  }
}

TEST_CASE("of a trace that runs only the budget can be changed, or the interval") {
  CHECK(ParseChange("every=90s")->every == std::chrono::seconds(90));
  CHECK(ParseChange("every=gc")->every == std::chrono::seconds(0));
  CHECK(!ParseChange("every=90s")->interval);
  CHECK(ParseChange("budget=7%")->budget_percent == 7);
  CHECK(!ParseChange("budget=7%")->interval);
  CHECK(ParseChange("interval=64K")->interval == 64 << 10);
  CHECK(!ParseChange("interval=64K")->budget_percent);
  for (const char* text : {"", "budget", "budget=7", "share=0.5", "maxsize=1G", "budget=7%,log=info", "help",
                           "interval", "interval=2G", "interval=64K,budget=3%", "depth=3"}) {
    CAPTURE(text);
    CHECK(!ParseChange(text).ok());
  }
  CHECK(
      ParseChange("depth=3").message() ==
      "only every= of censuses (a time from 1s to 24h, such as 90s, 5m or 1h; gc: after each collection of the "
      "old space) and interval= of samples (a size up to 1G; 0: every object that the JVM reports) and budget= "
      "of a trace of "
      "every object (a percentage from 0.5% to 100%, such as 3%) can be changed while a trace runs, not "
      "'depth=3'");
}

TEST_CASE("the file name may contain the process id and percent signs") {
  CHECK(ExpandFile("a-%p.trace", 42) == "a-42.trace");
  CHECK(ExpandFile("100%%-%p%p", 7) == "100%-77");
  CHECK(ExpandFile("a-%p", 42) == "a-42");
}

TEST_CASE("a path stays that of the same file when the folder changes") {
  const fs::path before = fs::current_path();
  const std::string path = AbsolutePath("a/b.trace");
  fs::current_path("/");
  CHECK(path == (before / "a/b.trace").string());
  CHECK(AbsolutePath("b.trace") == "/b.trace");
  CHECK(AbsolutePath("/x/b.trace") == "/x/b.trace");
  fs::current_path(before);
}

TEST_CASE("help has every option, default and range, in columns") {
  const std::string text = HelpText();
  for (const Option& option : OptionRows()) {
    CAPTURE(option.name);
    const size_t at = text.find(std::string("\n  ").append(option.name).append("= "));
    REQUIRE(at != std::string::npos);
    const std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    CHECK(row.find(DefaultValue(option)) != std::string::npos);
    CHECK(row.find(ValidValues(option)) == text.find("value, meaning") - text.find("  option"));
  }
  for (const char* word : {"auto, full, sample or census", "a size from 64K to 4G", "0: whole TLABs",
                           "from 0.5% to 100%", "help"}) {
    CAPTURE(word);
    CHECK(text.find(word) != std::string::npos);
  }
  CHECK(text.find('`') == std::string::npos);
  // What an option needs stands in the line below it.
  const auto meaning = [&](const std::string& option) {
    const size_t line = text.find('\n', text.find("\n  " + option + "= ") + 1) + 1;
    return text.substr(line, text.find('\n', line) - line);
  };
  CHECK(meaning("dev").ends_with("; only with maxsize; not with mode=sample or mode=census"));
  CHECK(meaning("depth").ends_with("; not with mode=full or mode=census"));
  CHECK(meaning("queue").find("mode=") == std::string::npos);
}

}  // namespace
}  // namespace anttracks::core
