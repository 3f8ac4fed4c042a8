// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/request.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "analyzer/attach/connection.h"

namespace anttracks::analyzer {
namespace {

using trace::Status;

constexpr std::chrono::seconds kListenWithin{10};
// A stop may wait 30 s for a disk that stands still, a start for a walk over a large heap.
constexpr std::chrono::minutes kAnswerWithin{5};
constexpr std::string_view kAnswered = "return code: 100";

// A folder with an empty file that the process may write to, and nobody else.
class ReplyFile {
 public:
  explicit ReplyFile(const Target& target) : folder_(target.root + "/tmp/anttracks-XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) {
      Fail("cannot make a folder like " + folder_);
      folder_.clear();
      return;
    }
    inner_ = folder_.substr(target.root.size()) + "/reply";
    const int fd = open(path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      Fail("cannot make " + path());
      return;
    }
    const bool foreign = geteuid() != target.uid;
    if (foreign && fchown(fd, target.uid, target.gid) != 0) Fail("cannot give " + path() + " to the process");
    close(fd);
    if (foreign && chown(folder_.c_str(), target.uid, target.gid) != 0) Fail("cannot give " + folder_ + " to the process");
  }
  ~ReplyFile() {
    if (folder_.empty()) return;
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  ReplyFile(const ReplyFile&) = delete;

  const Status& error() const { return error_; }
  // As the process names it.
  const std::string& inner() const { return inner_; }
  std::string Text() const {
    std::ifstream file(path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

 private:
  std::string path() const { return folder_ + "/reply"; }
  void Fail(const std::string& what) { error_ = Status::Error(what + ": " + std::generic_category().message(errno)); }

  std::string folder_, inner_;
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
  if (obstacle.none() && question.options.size() + 64 > kMostArgument) {
    obstacle = {kExitRefused, "a JVM takes options of " + std::to_string(kMostArgument - 64) + " characters at most"};
  }
  if (obstacle.none()) obstacle = Wake(target, kListenWithin);
  if (!obstacle.none()) return obstacle;
  const ReplyFile file(target);
  if (!file.error().ok()) return {kExitNoAnswer, file.error().message()};
  std::string options = "request=" + question.name + ",reply=" + file.inner();
  if (!question.options.empty()) options += "," + question.options;
  const auto answer = Execute(target.socket(), {"load", question.library, "true", options}, kAnswerWithin);
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
