// SPDX-License-Identifier: Apache-2.0
#include "agent/core/options.h"

#include <charconv>
#include <vector>

namespace anttracks::core {
namespace {

using trace::Status;

constexpr size_t kMinBuffer = 1 << 10, kMaxBuffer = 4 << 20;
constexpr size_t kMinStretch = 4 << 10, kMaxStretch = 1 << 30;
constexpr size_t kMinQueue = 64 << 10, kMaxQueue = size_t{4} << 30;

// Digits with an optional K or M; 0 if it is something else.
size_t ParseSize(std::string_view text) {
  size_t factor = 1;
  if (!text.empty()) {
    const char unit = text.back();
    if (unit == 'K' || unit == 'k') factor = 1 << 10;
    if (unit == 'M' || unit == 'm') factor = 1 << 20;
    if (factor != 1) text.remove_suffix(1);
  }
  size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number > kMaxQueue) return 0;
  return number * factor;
}

Status Bad(std::string_view key, std::string_view value, std::string_view valid) {
  return Status::Error("option " + std::string(key) + ": '" + std::string(value) + "' is not valid; give " +
                       std::string(valid));
}

Status SetFile(std::string_view value, Options* options) {
  if (value.empty()) return Bad("file", value, "a path, %p stands for the process id");
  for (size_t i = 0; i < value.size(); i++) {
    if (value[i] != '%') continue;
    i++;
    if (i == value.size() || (value[i] != 'p' && value[i] != '%')) {
      return Bad("file", value, "a path with %p for the process id and %% for a percent sign");
    }
  }
  options->file = std::string(value);
  return {};
}

Status SetOverwrite(std::string_view value, Options* options) {
  if (value != "yes" && value != "no") return Bad("overwrite", value, "yes or no");
  options->overwrite = value == "yes";
  return {};
}

Status SetBuffer(std::string_view value, Options* options) {
  const size_t size = ParseSize(value);
  if (size < kMinBuffer || size > kMaxBuffer) return Bad("buffer", value, "a size from 1K to 4M");
  options->buffer_bytes = size;
  return {};
}

Status SetStretch(std::string_view value, Options* options) {
  const size_t size = ParseSize(value);
  if (value != "0" && (size < kMinStretch || size > kMaxStretch)) {
    return Bad("stretch", value, "0 or a size from 4K to 1024M");
  }
  options->stretch_bytes = static_cast<uint32_t>(size);
  return {};
}

Status SetQueue(std::string_view value, Options* options) {
  const size_t size = ParseSize(value);
  if (size < kMinQueue || size > kMaxQueue) return Bad("queue", value, "a size from 64K to 4096M");
  options->queue_bytes = size;
  return {};
}

Status SetMaxsize(std::string_view value, Options* options) {
  options->max_bytes = ParseSize(value);
  return options->max_bytes == 0 ? Bad("maxsize", value, "a size") : Status();
}

Status SetCompress(std::string_view value, Options* options) {
  if (value != "off" && value != "full") return Bad("compress", value, "off or full");
  options->compress = value == "full";
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

struct Known {
  std::string_view key, values, standard, meaning;
  Status (*set)(std::string_view, Options*);
};

constexpr Known kKnown[] = {
    {"file", "PATH", "anttracks-%p.trace", "the trace; %p is the process id; must not exist yet", SetFile},
    {"overwrite", "yes|no", "no", "replace the file if it exists", SetOverwrite},
    {"buffer", "SIZE", "16K", "event buffer of a thread, 1K to 4M", SetBuffer},
    {"stretch", "SIZE", "64K", "bytes of a TLAB that are read at once, 4K to 1024M; 0: whole TLABs", SetStretch},
    {"maxsize", "SIZE", "", "bound", SetMaxsize},
    {"queue", "SIZE", "32M", "most memory that waits to be written, 64K to 4096M", SetQueue},
    {"compress", "off|full", "full", "compress the trace with Snappy", SetCompress},
    {"log", "LEVEL", "warn", "messages on stderr: error, warn, info, debug", SetLog},
};

Status SetOne(std::string_view pair, Options* options) {
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
    return known.set(pair.substr(equals + 1), options);
  }
  std::string valid;
  for (const Known& known : kKnown) valid += std::string(known.key) + ", ";
  return Status::Error("unknown option '" + std::string(pair) + "'; valid options: " + valid + "help");
}

}  // namespace

trace::Result<Options> ParseOptions(const char* text) {
  Options options;
  std::string_view rest = text == nullptr ? std::string_view() : std::string_view(text);
  if (rest.empty()) return options;
  std::vector<std::string_view> seen;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::string_view key = pair.substr(0, pair.find('='));
    for (const std::string_view earlier : seen) {
      if (earlier == key) return Status::Error("option " + std::string(key) + " is given twice");
    }
    seen.push_back(key);
    Status status = SetOne(pair, &options);
    if (!status.ok()) return status;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (options.queue_bytes < 4 * options.buffer_bytes) {
    return Status::Error("option queue must be at least four times option buffer");
  }
  return options;
}

std::string OptionTable() {
  std::string table = "AntTracks agent: java -agentpath:libanttracks.so=OPTION,OPTION...\n\n";
  const auto row = [&table](std::string_view option, std::string_view standard, std::string_view meaning) {
    table += "  ";
    table += option;
    table.append(option.size() < 18 ? 18 - option.size() : 1, ' ');
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
  table += "\nSizes are bytes, or end in K or M.\n";
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

}  // namespace anttracks::core
