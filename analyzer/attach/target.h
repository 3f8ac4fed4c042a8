// SPDX-License-Identifier: Apache-2.0
// A process that may be attached to, as /proc shows it, and why it cannot be. Looking does not touch the
// process, and is safe for root whatever the process puts in its way.
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

// Why something cannot be done, with what to do; code 0: it can.
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
  // /proc/PID: of this process for ever, also when another one gets its number.
  std::shared_ptr<const Descriptor> process;
  std::shared_ptr<const Descriptor> root;  // /proc/PID/root; nothing if not readable
  bool readable = false;                   // root and maps may be looked into
  bool ending = false;                     // if not: it has no memory any more
  bool same_mounts = true, same_pids = true;
  // Files in memory, as the process names them.
  std::string libjvm, agent;
  bool agent_deleted = false;
  std::optional<bool> patched;              // nothing: its libjvm.so cannot be read
  std::vector<std::string> arguments;       // of the command
  std::string option_variables;             // JAVA_TOOL_OPTIONS and the like
  std::map<std::string, std::string> perf;  // empty: it keeps none

  // In its /tmp.
  std::string socket() const { return ".java_pid" + std::to_string(inner_pid); }
  // The collector's usual name, "unknown" if nothing says it.
  std::string Collector() const;
};

// nullopt: there is no such process. proc: where /proc is.
std::optional<Target> Look(pid_t pid, const std::string& proc = "/proc");

// It has ended since it was looked at, or become another program that is no JVM.
bool HasEnded(const Target& target);

// Sends the signal, to no other process; 0 only looks whether it is there. 0, or -1 and errno: ESRCH if it is
// gone.
int Signal(const Target& target, int signal);

// Its /tmp, for reading its names and making files: never by a path. Empty, and errno, also if root asks and
// the process could not write there itself: it may have mounted another folder of the system at that place.
Descriptor OpenTmp(const Target& target);

// Whether attaching is forbidden; nothing: nobody can say without trying.
std::optional<bool> Forbidden(const Target& target);

// The user that asks.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
};

// What keeps the caller from attaching, whatever it is for.
Obstacle CheckProcess(const std::optional<Target>& target, pid_t pid, const Caller& caller);
// The file of that name, as the process would name it: a descriptor only to name it (O_PATH).
Descriptor FindLibrary(const Target& target, const std::string& library);
// What keeps the process from loading that library, given as it would name it.
Obstacle CheckLibrary(const Target& target, const std::string& library);
// What keeps it from being traced with these options.
Obstacle CheckMode(const Target& target, std::string_view options);

}  // namespace anttracks::analyzer
