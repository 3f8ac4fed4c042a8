// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/request.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

#include "analyzer/attach/answer.h"
#include "analyzer/attach/connection.h"
#include "analyzer/attach/removed_on_signal.h"

namespace anttracks::analyzer {
namespace {

using trace::Status;

constexpr std::chrono::seconds kListenWithin{10};
// A stop may wait a minute for a disk that stands still, a start for a walk over a large heap.
constexpr std::chrono::minutes kAnswerWithin{5};

// An empty file that the process may write to, and nobody else, in a folder of ours, which the process may pass
// only. Everything goes by descriptors: whoever owns the process' /tmp may rename and replace what is in it.
class ReplyFile {
 public:
  explicit ReplyFile(const Target& target) : tmp_(OpenTmp(target)) {
    const SignalsHeld held;
    if (!tmp_.ok() || !MakeFolder(target)) {
      Fail("cannot make a folder in the /tmp of the process");
      return;
    }
    file_ =
        Descriptor(openat(folder_.get(), kReplyName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file_.ok()) file_on_signal_.Remember(folder_.get(), kReplyName, 0);
    if (!file_.ok()) {
      Fail("cannot make " + inner());
    } else if (geteuid() != target.uid && fchown(file_.get(), target.uid, target.gid) != 0) {
      Fail("cannot give " + inner() + " to the process");
    }
  }
  ~ReplyFile() {
    if (file_.ok()) unlinkat(folder_.get(), kReplyName, 0);
    if (!name_.empty()) unlinkat(tmp_.get(), name_.c_str(), AT_REMOVEDIR);
  }
  ReplyFile(const ReplyFile&) = delete;

  const Status& error() const { return error_; }
  // As the process names it.
  std::string inner() const { return "/tmp/" + name_ + "/" + kReplyName; }
  // The file's position is still where it was made.
  std::string Text() const { return ReadAtMost(file_, kMostAnswer); }

 private:
  static constexpr const char* kReplyName = "reply";

  bool MakeFolder(const Target& target) {
    std::random_device random;
    const std::string name = fmt::format("anttracks-{}-{:08x}", target.inner_pid, random());
    if (mkdirat(tmp_.get(), name.c_str(), 0711) != 0) return false;
    name_ = name;
    folder_on_signal_.Remember(tmp_.get(), name_, AT_REMOVEDIR);
    Descriptor folder(openat(tmp_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat made {};
    if (!folder.ok() || fstat(folder.get(), &made) != 0) return false;
    errno = EPERM;  // somebody has put another one there, or mounted one of the system's over it
    if (made.st_uid != geteuid() || !SameMount(tmp_, folder)) return false;
    folder_ = std::move(folder);
    return fchmod(folder_.get(), 0711) == 0;
  }
  void Fail(const std::string& what) {
    error_ = Status::Error(what + ": " + std::generic_category().message(errno));
  }

  const Descriptor tmp_;
  Descriptor folder_, file_;
  std::string name_;
  RemovedOnSignal folder_on_signal_, file_on_signal_;
  Status error_;
};

}  // namespace

Obstacle Ask(const Target& target, const Question& question, nlohmann::ordered_json* reply) {
  Obstacle obstacle = CheckLibrary(target, question.library);
  if (obstacle.none()) obstacle = CheckMode(target, question.options);
  if (obstacle.none() && question.library.size() > kMostArgument) {
    obstacle = {kExitRefused, "a JVM takes paths of " + std::to_string(kMostArgument) + " characters at most"};
  }
  if (obstacle.none() && question.options.size() + 64 > kMostArgument) {
    obstacle = {kExitRefused,
                "a JVM takes options of " + std::to_string(kMostArgument - 64) + " characters at most"};
  }
  if (obstacle.none()) obstacle = Wake(target, kListenWithin);
  if (!obstacle.none()) return obstacle;
  const ReplyFile file(target);
  if (!file.error().ok()) return {kExitNoAnswer, file.error().message()};
  std::string options = "request=" + question.name + ",reply=" + file.inner();
  if (!question.options.empty()) options += "," + question.options;
  const auto answer = Execute(target, {"load", question.library, "true", options}, kAnswerWithin);
  if (!answer.ok()) return {kExitNoAnswer, answer.message()};
  return ParseReply(question.name, *answer, file.Text(), reply);
}

std::string WithAbsolutePaths(std::string_view options, const std::string& folder, bool default_file) {
  std::string here;
  for (const char c : folder) here.append(c == '%' ? 2 : 1, c);
  std::string result;
  bool file_given = false;
  // Empty pairs stay: it is the agent that refuses them.
  for (size_t begin = 0, comma = 0; !options.empty() && comma != std::string_view::npos; begin = comma + 1) {
    comma = options.find(',', begin);
    const std::string_view pair = options.substr(begin, comma - begin);
    result += begin == 0 ? "" : ",";
    const size_t path = pair.find('=') + 1;
    const std::string_view key = pair.substr(0, path);
    file_given |= key == "file=";
    const bool relative = (key == "file=" || key == "stats=") && path < pair.size() && pair[path] != '/';
    result += relative && !here.empty() ? std::string(key) + here + "/" + std::string(pair.substr(path))
                                        : std::string(pair);
  }
  if (default_file && !file_given && !here.empty()) {
    result += std::string(result.empty() ? "" : ",") + "file=" + here + "/anttracks-%p.trace";
  }
  return result;
}

}  // namespace anttracks::analyzer
