// SPDX-License-Identifier: Apache-2.0
#include "agent/base/options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "agent/base/option_table.h"

namespace anttracks::core {
namespace {

using trace::Status;

struct Given {
  const Option* option;
  std::string_view name;  // the one that was used: errors name it
  std::string_view value;
};

Status Unknown(std::string_view pair) {
  std::string text = "unknown option '" + std::string(pair) + "'; ";
  if (const Option* nearest = NearestOption(pair.substr(0, pair.find('=')))) {
    text += "did you mean '" + std::string(nearest->name) + "'? ";
  }
  text += "valid options: ";
  for (const Option& option : OptionRows()) text += std::string(option.name) + ", ";
  return Status::Error(text + "help");
}

Status GivenTwice(std::string_view name, std::string_view earlier) {
  std::string text = "option " + std::string(name) + " is given twice";
  if (name != earlier) text += ", once as " + std::string(earlier) + "; one of them is the old name";
  return Status::Error(text);
}

Status SetOne(std::string_view pair, Options* options, std::vector<Given>* given) {
  const size_t equals = pair.find('=');
  const std::string_view name = pair.substr(0, equals);
  const Option* const option = FindOption(name);
  if (option == nullptr) return Unknown(pair);
  for (const Given& earlier : *given) {
    if (earlier.option == option) return GivenTwice(name, earlier.name);
  }
  const std::string named = "option " + std::string(name);
  const std::string valid = ValidValues(*option);
  if (equals == std::string_view::npos)
    return Status::Error(named + " needs a value: " + std::string(name) + "=..., " + valid);
  const std::string_view value = pair.substr(equals + 1);
  if (!SetOption(*option, value, options)) {
    return Status::Error(named + ": '" + std::string(value) + "' is not valid; give " + valid);
  }
  if (name != option->name) options->notes.push_back(named + " is now called " + std::string(option->name));
  if (!Includes(option->valid_in, ValidIn::kSample)) options->not_of_samples.emplace_back(name);
  given->push_back({option, name, value});
  return {};
}

Status CheckMode(const Options& options, const std::vector<Given>& given) {
  for (const Given& one : given) {
    const ValidIn valid_in = one.option->valid_in;
    const std::string named = "option " + std::string(one.name);
    if (valid_in == ValidIn::kCensus && options.mode != Mode::kCensus)
      return Status::Error(named + " is only valid with mode=census");
    if (options.mode == Mode::kSample && !Includes(valid_in, ValidIn::kSample))
      return Status::Error(named + " means nothing with mode=sample; leave it out");
    if (options.mode == Mode::kCensus && !Includes(valid_in, ValidIn::kCensus))
      return Status::Error(named + " means nothing with mode=census; leave it out");
    if (options.mode == Mode::kFull && valid_in == ValidIn::kSample)
      return Status::Error(named + " is only valid with mode=sample or mode=auto");
  }
  return {};
}

// A data file must be large compared with the reserve for its end and the chunks in flight.
constexpr double kLeastFileBytes = 16 << 10;

Status CheckTogether(const Options& options, const std::vector<Given>& given) {
  if (options.queue_bytes < 4 * options.buffer_bytes) {
    return Status::Error("option queue must be at least four times option buffer");
  }
  for (const Given& one : given) {
    if (one.option->only_with_maxsize && options.max_bytes == 0 && one.value != "no") {
      return Status::Error("option " + std::string(one.name) + " is only valid with option maxsize");
    }
  }
  if (options.max_bytes != 0 && static_cast<double>(options.max_bytes) * options.deviation < kLeastFileBytes) {
    return Status::Error(
        "option dev: a data file would have less than 16K, dev times maxsize; give a larger dev or maxsize");
  }
  if (options.budget_percent != 0 && options.share != 1) {
    return Status::Error("options budget and share exclude each other: a budget decides the share");
  }
  return {};
}

std::string_view NotWith(ValidIn valid_in) {
  switch (valid_in) {
    case ValidIn::kFull:
      return "; not with mode=sample or mode=census";
    case ValidIn::kSample:
      return "; not with mode=full or mode=census";
    case ValidIn::kCensus:
      return "; only with mode=census";
    case ValidIn::kPatched:
    case ValidIn::kAll:
      break;
  }
  return "";
}

}  // namespace

trace::Result<Options> ParseOptions(const char* text) {
  Options options;
  std::string_view rest = text == nullptr ? std::string_view() : std::string_view(text);
  if (rest.empty()) return options;
  std::vector<Given> given;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    if (pair == "help" && !options.help) {
      options.help = true;
    } else if (pair == "help") {
      return GivenTwice(pair, pair);
    } else {
      const Status status = SetOne(pair, &options, &given);
      if (!status.ok()) return status;
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  Status status = CheckMode(options, given);
  if (status.ok()) status = CheckTogether(options, given);
  if (!status.ok()) return status;
  return options;
}

trace::Result<Change> ParseChange(const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  const trace::Result<Options> parsed = ParseOptions(((name == "every" ? "mode=census," : "") + text).c_str());
  if (!parsed.ok()) return parsed.status();
  const bool one = text.find(',') == std::string::npos;
  if (one && name == "budget") return Change{.budget_percent = parsed->budget_percent};
  if (one && name == "interval") return Change{.interval = parsed->interval};
  if (one && name == "every") return Change{.every = parsed->every};
  std::string valid;
  for (const Option& option : OptionRows()) {
    if (!option.changeable) continue;
    valid += (valid.empty() ? "" : " and ") + std::string(option.name);
    valid += option.valid_in == ValidIn::kSample   ? "= of samples ("
             : option.valid_in == ValidIn::kCensus ? "= of censuses ("
                                                   : "= of a trace of every object (";
    valid += ValidValues(option) + ")";
  }
  return Status::Error("only " + valid + " can be changed while a trace runs, not '" + text + "'");
}

std::string HelpText() {
  std::string text = "AntTracks agent: java -agentpath:libanttracks.so=OPTION,OPTION...\n\n";
  const auto row = [&text](std::string_view option, std::string_view standard, std::string_view words) {
    text += "  ";
    text += option;
    text.append(option.size() < 14 ? 14 - option.size() : 1, ' ');
    text += standard;
    text.append(standard.size() < 20 ? 20 - standard.size() : 1, ' ');
    text += words;
    text += '\n';
  };
  row("option", "default", "value, meaning");
  for (const Option& option : OptionRows()) {
    row(std::string(option.name) + "=", DefaultValue(option), ValidValues(option));
    std::string meaning(option.meaning);
    std::erase(meaning, '`');
    if (option.only_with_maxsize) meaning += "; only with maxsize";
    meaning += NotWith(option.valid_in);
    row("", "", meaning);
  }
  row("help", "", "print this table; the JVM does not start");
  text += "\nSizes are bytes, or end in K, M or G. Fractions have a decimal point.\n";
  return text;
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
