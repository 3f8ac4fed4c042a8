// SPDX-License-Identifier: Apache-2.0
#include "agent/base/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

namespace anttracks::core {
namespace {

using trace::Status;

constexpr uint64_t kMinTrace = 256 << 10;
constexpr uint64_t kMinBuffer = 1 << 10, kMaxBuffer = 4 << 20;
constexpr uint64_t kMinStretch = 4 << 10, kMaxStretch = 1 << 30;
constexpr uint64_t kMinQueue = 64 << 10, kMaxQueue = uint64_t{4} << 30;
constexpr unsigned kMaxCompressors = 64;
constexpr unsigned kMaxWalkers = 16;
constexpr uint64_t kMaxInterval = 1 << 30;
constexpr unsigned kMaxDepth = 256;
constexpr double kMinBudget = 0.5, kMinShare = 1.0 / 64;

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Digits with an optional K, M or G.
std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t factor = 1;
  if (!text.empty()) {
    const char unit = text.back();
    if (unit == 'K' || unit == 'k') factor = uint64_t{1} << 10;
    if (unit == 'M' || unit == 'm') factor = uint64_t{1} << 20;
    if (unit == 'G' || unit == 'g') factor = uint64_t{1} << 30;
    if (factor != 1) text.remove_suffix(1);
  }
  const auto number = ParseNumber(text);
  if (!number || *number > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

std::optional<uint64_t> ParseSize(std::string_view text, uint64_t least, uint64_t most) {
  const auto size = ParseSize(text);
  return size && *size >= least && *size <= most ? size : std::nullopt;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits with an optional point between them: no sign, exponent, percent, "inf" or "nan".
std::optional<double> ParseFraction(std::string_view text) {
  if (text.empty() || !IsDigit(text.front()) || !IsDigit(text.back())) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || c == '.'; }))
    return std::nullopt;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

Status Bad(std::string_view key, std::string_view value, std::string_view valid) {
  return Status::Error("option " + std::string(key) + ": '" + std::string(value) + "' is not valid; give " +
                       std::string(valid));
}

Status SetPath(std::string_view key, std::string_view value, std::string* path) {
  if (value.empty()) return Bad(key, value, "a path, %p stands for the process id");
  for (size_t i = 0; i < value.size(); i++) {
    if (value[i] != '%') continue;
    i++;
    if (i == value.size() || (value[i] != 'p' && value[i] != '%')) {
      return Bad(key, value, "a path with %p for the process id and %% for a percent sign");
    }
  }
  *path = std::string(value);
  return {};
}

Status SetFlag(std::string_view key, std::string_view value, bool* flag) {
  if (value != "yes" && value != "no") return Bad(key, value, "yes or no");
  *flag = value == "yes";
  return {};
}

Status SetMode(std::string_view value, Options* options) {
  if (value == "auto")
    options->mode = Mode::kAuto;
  else if (value == "full")
    options->mode = Mode::kFull;
  else if (value == "sample")
    options->mode = Mode::kSample;
  else
    return Bad("mode", value, "auto, full or sample");
  return {};
}

Status SetInterval(std::string_view value, Options* options) {
  const auto size = ParseSize(value, 0, kMaxInterval);
  if (!size) return Bad("interval", value, "a size up to 1G; 0 is every object that the JVM reports");
  options->interval = *size;
  return {};
}

Status SetDepth(std::string_view value, Options* options) {
  const auto number = ParseNumber(value);
  if (!number || *number == 0 || *number > kMaxDepth) return Bad("depth", value, "a number from 1 to 256");
  options->depth = static_cast<unsigned>(*number);
  return {};
}

Status SetFile(std::string_view value, Options* options) { return SetPath("file", value, &options->file); }
Status SetStats(std::string_view value, Options* options) { return SetPath("stats", value, &options->stats); }
Status SetOverwrite(std::string_view value, Options* options) { return SetFlag("overwrite", value, &options->overwrite); }
Status SetKeep(std::string_view value, Options* options) { return SetFlag("keep", value, &options->keep); }

Status SetMaxSize(std::string_view value, Options* options) {
  const auto size = ParseSize(value);
  if (!size || (value != "0" && *size < kMinTrace)) {
    return Bad("maxsize", value, "a size of at least 256K, or 0 for a trace without bound");
  }
  options->max_bytes = *size;
  return {};
}

Status SetDeviation(std::string_view value, Options* options) {
  const auto share = ParseFraction(value);
  if (!share || *share < 0.01 || *share > 0.5)
    return Bad("dev", value, "a fraction from 0.01 to 0.5, such as 0.1");
  options->deviation = *share;
  return {};
}

Status SetBuffer(std::string_view value, Options* options) {
  const auto size = ParseSize(value, kMinBuffer, kMaxBuffer);
  if (!size) return Bad("buffer", value, "a size from 1K to 4M");
  options->buffer_bytes = *size;
  return {};
}

Status SetFuzz(std::string_view value, Options* options) {
  const auto share = ParseFraction(value);
  if (!share || *share > 0.5) return Bad("fuzz", value, "a fraction from 0 to 0.5, such as 0.1");
  options->fuzz = *share;
  return {};
}

Status SetStretch(std::string_view value, Options* options) {
  const auto size = value == "0" ? 0 : ParseSize(value, kMinStretch, kMaxStretch);
  if (!size) return Bad("stretch", value, "0 or a size from 4K to 1G");
  options->stretch_bytes = static_cast<uint32_t>(*size);
  return {};
}

Status SetQueue(std::string_view value, Options* options) {
  const auto size = ParseSize(value, kMinQueue, kMaxQueue);
  if (!size) return Bad("queue", value, "a size from 64K to 4G");
  options->queue_bytes = *size;
  return {};
}

Status SetFull(std::string_view value, Options* options) {
  if (value != "block" && value != "drop") return Bad("full", value, "block or drop");
  options->when_full = value == "block" ? WhenFull::kBlock : WhenFull::kDrop;
  return {};
}

Status SetCompress(std::string_view value, Options* options) {
  if (value == "off")
    options->compression = Compression::kOff;
  else if (value == "partial")
    options->compression = Compression::kPartial;
  else if (value == "full")
    options->compression = Compression::kFull;
  else
    return Bad("compress", value, "off, partial or full");
  return {};
}

Status SetThreshold(std::string_view value, Options* options) {
  const auto share = ParseFraction(value);
  if (!share || *share > 1) return Bad("threshold", value, "a fraction from 0 to 1, such as 0.2");
  options->threshold = *share;
  return {};
}

Status SetCompressors(std::string_view value, Options* options) {
  const auto number = ParseNumber(value);
  if (!number || *number > kMaxCompressors) {
    return Bad("compressors", value, "a number from 0 to 64; 0 is one for each processor");
  }
  options->compressors = static_cast<unsigned>(*number);
  return {};
}

Status SetBudget(std::string_view value, Options* options) {
  const bool percent = value.ends_with('%');
  const auto number = ParseFraction(value.substr(0, value.size() - (percent ? 1 : 0)));
  if (!percent || !number || *number < kMinBudget || *number > 100) {
    return Bad("budget", value, "a percentage from 0.5% to 100%, such as 3%");
  }
  options->budget_percent = *number;
  return {};
}

Status SetShare(std::string_view value, Options* options) {
  const auto share = ParseFraction(value);
  if (!share || *share < kMinShare || *share > 1) return Bad("share", value, "a fraction from 0.015625 (1/64) to 1, such as 0.25");
  options->share = *share;
  return {};
}

Status SetWalkers(std::string_view value, Options* options) {
  const auto number = ParseNumber(value);
  if (!number || *number > kMaxWalkers) return Bad("walkers", value, "a number from 0 to 16");
  options->walkers = static_cast<unsigned>(*number);
  return {};
}

Status SetLog(std::string_view value, Options* options) {
  if (value == "error")
    options->log = LogLevel::kError;
  else if (value == "warn")
    options->log = LogLevel::kWarn;
  else if (value == "info")
    options->log = LogLevel::kInfo;
  else if (value == "debug")
    options->log = LogLevel::kDebug;
  else
    return Bad("log", value, "error, warn, info or debug");
  return {};
}

// In which mode an option means something.
enum class ValidIn { kBoth, kFull, kSample };

struct Known {
  std::string_view key, values, standard, meaning;
  Status (*set)(std::string_view, Options*);
  ValidIn valid_in = ValidIn::kBoth;
};

constexpr Known kKnown[] = {
    {"mode", "auto|full|sample", "auto",
     "every object, which takes the patched JVM; samples, on any; auto: what the JVM can do", SetMode},
    {"interval", "SIZE", "512K", "of samples: bytes allocated between two, on average, up to 1G; 0: every object reported",
     SetInterval, ValidIn::kSample},
    {"depth", "N", "16", "of samples: frames of the stack, 1 to 256", SetDepth, ValidIn::kSample},
    {"file", "PATH", "anttracks-%p.trace", "the trace; %p is the process id; must not exist yet", SetFile},
    {"overwrite", "yes|no", "no", "replace the file if it exists and is a trace", SetOverwrite},
    {"maxsize", "SIZE", "0",
     "most that the trace may take, at least 256K, in files PATH, PATH.0, ...; 0: one file", SetMaxSize, ValidIn::kFull},
    {"dev", "FRACTION", "0.1", "share of maxsize that one file may take, 0.01 to 0.5, and 16K or more; only with maxsize",
     SetDeviation, ValidIn::kFull},
    {"keep", "yes|no", "no", "keep thread and time of live objects when a file is deleted; only with maxsize", SetKeep, ValidIn::kFull},
    {"buffer", "SIZE", "64K", "event buffer of a thread, 1K to 4M", SetBuffer, ValidIn::kFull},
    {"fuzz", "FRACTION", "0.1", "share by which buffers differ in size, 0 to 0.5", SetFuzz, ValidIn::kFull},
    {"stretch", "SIZE", "64K", "bytes of a TLAB that are read at once, 4K to 1G; 0: whole TLABs", SetStretch, ValidIn::kFull},
    {"budget", "PERCENT%", "",
     "CPU time that tracing may take: reads a share of what is allocated, the live heap stays exact; 0.5% to 100%", SetBudget,
     ValidIn::kFull},
    {"share", "FRACTION", "1", "share of TLAB stretches that are read, chosen by chance, 0.015625 to 1", SetShare, ValidIn::kFull},
    {"walkers", "N", "1", "threads that read TLABs instead of those that filled them, 0 to 16", SetWalkers, ValidIn::kFull},
    {"queue", "SIZE", "32M", "most memory that waits to be written, 64K to 4G, at least four buffers",
     SetQueue},
    {"full", "block|drop", "block", "when the queue is full: wait for up to 10 s, or drop events at once",
     SetFull},
    {"compress", "off|partial|full", "full",
     "compress chunks: never, when the queue fills up, always", SetCompress},
    {"threshold", "FRACTION", "0.2", "how full the queue is when compress=partial sets in, 0 to 1",
     SetThreshold},
    {"compressors", "N", "0", "compressor threads, 0 to 64; 0: as many as processors", SetCompressors},
    {"stats", "PATH", "", "the agent's counters, written at exit and on jcmd PID JVMTI.data_dump", SetStats},
    {"log", "LEVEL", "warn", "messages on stderr: error, warn, info, debug", SetLog},
};

// *sample_only: the name of an option that means nothing but for samples, if it is one.
Status SetOne(std::string_view pair, Options* options, std::string_view* sample_only) {
  if (pair == "help") {
    options->help = true;
    return {};
  }
  const size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  for (const Known& known : kKnown) {
    if (known.key != key) continue;
    if (equals == std::string_view::npos) {
      return Status::Error("option " + std::string(key) + " needs a value: " + std::string(key) + "=" +
                           std::string(known.values));
    }
    if (known.valid_in == ValidIn::kFull) options->full_only.emplace_back(key);
    if (known.valid_in == ValidIn::kSample) *sample_only = key;
    return known.set(pair.substr(equals + 1), options);
  }
  std::string valid;
  for (const Known& known : kKnown) valid += std::string(known.key) + ", ";
  return Status::Error("unknown option '" + std::string(pair) + "'; valid options: " + valid + "help");
}

Status CheckMode(const Options& options, std::string_view sample_only) {
  if (options.mode == Mode::kSample && !options.full_only.empty()) {
    return Status::Error("option " + options.full_only.front() + " means nothing with mode=sample; leave it out");
  }
  if (options.mode == Mode::kFull && !sample_only.empty()) {
    return Status::Error("option " + std::string(sample_only) + " is only valid with mode=sample or mode=auto");
  }
  return {};
}

// Of a data file: what is kept for last words, and the chunks that are under way, must be a small part of it.
constexpr double kLeastFileBytes = 16 << 10;

Status CheckTogether(const Options& options, bool deviation_given) {
  if (options.queue_bytes < 4 * options.buffer_bytes) {
    return Status::Error("option queue must be at least four times option buffer");
  }
  if (deviation_given && options.max_bytes == 0) {
    return Status::Error("option dev is only valid with option maxsize");
  }
  if (options.max_bytes != 0 && static_cast<double>(options.max_bytes) * options.deviation < kLeastFileBytes) {
    return Status::Error("option dev: a data file would have less than 16K, dev times maxsize; give a larger dev or maxsize");
  }
  if (options.budget_percent != 0 && options.share != 1) {
    return Status::Error("options budget and share exclude each other: a budget decides the share");
  }
  if (options.keep && options.max_bytes == 0) {
    return Status::Error("option keep is only valid with option maxsize");
  }
  return {};
}

}  // namespace

trace::Result<Options> ParseOptions(const char* text) {
  Options options;
  std::string_view rest = text == nullptr ? std::string_view() : std::string_view(text);
  if (rest.empty()) return options;
  std::vector<std::string_view> seen;
  std::string_view sample_only;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::string_view key = pair.substr(0, pair.find('='));
    for (const std::string_view earlier : seen) {
      if (earlier == key) return Status::Error("option " + std::string(key) + " is given twice");
    }
    seen.push_back(key);
    Status status = SetOne(pair, &options, &sample_only);
    if (!status.ok()) return status;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  Status status = CheckMode(options, sample_only);
  if (status.ok()) status = CheckTogether(options, std::find(seen.begin(), seen.end(), "dev") != seen.end());
  if (!status.ok()) return status;
  return options;
}

trace::Result<Change> ParseChange(const std::string& text) {
  const trace::Result<Options> parsed = ParseOptions(text.c_str());
  if (!parsed.ok()) return parsed.status();
  const std::string name = text.substr(0, text.find('='));
  const bool one = text.find(',') == std::string::npos;
  if (one && name == "budget") return Change{.budget_percent = parsed->budget_percent, .interval = {}};
  if (one && name == "interval") return Change{.budget_percent = {}, .interval = parsed->interval};
  return Status::Error("only budget, or of samples interval, can be changed while a trace runs, not '" + text +
                       "': budget=3%, budget=100% for everything, interval=64K");
}

std::string OptionTable() {
  std::string table = "AntTracks agent: java -agentpath:libanttracks.so=OPTION,OPTION...\n\n";
  const auto row = [&table](std::string_view option, std::string_view standard, std::string_view meaning) {
    table += "  ";
    table += option;
    table.append(option.size() < 28 ? 28 - option.size() : 1, ' ');
    table += standard;
    table.append(standard.size() < 20 ? 20 - standard.size() : 1, ' ');
    table += meaning;
    table += '\n';
  };
  row("option", "default", "meaning");
  for (const Known& known : kKnown) {
    row(std::string(known.key) + "=" + std::string(known.values), known.standard, known.meaning);
  }
  row("help", "", "print this table; the JVM does not start");
  table += "\nSizes are bytes, or end in K, M or G. Fractions have a decimal point.\n";
  return table;
}

std::string ExpandFile(std::string_view pattern, long process_id) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); i++) {
    if (pattern[i] == '%' && i + 1 < pattern.size()) {
      i++;
      path += pattern[i] == 'p' ? std::to_string(process_id) : std::string(1, pattern[i]);
    } else {
      path += pattern[i];
    }
  }
  return path;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();  // without a folder that could be named; opening it tells
}

}  // namespace anttracks::core
