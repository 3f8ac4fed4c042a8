// SPDX-License-Identifier: Apache-2.0
// What /proc shows about a process to attach to, and the reasons why that is not possible. Looking does not
// affect the process, and is safe for root even if the process is hostile.
//
// Thread safety: none. Ownership: values, and two descriptors that all copies share.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attach/process_files.h"

namespace anttracks::analyzer {

// Exit codes of attach and ctl, besides 0 and 2; in docs/attach.md.
enum AttachExit : int {
  kExitNoProcess = 5,
  kExitNotJava = 6,
  kExitOtherUser = 7,
  kExitOtherNamespace = 8,
  kExitForbidden = 9,
  kExitNotPatched = 10,
  kExitNoAnswer = 11,
  kExitRefused = 12,
  kExitNotLoaded = 13,
};

// Why something cannot be done, and what to do about it. code 0: it can be done.
struct Obstacle {
  int code = 0;
  std::string message;
  bool none() const { return code == 0; }
};

struct Target {
  pid_t pid = 0;        // as we see it
  pid_t inner_pid = 0;  // as it sees itself
  uid_t uid = 0;        // effective
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary ones
  char state = '?';           // of /proc/PID/stat
  bool catches_quit = false;  // SIGQUIT does not end it
  // /proc/PID: refers to this process even if another one gets its number.
  std::shared_ptr<const Descriptor> process;
  std::shared_ptr<const Descriptor> root;  // /proc/PID/root; nullptr if not readable
  bool readable = false;                   // root and maps can be read
  bool ending = false;                     // not readable because the process is ending and has no memory
  bool same_mounts = true, same_pids = true;
  // Files in memory, as the process names them.
  std::string libjvm, agent;
  bool agent_deleted = false;
  std::optional<bool> patched;              // nullopt: its libjvm.so cannot be read
  std::vector<std::string> arguments;       // of the command
  std::string option_variables;             // JAVA_TOOL_OPTIONS and the like
  std::map<std::string, std::string> perf;  // texts of hsperfdata; empty: the JVM has none

  // The name of the JVM's socket in its /tmp.
  std::string socket() const { return ".java_pid" + std::to_string(inner_pid); }
  // The collector's usual name; "unknown" if nothing shows it.
  std::string Collector() const;
};

// Looks at a process. nullopt: it does not exist. proc: the path of /proc.
std::optional<Target> Look(pid_t pid, const std::string& proc = "/proc");

// Whether the process has ended since, or has become a program that is not a JVM.
bool HasEnded(const Target& target);

// Sends the signal to this process and no other; signal 0 only checks whether it exists. Returns 0, or -1 with
// errno: ESRCH if it has ended.
int Signal(const Target& target, int signal);

// Opens the process's /tmp, to list names and make files there without using paths. Empty, with errno: an
// error; also if root asks and the process itself could not write there, as it may have mounted another folder
// of the system at that place.
Descriptor OpenTmp(const Target& target);

// Whether attaching is forbidden; nullopt: only trying can show it.
std::optional<bool> Forbidden(const Target& target);

// The user who asks.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
};

// What prevents the caller from attaching to the process for any purpose.
Obstacle CheckProcess(const std::optional<Target>& target, pid_t pid, const Caller& caller);
// Finds a library by the name that the process would use; the descriptor only names the file (O_PATH).
Descriptor FindLibrary(const Target& target, const std::string& library);
// What prevents the process from loading the library, given by the name that the process would use.
Obstacle CheckLibrary(const Target& target, const std::string& library);
// What prevents the process from being traced with these options.
Obstacle CheckMode(const Target& target, std::string_view options);

}  // namespace anttracks::analyzer
