// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include "analyzer/attach/request.h"
#include "analyzer/cli/attach_report.h"
#include "analyzer/cli/commands.h"

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

Obstacle CheckLoaded(const Target& target) {
  const std::string what = fmt::format("process {}", target.pid);
  if (target.agent.empty()) {
    return {kExitNotLoaded,
            fmt::format("{} has no agent: anttracks attach {} [OPTIONS] loads it and begins a trace", what,
                        target.pid)};
  }
  if (!target.agent_deleted) return {};
  return {
      kExitNotLoaded,
      fmt::format(
          "{} has an agent whose file is gone or was replaced, {}, so it cannot be asked any more; its trace "
          "goes on until the process ends",
          what, target.agent)};
}

// The agent is one in a process: another copy of its library knows nothing of it.
Obstacle CheckSame(const Target& target, const std::string& library) {
  if (target.agent.empty()) return {};
  struct stat its {
  }, other{};
  if (fstat(FindLibrary(target, target.agent).get(), &its) != 0 ||
      fstat(FindLibrary(target, library).get(), &other) != 0)
    return {};
  if (its.st_dev == other.st_dev && its.st_ino == other.st_ino) return {};
  return {kExitRefused, fmt::format("process {} has the agent {} already, and another copy of the library "
                                    "would be another agent: leave out --lib",
                                    target.pid, target.agent)};
}

// What went wrong because the process was ending meanwhile is not worth telling.
Obstacle UnlessEnded(const Obstacle& obstacle, const Target& target) {
  return HasEnded(target) ? Obstacle{kExitNoProcess, fmt::format("process {} has ended meanwhile", target.pid)}
                          : obstacle;
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
    return Refuse(
        session, {kExitNotLoaded, "there is no libanttracks.so beside anttracks; --lib=PATH says where it is"});
  }
  obstacle = CheckSame(*target, question.library);
  if (!obstacle.none()) return Refuse(session, obstacle);
  question.options = WithAbsolutePaths(arguments.options, Folder(*target), attach);
  ordered_json reply;
  obstacle = Ask(*target, question, &reply);
  if (!obstacle.none()) {
    if (session.output == Output::kJson && reply.is_object()) PrintJson(session, reply);
    return Refuse(session, UnlessEnded(obstacle, *target));
  }
  return Report(session, name, *target, std::move(reply));
}

}  // namespace

int RunAttach(Session& session, const AttachArguments& arguments) {
  return RunRequest(session, arguments, "attach");
}

int RunCtl(Session& session, const AttachArguments& arguments) {
  const bool takes = arguments.action == CtlAction::kStart || arguments.action == CtlAction::kSet;
  if (!arguments.options.empty() && !takes) {
    session.err << "anttracks: only start and set take options\n";
    return kExitUsage;
  }
  if (arguments.options.empty() && arguments.action == CtlAction::kSet) {
    session.err << "anttracks: set what? Give budget=3%, or budget=100% for everything; of a trace of samples "
                   "interval=64K\n";
    return kExitUsage;
  }
  return RunRequest(session, arguments, std::string(NameOf<CtlAction>(kCtlActions, arguments.action)));
}

}  // namespace anttracks::analyzer
