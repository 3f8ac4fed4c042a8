// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include "analyzer/attach/request.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kLibrary = "libanttracks.so";

// Where this program was called, links not followed: agent and analyzer are linked side by side.
std::vector<fs::path> OwnFolders() {
  std::string called;
  std::ifstream command("/proc/self/cmdline", std::ios::binary);
  std::getline(command, called, '\0');
  std::error_code error;
  std::vector<fs::path> folders;
  if (called.find('/') != std::string::npos) folders.push_back(fs::absolute(called, error).parent_path());
  const char* const path = std::getenv("PATH");
  std::istringstream in(called.find('/') == std::string::npos && path != nullptr ? path : "");
  for (std::string folder; std::getline(in, folder, ':');) {
    if (fs::exists(fs::path(folder) / called, error)) folders.push_back(fs::absolute(folder, error));
  }
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  return folders;
}

// That of the process, if it has one; else the one beside this program. "": none.
std::string Library(const Target& target, const std::string& given) {
  std::error_code error;
  if (!given.empty()) return target.same_mounts ? fs::absolute(given, error).string() : given;
  if (!target.agent.empty()) return target.agent;
  for (const fs::path& folder : OwnFolders()) {
    const fs::path library = (folder / kLibrary).lexically_normal();
    if (fs::exists(library, error)) return library.string();
  }
  return "";
}

std::string Folder(const Target& target) {
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  return target.same_mounts && !error && here.find(',') == std::string::npos ? here : "";
}

int Refuse(Session& session, const Obstacle& obstacle) {
  session.err << "anttracks: " << obstacle.message << "\n";
  return obstacle.code;
}

Obstacle CheckLoaded(const Target& target) {
  const std::string what = fmt::format("process {}", target.pid);
  if (target.agent.empty()) {
    return {kExitNotLoaded, fmt::format("{} has no agent: anttracks attach {} [OPTIONS] loads it and begins a trace", what, target.pid)};
  }
  if (!target.agent_deleted) return {};
  return {kExitNotLoaded, fmt::format("{} has an agent whose file is gone or was replaced, {}, so it cannot be asked any more; its trace "
                                      "goes on until the process ends", what, target.agent)};
}

// The agent is one in a process: another copy of its library knows nothing of it.
Obstacle CheckSame(const Target& target, const std::string& library) {
  std::error_code error;
  if (target.agent.empty() || fs::equivalent(target.root + target.agent, target.root + library, error) || error) return {};
  return {kExitRefused, fmt::format("process {} has the agent {} already, and another copy of the library would be another agent: leave out --lib", target.pid,
                                    target.agent)};
}

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
  const double seconds = static_cast<double>(time) / 1e9;
  const auto rate = seconds > 0 ? static_cast<uint64_t>(static_cast<double>(stored) / seconds) : 0;
  const std::string files = trace.value("rotates", false) ? fmt::format(", {} begun", Plural(Number(counters, "files"), "file")) : "";
  return fmt::format("{}, {} a second{}", Bytes(stored), Bytes(rate), files);
}

std::string Objects(const ordered_json& trace) {
  const ordered_json& counters = trace.at("counters");
  if (trace.value("mode", "") == "sample") return fmt::format("{} samples, {} of them dead", Count(Number(counters, "samples")), Count(Number(counters, "sample_deaths")));
  return fmt::format("{} allocated, {}; {} with {}", Count(Number(counters, "objects")), Bytes(Number(counters, "bytes")),
                     Plural(Number(counters, "sync_points"), "sync point"), Plural(Number(counters, "sync_objects"), "object"));
}

void PrintStatus(Session& session, const Target& target, const ordered_json& reply) {
  const auto line = [&session](std::string_view name, const std::string& value) {
    session.out << fmt::format("{:<12}{}\n", name, value);
  };
  line("process", std::to_string(target.pid));
  line("collector", target.Collector());
  const std::string state = reply.value("state", "unknown");
  const ordered_json* const trace = reply.contains("trace") ? &reply.at("trace") : nullptr;
  line("state", state + (trace != nullptr && state != "tracing" ? "; this is of the trace before" : ""));
  if (trace == nullptr) return;
  line("mode", trace->value("mode", "") == "sample" ? "samples" : "every object");
  line("file", trace->value("file", ""));
  line("options", trace->value("options", ""));
  line("time", Duration(Number(*trace, "duration_ns")));
  line("written", Written(*trace));
  line("objects", Objects(*trace));
  line("collections", Count(Number(trace->at("counters"), "collections")));
  line("losses", Losses(trace->at("counters")));
  if (const std::string failure = trace->value("failure", ""); !failure.empty()) line("failure", failure);
}

// One line that says what was done.
std::string Done(const std::string& name, const Target& target, const ordered_json& reply) {
  const ordered_json& trace = reply.at("trace");
  const std::string file = trace.value("file", "");
  const ordered_json& counters = trace.at("counters");
  if (name == "stop") {
    return fmt::format("process {} is traced no more; {}: {}, {}\n", target.pid, file, Bytes(Number(counters, "stored_bytes")),
                       Duration(Number(trace, "duration_ns")));
  }
  if (name == "rotate") return fmt::format("{}: {} begun\n", file, Plural(Number(counters, "files"), "file"));
  const bool samples = trace.value("mode", "") == "sample";
  return fmt::format("process {} ({}) is {} to {}{}\n", target.pid, target.Collector(), samples ? "sampled" : "traced", file,
                     samples ? "" : fmt::format(", from a sync point of {} on", Plural(Number(counters, "sync_objects"), "object")));
}

int Show(Session& session, const std::string& name, const Target& target, ordered_json reply) {
  if (reply.contains("notes")) {
    for (const auto& note : reply["notes"]) session.err << "anttracks: " << note.get<std::string>() << "\n";
  }
  const bool began_in_vain = (name == "attach" || name == "start") && reply.value("state", "") == "failed";
  if (session.json || name == "dump-stats") {
    reply["collector"] = target.Collector();
    session.out << JsonText(name == "dump-stats" ? reply.at("stats") : reply);
  } else if (name == "status") {
    PrintStatus(session, target, reply);
  } else if (!began_in_vain) {
    session.out << Done(name, target, reply);
  }
  if (!began_in_vain) return kExitFine;
  return Refuse(session, {kExitRefused, "tracing failed at once: " + reply.at("trace").value("failure", "")});
}

// What went wrong because the process was ending meanwhile is not worth telling.
Obstacle UnlessEnded(const Obstacle& obstacle, int pid) {
  const auto now = Look(pid);
  const bool ended = !now || now->state == 'Z' || now->state == 'X' || now->libjvm.empty();
  return ended ? Obstacle{kExitNoProcess, fmt::format("process {} has ended meanwhile", pid)} : obstacle;
}

// Attaching and asking are the same; only the first may load the library.
int RunRequest(Session& session, const AttachArguments& arguments, const std::string& name) {
  const auto target = Look(arguments.pid);
  Obstacle obstacle = CheckProcess(target, arguments.pid, {geteuid(), getegid()});
  const bool attach = name == "attach";
  if (obstacle.none() && (!attach || target->agent_deleted)) obstacle = CheckLoaded(*target);
  if (!obstacle.none()) return Refuse(session, obstacle);
  Question question;
  question.name = name;
  question.library = Library(*target, arguments.library);
  if (question.library.empty()) {
    return Refuse(session, {kExitNotLoaded, "there is no libanttracks.so beside anttracks; --lib=PATH says where it is"});
  }
  obstacle = CheckSame(*target, question.library);
  if (!obstacle.none()) return Refuse(session, obstacle);
  question.options = WithAbsolutePaths(arguments.options, Folder(*target), attach);
  ordered_json reply;
  obstacle = Ask(*target, question, &reply);
  if (!obstacle.none()) {
    if (session.json && reply.is_object()) session.out << JsonText(reply);
    return Refuse(session, UnlessEnded(obstacle, arguments.pid));
  }
  try {
    return Show(session, name, *target, std::move(reply));
  } catch (const ordered_json::exception&) {
    return Refuse(session, {kExitRefused, "the agent's answer makes no sense; was it built from the same sources?"});
  }
}

}  // namespace

int RunAttach(Session& session, const AttachArguments& arguments) { return RunRequest(session, arguments, "attach"); }

int RunCtl(Session& session, const AttachArguments& arguments) {
  if (!arguments.options.empty() && arguments.action != "start") {
    session.err << "anttracks: only start takes options\n";
    return kExitUsage;
  }
  return RunRequest(session, arguments, arguments.action);
}

}  // namespace anttracks::analyzer
