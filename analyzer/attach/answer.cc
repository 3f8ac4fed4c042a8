// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/answer.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "trace/json_text.h"

namespace anttracks::analyzer {
namespace {

using nlohmann::ordered_json;
using trace::Result;
using trace::Status;

constexpr std::string_view kAnswered = "return code: 100";

using Type = bool (*)(const ordered_json&);

bool IsText(const ordered_json& json) { return json.is_string(); }
bool IsFlag(const ordered_json& json) { return json.is_boolean(); }
bool IsCount(const ordered_json& json) { return json.is_number_unsigned(); }
bool IsObject(const ordered_json& json) { return json.is_object(); }
bool IsNotes(const ordered_json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), IsText);
}
bool IsCounters(const ordered_json& json) {
  return json.is_object() && std::all_of(json.begin(), json.end(), IsCount);
}

struct Member {
  const char* name;
  Type type;
  bool needed = false;
};

bool Fits(const ordered_json& json, std::initializer_list<Member> members) {
  return std::all_of(members.begin(), members.end(), [&json](const Member& member) {
    const auto found = json.find(member.name);
    return found == json.end() ? !member.needed : member.type(*found);
  });
}

bool IsTrace(const ordered_json& json) {
  return json.is_object() && Fits(json, {{"file", IsText},
                                         {"mode", IsText},
                                         {"rotates", IsFlag},
                                         {"every_s", IsCount},
                                         {"options", IsText},
                                         {"duration_ns", IsCount},
                                         {"failure", IsText},
                                         {"counters", IsCounters, true}});
}

bool MakesSense(std::string_view request, const ordered_json& reply) {
  if (!reply.is_object() || !Fits(reply, {{"ok", IsFlag, true},
                                          {"error", IsText},
                                          {"notes", IsNotes},
                                          {"state", IsText},
                                          {"trace", IsTrace},
                                          {"stats", IsObject}})) {
    return false;
  }
  if (!reply["ok"].get<bool>() || request == "status") return true;
  return reply.contains(request == "dump-stats" ? "stats" : "trace");
}

}  // namespace

Result<Answer> ParseAnswer(std::string_view bytes) {
  Answer answer;
  const char* const end = bytes.data() + bytes.size();
  const auto [stop, error] = std::from_chars(bytes.data(), end, answer.code);
  if (error != std::errc() || stop == end || *stop != '\n')
    return Status::Error("the JVM ended, or does not want us to attach");
  answer.text = bytes.substr(static_cast<size_t>(stop + 1 - bytes.data()));
  return answer;
}

Obstacle ParseReply(std::string_view request, const Answer& answer, std::string_view file,
                    ordered_json* reply) {
  if (answer.text.rfind(kAnswered, 0) != 0) {
    return {kExitRefused,
            "the JVM did not load the agent: " + answer.text.substr(0, answer.text.find_last_not_of('\n') + 1)};
  }
  ordered_json parsed = trace::ParseOrderedJson(file);
  if (!MakesSense(request, parsed))
    return {kExitRefused, "the agent's answer makes no sense; was it built from the same sources?"};
  *reply = std::move(parsed);
  if ((*reply)["ok"] == true) return {};
  return {kExitRefused, reply->value("error", "the agent does not say why")};
}

}  // namespace anttracks::analyzer
