// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/frames.h"

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {
namespace {

bool StartsWithOne(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& p) { return name.starts_with(p); });
}

}  // namespace

ApplicationFrames::ApplicationFrames(std::vector<std::string> app, const std::vector<std::string>& library)
    : app_(std::move(app)), library_{"java.", "javax.", "jdk.", "sun.", "com.sun."} {
  library_.insert(library_.end(), library.begin(), library.end());
}

bool ApplicationFrames::IsApplication(std::string_view class_name) const {
  return app_.empty() ? !StartsWithOne(class_name, library_) : StartsWithOne(class_name, app_);
}

std::optional<uint32_t> ApplicationFrames::First(const Definitions& definitions, uint32_t site) const {
  for (; site != 0; site = definitions.site(site).caller) {
    const SiteInfo& info = definitions.site(site);
    const MethodInfo& method = definitions.method(info.method);
    if (info.defined && method.defined && IsApplication(method.class_name)) return site;
  }
  return std::nullopt;
}

}  // namespace anttracks::analyzer
