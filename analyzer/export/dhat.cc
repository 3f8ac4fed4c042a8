// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/dhat.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kMicrosecond = 1000;  // ns

// Frames as dh_view has them: 0 is the root, then those of the code, then the classes.
nlohmann::ordered_json FrameTable(const ExportProfile& profile) {
  auto table = nlohmann::ordered_json::array({"[root]"});
  for (const ExportFrame& frame : profile.frames) table.push_back(frame.text);
  for (const std::string& name : profile.classes) table.push_back(name);
  return table;
}

nlohmann::ordered_json PointJson(const ExportProfile& profile, const DhatContents& contents,
                                 const DhatPoint& point) {
  nlohmann::ordered_json json{{"tb", point.allocated.bytes}, {"tbk", point.allocated.objects}};
  if (contents.lives) {
    json["tl"] = point.lived_ns / kMicrosecond;
    json["mb"] = point.most.bytes;
    json["mbk"] = point.most.objects;
    json["gb"] = point.at_highest.bytes;
    json["gbk"] = point.at_highest.objects;
    json["eb"] = point.live.bytes;
    json["ebk"] = point.live.objects;
  }
  auto frames = nlohmann::ordered_json::array({1 + profile.frames.size() + point.of_class});
  for (const uint32_t frame : profile.stacks[point.stack]) frames.push_back(1 + frame);
  json["fs"] = std::move(frames);
  return json;
}

}  // namespace

std::string DhatText(const ExportProfile& profile, const DhatContents& contents) {
  nlohmann::ordered_json json{
      {"dhatFileVersion", 2}, {"mode", "heap"}, {"verb", "Allocated"}, {"bklt", contents.lives},
      {"bkacc", false},       {"tu", "µs"},     {"Mtu", "s"}};
  if (contents.lives) json["tuth"] = contents.short_lived_ns / kMicrosecond;
  json["cmd"] = profile.process.command;
  json["pid"] = profile.process.pid;
  if (contents.lives) json["tg"] = contents.highest_ns / kMicrosecond;
  json["te"] = profile.process.duration_ns / kMicrosecond;
  json["pps"] = nlohmann::ordered_json::array();
  for (const DhatPoint& point : contents.points) json["pps"].push_back(PointJson(profile, contents, point));
  json["ftbl"] = FrameTable(profile);
  return json.dump(1) + "\n";
}

}  // namespace anttracks::analyzer
