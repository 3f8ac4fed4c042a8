// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <sstream>

#include "analyzer/attach/perf_data.h"
#include "analyzer/attach/proc_text.h"

namespace anttracks::analyzer {
namespace {

// The name of the extension function by which the patched VM hands out its interface
// (vmpatch/abi/anttracks_abi.h).
constexpr std::string_view kExtension = "com.github.anttracks.functions.GetVM";
constexpr std::string_view kDisable = "DisableAttachMechanism";

// Far above what there is in a process that means well.
constexpr size_t kMostStatus = 1 << 20;
constexpr size_t kMostMaps = 256 << 20;
constexpr size_t kMostLine = PATH_MAX + 256;
constexpr size_t kMostArguments = 4 << 20;
constexpr size_t kMostPerf = 512 << 10;
constexpr size_t kMostNames = 100'000;  // in its /tmp
constexpr size_t kMostVm = size_t{1} << 30;
constexpr std::chrono::seconds kReadVmWithin{20};

// In the folder /proc/PID.
Descriptor Open(const Descriptor& process, const char* name, int flags = O_RDONLY) {
  return Descriptor(openat(process.get(), name, flags | O_CLOEXEC));
}

std::string Read(const Descriptor& process, const char* name, size_t most) {
  return ReadAtMost(Open(process, name), most);
}

bool SameNamespace(const std::string& proc, const Descriptor& process, const char* name) {
  struct stat ours {
  }, theirs{};
  if (stat((proc + "/self/" + name).c_str(), &ours) != 0 || fstatat(process.get(), name, &theirs, 0) != 0)
    return true;
  return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

// Whether the VM's file has the extension's name; nothing: it cannot be read.
std::optional<bool> IsPatched(const Target& target) {
  // The kernel names the file itself, without links.
  const Descriptor file = OpenFile(Find(target.root->get(), target.libjvm, Links::kRefused));
  struct stat made {};
  if (!file.ok() || fstat(file.get(), &made) != 0 || static_cast<uint64_t>(made.st_size) > kMostVm)
    return std::nullopt;
  const auto until = std::chrono::steady_clock::now() + kReadVmWithin;
  std::string window;  // the end of the block before, and a block
  for (size_t done = 0; done < kMostVm && std::chrono::steady_clock::now() < until;) {
    const std::string block = ReadAtMost(file, 1 << 20);
    if (block.empty()) return done != 0 ? std::optional(false) : std::nullopt;
    window.erase(0, window.size() - std::min(window.size(), kExtension.size() - 1)).append(block);
    if (window.find(kExtension) != std::string::npos) return true;
    done += block.size();
  }
  return std::nullopt;
}

// The JVM's own file in a folder of its user's.
std::string PerfFile(const Target& target, const Descriptor& tmp, const char* folder) {
  const std::string path = std::string(folder) + "/" + std::to_string(target.inner_pid);
  const Descriptor file = OpenFile(Find(tmp.get(), path, Links::kRefused));
  struct stat made {};
  const bool believed =
      file.ok() && fstat(file.get(), &made) == 0 && (made.st_uid == target.uid || made.st_uid == 0);
  return believed ? ReadAtMost(file, kMostPerf) : "";
}

// One folder for each user that runs JVMs.
void ReadPerf(Target* target) {
  const Descriptor tmp = Find(target->root->get(), "tmp", Links::kRefused);
  const int listed = openat(tmp.get(), ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  DIR* const names = listed < 0 ? nullptr : fdopendir(listed);
  if (names == nullptr) return;
  for (size_t i = 0; i < kMostNames && target->perf.empty(); i++) {
    const dirent* const entry = readdir(names);
    if (entry == nullptr) break;
    if (std::string_view(entry->d_name).substr(0, 11) != "hsperfdata_") continue;
    const std::string bytes = PerfFile(*target, tmp, entry->d_name);
    target->perf = PerfTexts({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  closedir(names);
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
    if (word.rfind("@", 0) == 0 || word.rfind("-XX:Flags=", 0) == 0 || word.rfind("-XX:VMOptionsFile=", 0) == 0)
      return true;
  }
  return false;
}

Obstacle OutOfReach(const Target& target) {
  const std::string what = Process(target);
  if (!target.same_mounts || !target.same_pids) {
    return {kExitOtherNamespace,
            what +
                " runs in another namespace (a container), whose files only root can see from here: run "
                "anttracks as root, or inside of it"};
  }
  return {kExitOtherNamespace,
          what + " lets nobody look into /proc/" + std::to_string(target.pid) +
              "/root (another user namespace, or it may not be traced): run anttracks as root"};
}

}  // namespace

std::optional<Target> Look(pid_t pid, const std::string& proc) {
  Target target;
  target.pid = pid;
  const std::string folder = proc + "/" + std::to_string(pid);
  target.process = std::make_shared<const Descriptor>(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Descriptor& process = *target.process;
  const std::string status = Read(process, "status", kMostStatus);
  if (status.empty()) return std::nullopt;
  ReadStatus(status, &target);
  target.same_mounts = SameNamespace(proc, process, "ns/mnt");
  target.same_pids = SameNamespace(proc, process, "ns/pid");
  const Descriptor maps = Open(process, "maps");
  const bool mapped =
      EachLine(maps, kMostLine, kMostMaps, [&target](std::string_view line) { ReadMapsLine(line, &target); });
  target.root = std::make_shared<const Descriptor>(Open(process, "root", O_PATH | O_DIRECTORY));
  target.readable = mapped && target.root->ok();
  if (!target.readable) {
    // It may have ended while it was looked at.
    const std::string status_now = Read(process, "status", kMostStatus);
    if (status_now.empty()) return std::nullopt;
    ReadStatus(status_now, &target);
    const Descriptor maps_now = Open(process, "maps");
    target.ending = maps_now.ok() && !EachLine(maps_now, kMostLine, kMostMaps, [](std::string_view) {});
    target.libjvm.clear();
    return target;
  }
  if (target.libjvm.empty()) return target;
  target.patched = IsPatched(target);
  target.arguments = Strings(Read(process, "cmdline", kMostArguments));
  ReadEnvironment(Read(process, "environ", kMostArguments), &target);
  ReadPerf(&target);
  return target;
}

bool HasEnded(const Target& target) {
  Target now;
  const std::string status = Read(*target.process, "status", kMostStatus);
  if (status.empty()) return true;
  ReadStatus(status, &now);
  if (now.state == 'Z' || now.state == 'X') return true;
  const auto take = [&now](std::string_view line) { ReadMapsLine(line, &now); };
  EachLine(Open(*target.process, "maps"), kMostLine, kMostMaps, take);
  return now.libjvm.empty();
}

int Signal(const Target& target, int signal) {
  const int process = target.process ? target.process->get() : -1;
  const long sent = syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0);
  // Linux before 5.1, or a filter that does not know the call.
  if (sent == 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(sent);
  if (faccessat(process, "status", F_OK, 0) == 0) return kill(target.pid, signal);
  errno = ESRCH;
  return -1;
}

Descriptor OpenTmp(const Target& target) {
  const Descriptor found = target.root ? Find(target.root->get(), "tmp", Links::kRefused) : Descriptor();
  Descriptor tmp(found.ok() ? openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  struct stat made {};
  if (!tmp.ok() || fstat(tmp.get(), &made) != 0) return {};
  if (geteuid() != 0 || target.uid == 0 || made.st_uid == target.uid || (made.st_mode & S_IWOTH) != 0)
    return tmp;
  const auto& groups = target.groups;
  const bool member =
      made.st_gid == target.gid || std::find(groups.begin(), groups.end(), made.st_gid) != groups.end();
  if (member && (made.st_mode & S_IWGRP) != 0) return tmp;
  errno = EACCES;
  return {};
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
    return {kExitNoProcess, "there is no process " + std::to_string(pid) +
                                " here; jcmd -l lists the JVMs (in a container, those in it)"};
  }
  const std::string what = Process(*target);
  if (target->state == 'Z')
    return {kExitNoProcess, what + " has ended, its parent has only not asked for it yet"};
  if (caller.uid != 0 && (caller.uid != target->uid || caller.gid != target->gid)) {
    return {kExitOtherUser,
            what + " belongs to " + User(target->uid, target->gid) + ", you are " +
                User(caller.uid, caller.gid) +
                ": a JVM only lets its own user attach, and root. Run anttracks as that user: sudo -u '#" +
                std::to_string(target->uid) + "' anttracks ..."};
  }
  if (target->ending)
    return {kExitNoProcess, what + " has no memory: it is about to end, or a thread of the kernel"};
  if (!target->readable) return OutOfReach(*target);
  if (target->libjvm.empty()) {
    return {kExitNotJava, what + " is no HotSpot JVM: it has no libjvm.so in memory; jcmd -l lists the JVMs"};
  }
  if (target->state == 'T' || target->state == 't') {
    return {kExitNoAnswer,
            what + " is stopped (SIGSTOP, or a debugger): let it go on, kill -CONT " + std::to_string(pid)};
  }
  return {};
}

Descriptor FindLibrary(const Target& target, const std::string& library) {
  return target.root ? Find(target.root->get(), library, Links::kWithinRoot) : Descriptor();
}

Obstacle CheckLibrary(const Target& target, const std::string& library) {
  struct stat made {};
  if (fstat(FindLibrary(target, library).get(), &made) == 0 && S_ISREG(made.st_mode)) return {};
  if (target.same_mounts)
    return {kExitNotLoaded, "there is no " + library + "; --lib=PATH says where libanttracks.so is"};
  return {kExitOtherNamespace,
          Process(target) + " runs in another mount namespace (a container), in which there is no " + library +
              ": copy libanttracks.so to where it can see it, and give that place with --lib=PATH"};
}

Obstacle CheckMode(const Target& target, std::string_view options) {
  std::string all(1, ',');
  all.append(options).append(1, ',');
  if (target.patched != false) return {};
  for (const std::string mode : {"mode=full", "mode=census"}) {
    if (all.find("," + mode + ",") == std::string::npos) continue;
    return {kExitNotPatched, Process(target) + " runs " + target.libjvm +
                                 ", which is not patched for AntTracks, so " + mode +
                                 " cannot be: run the patched JDK instead (jdk/bin/java of a package, "
                                 "build/jdk/bin/java after scripts/quickstart), or leave out " +
                                 mode + " to sample"};
  }
  return {};
}

}  // namespace anttracks::analyzer
