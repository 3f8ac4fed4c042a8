// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/attach_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "analyzer/cli/census.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/cli/text.h"

namespace anttracks::analyzer {
namespace {

using nlohmann::ordered_json;

constexpr double kMostRate = 1e19;  // what a number of 64 bits can be

// A message of several lines keeps them.
std::string Lines(std::string_view text) {
  std::string lines;
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines += Printable(text.substr(0, end)) + "\n";
  }
  return lines + Printable(text);
}

std::string Text(const ordered_json& json, const char* name) { return Printable(json.value(name, "")); }

uint64_t Number(const ordered_json& json, const char* name) { return json.value(name, uint64_t{0}); }

std::string Losses(const ordered_json& counters) {
  const uint64_t lost = Number(counters, "lost_segments"), dropped = Number(counters, "dropped_bytes");
  if (lost == 0 && dropped == 0) return "none";
  return fmt::format("{} ({}) because the file could not be written fast enough, {} at the bound of maxsize",
                     Plural(lost, "segment"), Bytes(Number(counters, "lost_bytes")), Bytes(dropped));
}

std::string Written(const ordered_json& trace) {
  const ordered_json& counters = trace.at("counters");
  const uint64_t stored = Number(counters, "stored_bytes"), time = Number(trace, "duration_ns");
  const double rate = time == 0 ? 0 : static_cast<double>(stored) / (static_cast<double>(time) / 1e9);
  const std::string files =
      trace.value("rotates", false) ? fmt::format(", {} begun", Plural(Number(counters, "files"), "file")) : "";
  return fmt::format("{}, {} a second{}", Bytes(stored),
                     Bytes(static_cast<uint64_t>(std::min(rate, kMostRate))), files);
}

bool IsSampled(const ordered_json& trace) { return Text(trace, "mode") == "sample"; }

std::string Interval(const ordered_json& trace) {
  return IntervalText(Number(trace, "interval"), Number(trace, "interval"));
}

bool IsCensus(const ordered_json& trace) { return Text(trace, "mode") == "census"; }

std::string Every(const ordered_json& trace) {
  const uint64_t seconds = Number(trace, "every_s");
  return seconds == 0 ? "after each collection of the old space"
                      : fmt::format("one every {} s", Count(seconds));
}

std::string Objects(const ordered_json& trace) {
  const ordered_json& counters = trace.at("counters");
  if (IsCensus(trace)) {
    return fmt::format("{} counted by {}, {} abandoned; CPU time {}", Count(Number(counters, "census_objects")),
                       CensusCount(Number(counters, "censuses")), Count(Number(counters, "abandoned_censuses")),
                       Duration(Number(counters, "census_ns")));
  }
  if (IsSampled(trace)) {
    return fmt::format("{} samples, {} of them dead", Count(Number(counters, "samples")),
                       Count(Number(counters, "sample_deaths")));
  }
  return fmt::format("{} allocated, {}; {} with {}", Count(Number(counters, "objects")),
                     Bytes(Number(counters, "bytes")), Plural(Number(counters, "sync_points"), "sync point"),
                     Plural(Number(counters, "sync_objects"), "object"));
}

// "3 %, 2.8 % spent; 12.5 % of the stretches are read"
std::string Budget(const ordered_json& counters) {
  const auto percent = [&counters](const char* name) {
    return static_cast<double>(Number(counters, name)) / 10'000;
  };
  const double share = percent("share_ppm");
  const std::string read =
      share == 100 ? std::string("all is read") : fmt::format("{:.1f} % of the stretches are read", share);
  if (Number(counters, "budget_ppm") == 0) return read;
  return fmt::format("{} %, {:.1f} % spent; {}", percent("budget_ppm"), percent("spent_ppm"), read);
}

void PrintStatus(Session& session, const Target& target, const ordered_json& reply) {
  const auto line = [&session](std::string_view name, const std::string& value) {
    session.out << fmt::format("{:<12}{}\n", name, value);
  };
  line("process", std::to_string(target.pid));
  line("collector", Printable(target.Collector()));
  const std::string state = reply.contains("state") ? Text(reply, "state") : "unknown";
  const ordered_json* const trace = reply.contains("trace") ? &reply.at("trace") : nullptr;
  line("state", state + (trace != nullptr && state != "tracing" ? "; this is of the trace before" : ""));
  if (trace == nullptr) return;
  line("mode", IsSampled(*trace)  ? "samples, " + Interval(*trace)
               : IsCensus(*trace) ? "censuses, " + Every(*trace)
                                  : "every object");
  line("file", Text(*trace, "file"));
  line("options", Text(*trace, "options"));
  line("time", Duration(Number(*trace, "duration_ns")));
  line("written", Written(*trace));
  line("objects", Objects(*trace));
  if (trace->at("counters").contains("share_ppm")) line("budget", Budget(trace->at("counters")));
  line("collections", Count(Number(trace->at("counters"), "collections")));
  line("losses", Losses(trace->at("counters")));
  if (const std::string failure = Text(*trace, "failure"); !failure.empty()) line("failure", failure);
}

// One line that says what was done.
std::string Done(const std::string& name, const Target& target, const ordered_json& reply) {
  const ordered_json& trace = reply.at("trace");
  const std::string file = Text(trace, "file");
  const ordered_json& counters = trace.at("counters");
  if (name == "stop") {
    return fmt::format("process {} is traced no more; {}: {}, {}\n", target.pid, file,
                       Bytes(Number(counters, "stored_bytes")), Duration(Number(trace, "duration_ns")));
  }
  if (name == "rotate") return fmt::format("{}: {} begun\n", file, Plural(Number(counters, "files"), "file"));
  const bool samples = IsSampled(trace), censuses = IsCensus(trace);
  if (name == "census") return fmt::format("{}: {}\n", file, CensusCount(Number(counters, "censuses")));
  if (name == "set") {
    return fmt::format("{}: {}\n", file,
                       samples    ? "from now on " + Interval(trace)
                       : censuses ? "from now on " + Every(trace)
                                  : "budget " + Budget(counters));
  }
  if (censuses) {
    return fmt::format("the live heap of process {} ({}) is counted to {}, {}\n", target.pid,
                       Printable(target.Collector()), file, Every(trace));
  }
  return fmt::format("process {} ({}) is {} to {}{}\n", target.pid, Printable(target.Collector()),
                     samples ? "sampled" : "traced", file,
                     samples ? ""
                             : fmt::format(", from a sync point of {} on",
                                           Plural(Number(counters, "sync_objects"), "object")));
}

}  // namespace

int Refuse(Session& session, const Obstacle& obstacle) {
  session.err << "anttracks: " << Lines(obstacle.message) << "\n";
  return obstacle.code;
}

void PrintJson(Session& session, const ordered_json& json) {
  session.out << json.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
}

int Report(Session& session, const std::string& request, const Target& target, ordered_json reply) {
  if (reply.contains("notes")) {
    for (const auto& note : reply["notes"])
      session.err << "anttracks: " << Lines(note.get<std::string>()) << "\n";
  }
  const bool began_in_vain =
      (request == "attach" || request == "start") && reply.value("state", "") == "failed";
  if (session.output == Output::kJson || request == "dump-stats") {
    reply["collector"] = target.Collector();
    PrintJson(session, request == "dump-stats" ? reply.at("stats") : reply);
  } else if (request == "status") {
    PrintStatus(session, target, reply);
  } else if (!began_in_vain) {
    session.out << Done(request, target, reply);
  }
  if (!began_in_vain) return kExitFine;
  return Refuse(session, {kExitRefused, "tracing failed at once: " + reply.at("trace").value("failure", "")});
}

}  // namespace anttracks::analyzer
