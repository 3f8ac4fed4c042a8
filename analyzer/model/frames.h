// SPDX-License-Identifier: Apache-2.0
// Which frames are the application's own: "my code first". The innermost frame of a site is often a library's
// (HashMap.newNode, Arrays.copyOf), which is true but says nothing about who is to blame.
//
// Thread safety: none while prefixes are added, then full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/definitions.h"

namespace anttracks::analyzer {

class ApplicationFrames {
 public:
  // Prefixes of the names of classes. With any of app, only such classes are the application's. Otherwise all
  // are but those of the JDK and those of library.
  explicit ApplicationFrames(std::vector<std::string> app = {}, const std::vector<std::string>& library = {});

  bool IsApplication(std::string_view class_name) const;
  // The site itself, or the first of the callers that it was inlined into, whose method is the application's.
  std::optional<uint32_t> First(const Definitions& definitions, uint32_t site) const;

 private:
  std::vector<std::string> app_, library_;
};

}  // namespace anttracks::analyzer
