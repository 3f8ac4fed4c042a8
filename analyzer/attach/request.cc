// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/request.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

#include "analyzer/attach/connection.h"
#include "analyzer/attach/removed_on_signal.h"

namespace anttracks::analyzer {
namespace {

using trace::Status;

constexpr std::chrono::seconds kListenWithin{10};
// A stop may wait 30 s for a disk that stands still, a start for a walk over a large heap.
constexpr std::chrono::minutes kAnswerWithin{5};
constexpr std::string_view kAnswered = "return code: 100";

// An empty file that the process may write to, and nobody else, in a folder of ours, which the process may pass only.
// Everything goes by descriptors: whoever owns the process' /tmp may rename and replace what is in it.
class ReplyFile {
 public:
  explicit ReplyFile(const Target& target) : tmp_(OpenTmp(target)) {
    if (tmp_ < 0 || !MakeFolder()) {
      Fail("cannot make a folder in the /tmp of the process");
      return;
    }
    file_ = openat(folder_, kReplyName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file_ >= 0) file_on_signal_.Remember(folder_, kReplyName, 0);
    if (file_ < 0) {
      Fail("cannot make " + inner());
    } else if (geteuid() != target.uid && fchown(file_, target.uid, target.gid) != 0) {
      Fail("cannot give " + inner() + " to the process");
    }
  }
  ~ReplyFile() {
    if (file_ >= 0) unlinkat(folder_, kReplyName, 0);
    if (folder_ >= 0) unlinkat(tmp_, name_.c_str(), AT_REMOVEDIR);
    for (const int fd : {file_, folder_, tmp_}) {
      if (fd >= 0) close(fd);
    }
  }
  ReplyFile(const ReplyFile&) = delete;

  const Status& error() const { return error_; }
  // As the process names it.
  std::string inner() const { return "/tmp/" + name_ + "/" + kReplyName; }
  std::string Text() const {
    std::string text(kMostReply, '\0');
    size_t size = 0;
    for (ssize_t n = 1; n > 0 && size < text.size(); size += n > 0 ? static_cast<size_t>(n) : 0) {
      n = pread(file_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    }
    text.resize(size);
    return text;
  }

 private:
  static constexpr const char* kReplyName = "reply";
  static constexpr size_t kMostReply = 1 << 20;

  bool MakeFolder() {
    std::random_device random;
    name_ = fmt::format("anttracks-{:08x}{:08x}", random(), random());
    if (mkdirat(tmp_, name_.c_str(), 0711) != 0) return false;
    folder_on_signal_.Remember(tmp_, name_, AT_REMOVEDIR);
    folder_ = openat(tmp_, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat made {};
    if (folder_ < 0 || fstat(folder_, &made) != 0) return false;
    errno = EPERM;  // somebody has put another one there
    return made.st_uid == geteuid() && fchmod(folder_, 0711) == 0;
  }
  void Fail(const std::string& what) { error_ = Status::Error(what + ": " + std::generic_category().message(errno)); }

  const int tmp_;
  int folder_ = -1, file_ = -1;
  std::string name_;
  RemovedOnSignal folder_on_signal_, file_on_signal_;
  Status error_;
};

Obstacle Read(const ReplyFile& file, const Answer& answer, nlohmann::ordered_json* reply) {
  if (answer.text.rfind(kAnswered, 0) != 0) {
    return {kExitRefused, "the JVM did not load the agent: " + answer.text.substr(0, answer.text.find_last_not_of('\n') + 1)};
  }
  *reply = nlohmann::ordered_json::parse(file.Text(), nullptr, false);
  if (!reply->is_object() || !reply->contains("ok")) return {kExitRefused, "the agent's answer makes no sense; was it built from the same sources?"};
  if ((*reply)["ok"] == true) return {};
  return {kExitRefused, reply->value("error", "the agent does not say why")};
}

}  // namespace

Obstacle Ask(const Target& target, const Question& question, nlohmann::ordered_json* reply) {
  Obstacle obstacle = CheckLibrary(target, question.library);
  if (obstacle.none()) obstacle = CheckMode(target, question.options);
  if (obstacle.none() && question.library.size() > kMostArgument) {
    obstacle = {kExitRefused, "a JVM takes paths of " + std::to_string(kMostArgument) + " characters at most"};
  }
  if (obstacle.none() && question.options.size() + 64 > kMostArgument) {
    obstacle = {kExitRefused, "a JVM takes options of " + std::to_string(kMostArgument - 64) + " characters at most"};
  }
  if (obstacle.none()) obstacle = Wake(target, kListenWithin);
  if (!obstacle.none()) return obstacle;
  const ReplyFile file(target);
  if (!file.error().ok()) return {kExitNoAnswer, file.error().message()};
  std::string options = "request=" + question.name + ",reply=" + file.inner();
  if (!question.options.empty()) options += "," + question.options;
  const auto answer = Execute(target.socket(), target.pid, {"load", question.library, "true", options}, kAnswerWithin);
  if (!answer.ok()) return {kExitNoAnswer, answer.message()};
  return Read(file, *answer, reply);
}

std::string WithAbsolutePaths(std::string_view options, const std::string& folder, bool default_file) {
  std::string here;
  for (const char c : folder) here.append(c == '%' ? 2 : 1, c);
  std::string result;
  bool file_given = false;
  while (!options.empty()) {
    const size_t comma = options.find(',');
    const std::string_view pair = options.substr(0, comma);
    options.remove_prefix(comma == std::string_view::npos ? options.size() : comma + 1);
    result += result.empty() ? "" : ",";
    const size_t path = pair.find('=') + 1;
    const std::string_view key = pair.substr(0, path);
    file_given |= key == "file=";
    const bool relative = (key == "file=" || key == "stats=") && path < pair.size() && pair[path] != '/';
    result += relative && !here.empty() ? std::string(key) + here + "/" + std::string(pair.substr(path)) : std::string(pair);
  }
  if (default_file && !file_given && !here.empty()) {
    result += std::string(result.empty() ? "" : ",") + "file=" + here + "/anttracks-%p.trace";
  }
  return result;
}

}  // namespace anttracks::analyzer
