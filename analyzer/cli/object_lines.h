// SPDX-License-Identifier: Apache-2.0
// The lines of `heap --objects`. There may be a hundred million, so that each is written as soon as it is known
// instead of becoming a row of a Report. The columns are described once, as those of a Report are.
//
//   text   fields, separated by tabs
//   JSON   the head, then the array "rows" with one object per line
//   CSV    a line of keys, then one line per object
//
// Thread safety: none. Ownership: session and definitions are borrowed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/session.h"
#include "analyzer/model/definitions.h"

namespace anttracks::analyzer {

class ObjectLines {
 public:
  ObjectLines(Session& session, const Definitions& definitions);

  // What stands before the objects. head: of JSON, an object with one key at least.
  void Begin(const nlohmann::ordered_json& head);
  // address: in bytes.
  void Add(uint64_t address, uint32_t shape);
  // What stands after them.
  void End();

 private:
  // Fields of all objects of a site-class pair.
  struct Names {
    std::string class_name, site;
  };
  const Names& NamesOf(uint32_t site_class);
  std::string Field(const std::string& text) const;
  void Flush();

  Session& session_;
  const Definitions& definitions_;
  std::vector<std::string> before_;  // what stands before the field of each column
  std::string quote_, line_end_;
  std::unordered_map<uint32_t, Names> names_;
  fmt::memory_buffer buffer_;
  bool any_ = false;
};

}  // namespace anttracks::analyzer
