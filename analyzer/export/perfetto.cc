// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/perfetto.h"

#include <map>

#include "analyzer/export/protobuf.h"

namespace anttracks::analyzer {
namespace {

// Numbers of fields, and values of enumerations.
constexpr uint32_t kTracePacket = 1;
namespace packet_field {
enum : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kFlags = 13,
  kTrack = 60
};
}
namespace clock_field {
enum : uint32_t { kClocks = 1, kId = 1, kTimestamp = 2 };
}
enum : uint64_t { kRealTime = 1, kBootTime = 6 };
namespace track_field {
enum : uint32_t { kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8 };
}
namespace process_field {
enum : uint32_t { kPid = 1, kCommandLine = 2, kName = 6 };
}
namespace counter_field {
enum : uint32_t { kUnit = 3 };
}
enum : uint64_t { kNumber = 2, kBytes = 3 };
namespace event_field {
enum : uint32_t { kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22, kName = 23, kCounterValue = 30 };
}
enum EventType : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
namespace annotation_field {
enum : uint32_t { kNumber = 3, kText = 6, kName = 10 };
}

constexpr uint64_t kSequence = 1, kStateCleared = 1;
// Of tracks. Those of counters follow.
constexpr uint64_t kProcessTrack = 1, kGcTrack = 2, kFirstCounter = 3;

ProtoMessage Annotation(const std::string& name, uint64_t number) {
  return ProtoMessage().Text(annotation_field::kName, name).Number(annotation_field::kNumber, number);
}
ProtoMessage Annotation(const std::string& name, const std::string& text) {
  return ProtoMessage().Text(annotation_field::kName, name).Text(annotation_field::kText, text);
}

class Writer {
 public:
  explicit Writer(const ExportProcess& process) : process_(process) {}

  std::string Bytes(const ExportTimeline& timeline, const std::vector<std::string>& notes) {
    Clocks();
    Tracks(timeline.censuses.empty() ? "Collections" : "Censuses");
    Facts(notes);
    for (const ExportGc& gc : timeline.gcs) Gc(gc);
    for (const ExportCensus& census : timeline.censuses) Census(census);
    return out_.bytes();
  }

 private:
  void Packet(const ProtoMessage& data) {
    ProtoMessage packet = data;
    out_.Message(kTracePacket, packet.Number(packet_field::kSequence, kSequence));
  }
  void Event(uint64_t time, const ProtoMessage& event) {
    Packet(ProtoMessage().Number(packet_field::kTimestamp, time).Message(packet_field::kTrackEvent, event));
  }
  static ProtoMessage EventOf(EventType type, uint64_t track) {
    return ProtoMessage().Number(event_field::kType, type).Number(event_field::kTrack, track);
  }
  void Clocks() {
    ProtoMessage clocks;
    const auto add = [&](uint64_t clock, uint64_t time) {
      clocks.Message(clock_field::kClocks,
                     ProtoMessage().Number(clock_field::kId, clock).Number(clock_field::kTimestamp, time));
    };
    add(kBootTime, 0);
    add(kRealTime, process_.started_ns);
    Packet(ProtoMessage()
               .Number(packet_field::kTimestamp, 0)
               .Message(packet_field::kClockSnapshot, clocks)
               .Number(packet_field::kFlags, kStateCleared));
  }
  void Tracks(const char* slices) {
    const ProtoMessage process = ProtoMessage()
                                     .Number(process_field::kPid, process_.pid)
                                     .Text(process_field::kCommandLine, process_.command)
                                     .Text(process_field::kName, process_.command);
    Packet(ProtoMessage().Message(
        packet_field::kTrack,
        ProtoMessage().Number(track_field::kUuid, kProcessTrack).Message(track_field::kProcess, process)));
    Packet(ProtoMessage().Message(packet_field::kTrack, ProtoMessage()
                                                            .Number(track_field::kUuid, kGcTrack)
                                                            .Text(track_field::kName, slices)
                                                            .Number(track_field::kParent, kProcessTrack)));
  }
  void Facts(const std::vector<std::string>& notes) {
    ProtoMessage event = EventOf(kInstant, kProcessTrack);
    event.Text(event_field::kName, "trace begins").Text(event_field::kCategory, "anttracks");
    const auto add = [&](const std::string& name, const std::string& value) {
      event.Message(event_field::kAnnotation, Annotation(name, value));
    };
    add("trace", process_.TraceId());
    add("started", process_.Started());
    add("VM", process_.vm);
    for (const ExportLabel& label : process_.labels) add("label " + label.name, label.value);
    for (const std::string& note : notes) add("note", note);
    Event(0, event);
  }
  void Count(uint64_t time, const std::string& name, uint64_t value, uint64_t unit = kBytes) {
    const auto [at, is_new] = counters_.try_emplace(name, kFirstCounter + counters_.size());
    if (is_new) {
      const ProtoMessage counter = ProtoMessage().Number(counter_field::kUnit, unit);
      Packet(ProtoMessage().Message(packet_field::kTrack, ProtoMessage()
                                                              .Number(track_field::kUuid, at->second)
                                                              .Text(track_field::kName, name)
                                                              .Number(track_field::kParent, kProcessTrack)
                                                              .Message(track_field::kCounter, counter)));
    }
    ProtoMessage event = EventOf(kCounter, at->second);
    Event(time, event.Number(event_field::kCounterValue, value));
  }
  void Gc(const ExportGc& gc) {
    const bool known = !gc.kind.empty();
    if (known) Counters(gc.begin_ns, gc, &ExportSpace::used_before, gc.used_before);
    ProtoMessage begin = EventOf(kSliceBegin, kGcTrack);
    begin.Text(event_field::kCategory, "gc");
    begin.Text(event_field::kName, !known ? "pause" : gc.cause.empty() ? gc.kind : gc.kind + ": " + gc.cause);
    begin.Message(event_field::kAnnotation, Annotation("gc", gc.id));
    if (known) {
      for (const auto& [name, totals] : {std::pair("moved", gc.moved), {"died", gc.died}, {"live", gc.live}}) {
        if (!gc.exact) continue;
        begin.Message(event_field::kAnnotation, Annotation(name + std::string(" objects"), totals.objects));
        begin.Message(event_field::kAnnotation, Annotation(name + std::string(" bytes"), totals.bytes));
      }
    }
    Event(gc.begin_ns, begin);
    Event(gc.end_ns, EventOf(kSliceEnd, kGcTrack));
    if (known) Counters(gc.end_ns, gc, &ExportSpace::used_after, gc.used_after);
  }
  // A counter of what is live has only those censuses that say what is.
  void Census(const ExportCensus& census) {
    Count(census.time_ns, "counted bytes", census.counted.bytes);
    Count(census.time_ns, "counted objects", census.counted.objects, kNumber);
    if (census.old_space) {
      Count(census.time_ns, "live bytes", census.counted.bytes);
      Count(census.time_ns, "live objects", census.counted.objects, kNumber);
    }
    for (const auto& [name, used] : census.spaces) Count(census.time_ns, name + " used", used);
    ProtoMessage begin = EventOf(kSliceBegin, kGcTrack);
    begin.Text(event_field::kCategory, "census");
    begin.Text(event_field::kName, "counting");
    begin.Message(event_field::kAnnotation, Annotation("gc", census.gc));
    begin.Message(event_field::kAnnotation, Annotation("kind", census.kind));
    begin.Message(event_field::kAnnotation, Annotation("after a collection of the old space",
                                                       std::string(census.old_space ? "yes" : "no")));
    Event(census.time_ns, begin);
    Event(census.time_ns + census.count_ns, EventOf(kSliceEnd, kGcTrack));
  }
  void Counters(uint64_t time, const ExportGc& gc, uint64_t ExportSpace::*used, uint64_t all) {
    Count(time, "heap used", all);
    for (const ExportSpace& space : gc.spaces) Count(time, space.name + " used", space.*used);
  }

  const ExportProcess& process_;
  ProtoMessage out_;
  std::map<std::string, uint64_t> counters_;  // tracks by name
};

}  // namespace

std::string PerfettoBytes(const ExportProcess& process, const ExportTimeline& timeline,
                          const std::vector<std::string>& notes) {
  return Writer(process).Bytes(timeline, notes);
}

}  // namespace anttracks::analyzer
