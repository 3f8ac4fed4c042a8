// SPDX-License-Identifier: Apache-2.0
// Allocation sites of a trace as stacks of a heap dump: the site, and the callers that its method was inlined
// into. A site that is no place in the code ("<vm>") is a stack of one frame with that name as its method.
//
// Thread safety: none. Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "analyzer/hprof/hprof_writer.h"
#include "analyzer/model/definitions.h"

namespace anttracks::hprof {

class SiteStacks {
 public:
  // The serial number of a class in the dump by its name in a trace; 0: it has none.
  using ClassSerial = std::function<uint32_t(const std::string& source_name)>;

  SiteStacks(HprofWriter& writer, const analyzer::Definitions& definitions, ClassSerial class_serial)
      : writer_(&writer), definitions_(&definitions), class_serial_(std::move(class_serial)) {}

  // The serial number of the site's stack, which is written when it is first asked for.
  uint32_t Of(uint32_t site);

 private:
  uint64_t FrameOf(uint32_t site);

  HprofWriter* writer_;
  const analyzer::Definitions* definitions_;
  ClassSerial class_serial_;
  std::unordered_map<uint32_t, uint64_t> frames_;
  std::unordered_map<uint32_t, uint32_t> stacks_;
};

}  // namespace anttracks::hprof
