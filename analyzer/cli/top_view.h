// SPDX-License-Identifier: Apache-2.0
// What `top` shows of a trace while it is written: a view for each kind of trace. Its numbers may be asked for
// at any moment of the reading.
//
// Thread safety: none. Units: bytes, ns since the start of the trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/report.h"
#include "analyzer/passes/pass.h"

namespace anttracks::analyzer {

// Rates are those of the last five seconds of the trace.
inline constexpr uint64_t kTopWindowNs = 5'000'000'000;

class TopView {
 public:
  // kRate: by what is allocated now; of censuses, by what has grown.
  enum class Order { kRate, kLive };

  TopView() = default;
  virtual ~TopView() = default;
  TopView(const TopView&) = delete;
  TopView& operator=(const TopView&) = delete;

  // Reads the trace, while it grows.
  virtual PassSummary Read(trace::ChunkSource& reader, PassOptions options) = 0;
  // No more is read.
  virtual void Stop() = 0;
  // Takes the present numbers. What follows is as of then.
  virtual void Update() = 0;

  virtual uint64_t time_ns() const = 0;  // of the last event
  virtual uint64_t losses() const = 0;
  // Empty: the trace has no end yet.
  virtual const std::string& end_reason() const = 0;
  // "allocates 3.00 MiB/s; 1.00 MiB in 7 objects after GC 3 (young, 1.20 ms); 4 collections in 5.00 ms"
  virtual std::string Status() const = 0;
  // What the numbers of the table are; what keys 'a' and 'l' do.
  virtual const char* about() const = 0;
  virtual const char* keys() const = 0;
  // The key of the column by which kRate sorts.
  virtual const char* rate_key() const = 0;
  // brief: names without packages, for which a line has room.
  virtual Report Table(Order order, bool brief) const = 0;
  // Its columns for which a line of so many characters has room, beside names; empty: all.
  std::vector<std::string_view> ColumnsWithin(size_t characters, Order order) const;

  Problems& problems() { return problems_; }

 protected:
  Problems problems_;
  Definitions definitions_{problems_};
};

std::unique_ptr<TopView> TopOfObjects();
// interval: of the samples, at the start of the trace.
std::unique_ptr<TopView> TopOfSamples(uint64_t interval);
std::unique_ptr<TopView> TopOfCensuses();

// A site and a class.
struct TopRow {
  std::string class_name, site;
  double bytes_per_second = 0, objects_per_second = 0, live_bytes = 0, live_objects = 0;
};
// Sorts them. rate, live: whether these numbers are estimates.
Report TopTable(std::vector<TopRow> rows, TopView::Order order, bool brief, Accuracy rate, Accuracy live);

// "Attr.visit(Attr.java:7)" of "com.sun.tools.javac.comp.Attr.visit(Attr.java:7)"
std::string WithoutPackage(const std::string& name);

}  // namespace anttracks::analyzer
