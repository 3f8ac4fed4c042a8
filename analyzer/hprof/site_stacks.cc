// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/site_stacks.h"

#include <vector>

#include "analyzer/model/labels.h"

namespace anttracks::hprof {
namespace {

constexpr int32_t kLineUnknown = -1, kLineNative = -3;

}  // namespace

uint32_t SiteStacks::Of(uint32_t site) {
  if (const auto known = stacks_.find(site); known != stacks_.end()) return known->second;
  std::vector<uint64_t> frames;
  frames.push_back(FrameOf(site));
  for (uint32_t at = definitions_->site(site).caller; at != 0; at = definitions_->site(at).caller)
    frames.push_back(FrameOf(at));
  const uint32_t serial = writer_->Stack(frames);
  stacks_.emplace(site, serial);
  return serial;
}

uint64_t SiteStacks::FrameOf(uint32_t id) {
  if (const auto known = frames_.find(id); known != frames_.end()) return known->second;
  const analyzer::SiteInfo& site = definitions_->site(id);
  const analyzer::MethodInfo& method = definitions_->method(site.method);
  uint64_t frame = 0;
  if (!site.defined || !method.defined) {
    frame = writer_->Frame(SiteLabel(*definitions_, id), "", "", 0, kLineUnknown);
  } else {
    const int32_t line = site.bci < 0 ? kLineNative : site.line >= 0 ? site.line : kLineUnknown;
    frame = writer_->Frame(method.name, method.signature, method.source_file, class_serial_(method.class_name),
                           line);
  }
  frames_.emplace(id, frame);
  return frame;
}

}  // namespace anttracks::hprof
