// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "analyzer/attach/perf_data.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;

// The name of the extension function by which the patched VM hands out its interface (vmpatch/abi/anttracks_abi.h).
constexpr std::string_view kExtension = "com.github.anttracks.functions.GetVM";
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kDisable = "DisableAttachMechanism";

// "" if it cannot be read.
std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<std::string> Strings(const std::string& text) {
  std::vector<std::string> strings;
  std::string part;
  for (std::istringstream in(text); std::getline(in, part, '\0');) strings.push_back(part);
  return strings;
}

// The line's words behind its name in /proc/PID/status.
std::vector<std::string> Words(const std::string& status, const std::string& name) {
  const size_t line = status.find("\n" + name + ":");
  if (line == std::string::npos) return {};
  const size_t begin = line + name.size() + 2;
  std::istringstream in(status.substr(begin, status.find('\n', begin) - begin));
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

void ReadStatus(const std::string& status, Target* target) {
  const auto number = [](const std::vector<std::string>& words, size_t at, int base = 10) -> uint64_t {
    return at < words.size() ? std::strtoull(words[at].c_str(), nullptr, base) : 0;
  };
  target->uid = static_cast<uid_t>(number(Words(status, "Uid"), 1));
  target->gid = static_cast<gid_t>(number(Words(status, "Gid"), 1));
  const auto pids = Words(status, "NSpid");
  target->inner_pid = pids.empty() ? target->pid : static_cast<pid_t>(number(pids, pids.size() - 1));
  target->catches_quit = (number(Words(status, "SigCgt"), 0, 16) >> (SIGQUIT - 1) & 1) != 0;
  const auto state = Words(status, "State");
  if (!state.empty()) target->state = state[0][0];
}

void ReadMaps(const std::string& maps, Target* target) {
  std::string line;
  for (std::istringstream in(maps); std::getline(in, line);) {
    const size_t begin = line.find('/');
    if (begin == std::string::npos) continue;
    std::string path = line.substr(begin);
    const bool deleted = path.ends_with(kDeleted);
    if (deleted) path.resize(path.size() - kDeleted.size());
    if (path.ends_with("/libjvm.so")) target->libjvm = path;
    if (!path.ends_with("/libanttracks.so")) continue;
    target->agent = path;
    target->agent_deleted = deleted;
  }
}

bool SameNamespace(const std::string& ours, const std::string& theirs) {
  std::error_code error;
  const fs::path a = fs::read_symlink(ours, error), b = fs::read_symlink(theirs, error);
  return error || a == b;
}

// One folder for each user that runs JVMs.
void ReadPerf(Target* target) {
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(target->root + "/tmp", error)) {
    if (folder.path().filename().string().rfind("hsperfdata_", 0) != 0) continue;
    const std::string path = folder.path().string() + "/" + std::to_string(target->inner_pid);
    struct stat made {};
    if (lstat(path.c_str(), &made) != 0 || !S_ISREG(made.st_mode) || made.st_uid != target->uid) continue;
    const std::string bytes = Read(path);
    target->perf = PerfTexts({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
}

void ReadOptions(const std::string& folder, Target* target) {
  target->arguments = Strings(Read(folder + "/cmdline"));
  for (const std::string& variable : Strings(Read(folder + "/environ"))) {
    for (const std::string_view name : {"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="}) {
      if (variable.rfind(name, 0) == 0) target->option_variables.append(1, ' ').append(variable, name.size());
    }
  }
}

std::string User(uid_t uid, gid_t gid) {
  return "user " + std::to_string(uid) + ", group " + std::to_string(gid);
}

std::string Process(const Target& target) { return "process " + std::to_string(target.pid); }

// What the process was told last about a flag of that name; nothing: nothing, as far as can be seen.
std::optional<bool> LastFlag(const Target& target, std::string_view flag) {
  std::optional<bool> last;
  std::vector<std::string> words = target.arguments;
  std::istringstream variables(target.option_variables);
  for (std::string word; variables >> word;) words.push_back(word);
  for (const std::string& word : words) {
    if (word == "-XX:+" + std::string(flag)) last = true;
    if (word == "-XX:-" + std::string(flag)) last = false;
  }
  return last;
}

// There are flags that the command line does not show.
bool HasHiddenFlags(const Target& target) {
  for (const std::string& word : target.arguments) {
    if (word.rfind("@", 0) == 0 || word.rfind("-XX:Flags=", 0) == 0 || word.rfind("-XX:VMOptionsFile=", 0) == 0) return true;
  }
  return false;
}

Obstacle OutOfReach(const Target& target) {
  const std::string what = Process(target);
  if (!target.same_mounts || !target.same_pids) {
    return {kExitOtherNamespace, what + " runs in another namespace (a container), whose files only root can see from here: run "
                                        "anttracks as root, or inside of it"};
  }
  return {kExitOtherNamespace, what + " lets nobody look into /proc/" + std::to_string(target.pid) +
                                   "/root (another user namespace, or it may not be traced): run anttracks as root"};
}

}  // namespace

std::optional<Target> Look(pid_t pid, const std::string& proc) {
  Target target;
  target.pid = pid;
  const std::string folder = proc + "/" + std::to_string(pid);
  const std::string status = Read(folder + "/status");
  if (status.empty()) return std::nullopt;
  ReadStatus(status, &target);
  target.root = folder + "/root";
  target.same_mounts = SameNamespace(proc + "/self/ns/mnt", folder + "/ns/mnt");
  target.same_pids = SameNamespace(proc + "/self/ns/pid", folder + "/ns/pid");
  const std::string maps = Read(folder + "/maps");
  std::error_code error;
  target.readable = !maps.empty() && fs::exists(target.root + "/", error);
  if (!target.readable) {
    // It may have ended while it was looked at.
    if (!fs::exists(folder, error)) return std::nullopt;
    std::ifstream now(folder + "/maps");
    target.ending = now.is_open() && now.peek() == std::ifstream::traits_type::eof();
    return target;
  }
  ReadMaps(maps, &target);
  if (target.libjvm.empty()) return target;
  const std::string vm = Read(target.root + target.libjvm);
  if (!vm.empty()) target.patched = vm.find(kExtension) != std::string::npos;
  ReadOptions(folder, &target);
  ReadPerf(&target);
  return target;
}

std::string Target::Collector() const {
  const auto found = perf.find("sun.gc.collector.0.name");
  const std::string name = found == perf.end() ? "" : found->second;
  if (name == "PSScavenge") return "Parallel";
  if (name == "Copy") return "Serial";
  if (!name.empty()) return name.substr(0, name.find(' '));  // "G1 young collection pauses"
  for (const char* flag : {"Parallel", "Serial", "G1", "Z", "Shenandoah"}) {
    if (LastFlag(*this, "Use" + std::string(flag) + "GC") == true) return flag;
  }
  return "unknown";
}

std::optional<bool> Forbidden(const Target& target) {
  const auto capabilities = target.perf.find("sun.rt.jvmCapabilities");
  if (capabilities != target.perf.end() && !capabilities->second.empty()) return capabilities->second[0] != '1';
  if (const auto flag = LastFlag(target, kDisable)) return *flag;
  if (HasHiddenFlags(target)) return std::nullopt;
  return false;
}

Obstacle CheckProcess(const std::optional<Target>& target, pid_t pid, const Caller& caller) {
  if (!target) {
    return {kExitNoProcess, "there is no process " + std::to_string(pid) + " here; jcmd -l lists the JVMs (in a container, those in it)"};
  }
  const std::string what = Process(*target);
  if (target->state == 'Z') return {kExitNoProcess, what + " has ended, its parent has only not asked for it yet"};
  if (caller.uid != 0 && (caller.uid != target->uid || caller.gid != target->gid)) {
    return {kExitOtherUser, what + " belongs to " + User(target->uid, target->gid) + ", you are " + User(caller.uid, caller.gid) +
                                ": a JVM only lets its own user attach, and root. Run anttracks as that user: sudo -u '#" +
                                std::to_string(target->uid) + "' anttracks ..."};
  }
  if (target->ending) return {kExitNoProcess, what + " has no memory: it is about to end, or a thread of the kernel"};
  if (!target->readable) return OutOfReach(*target);
  if (target->libjvm.empty()) {
    return {kExitNotJava, what + " is no HotSpot JVM: it has no libjvm.so in memory; jcmd -l lists the JVMs"};
  }
  if (target->state == 'T' || target->state == 't') {
    return {kExitNoAnswer, what + " is stopped (SIGSTOP, or a debugger): let it go on, kill -CONT " + std::to_string(pid)};
  }
  return {};
}

Obstacle CheckLibrary(const Target& target, const std::string& library) {
  std::error_code error;
  const std::string seen = target.root + library;
  if (fs::exists(seen, error)) return {};
  if (target.same_mounts) return {kExitNotLoaded, "there is no " + library + "; --lib=PATH says where libanttracks.so is"};
  return {kExitOtherNamespace, Process(target) + " runs in another mount namespace (a container), in which there is no " + library +
                                   ": copy libanttracks.so to where it can see it, and give that place with --lib=PATH"};
}

Obstacle CheckMode(const Target& target, std::string_view options) {
  std::string all(1, ',');
  all.append(options).append(1, ',');
  if (target.patched != false || all.find(",mode=full,") == std::string::npos) return {};
  return {kExitNotPatched, Process(target) + " runs " + target.libjvm +
                               ", which is not patched for AntTracks, so mode=full cannot be: run the patched JDK instead, build/jdk/bin/java "
                               "after scripts/quickstart, or leave out mode=full to sample"};
}

}  // namespace anttracks::analyzer
