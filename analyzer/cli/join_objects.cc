// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <ostream>

#include "analyzer/cli/joined_dump.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// Keys of the columns, and whether they are numbers.
struct ObjectColumn {
  std::string_view key;
  bool number = false;
};
constexpr ObjectColumn kColumns[] = {{"address"},   {"class"},     {"bytes", true}, {"retained_bytes", true},
                                     {"dominator"}, {"gcs", true}, {"thread"},      {"site"}};
constexpr size_t kFlushBytes = 1 << 20;

class Lines {
 public:
  explicit Lines(Session& session) : session_(&session) {}

  void Begin(const nlohmann::ordered_json& head) {
    if (session_->output == Output::kJson) {
      std::string text = JsonText(head);
      text.resize(text.rfind("\n}"));
      session_->out << text << ",\n  \"rows\": [";
    } else if (session_->output == Output::kCsv) {
      for (const ObjectColumn& column : kColumns)
        session_->out << (&column == kColumns ? "" : ",") << column.key;
      session_->out << "\n";
    }
  }

  // One text per column; "" for null.
  void Add(const std::vector<std::string>& fields) {
    const bool json = session_->output == Output::kJson;
    auto out = std::back_inserter(buffer_);
    if (json) fmt::format_to(out, "{}    {{", any_ ? ",\n" : "\n");
    any_ = true;
    for (size_t i = 0; i < fields.size(); i++) {
      if (json) {
        fmt::format_to(out, "{}\"{}\": {}", i == 0 ? "" : ", ", kColumns[i].key,
                       fields[i].empty()    ? "null"
                       : kColumns[i].number ? fields[i]
                                            : JsonLine(fields[i]));
      } else if (session_->output == Output::kCsv) {
        fmt::format_to(out, "{}{}", i == 0 ? "" : ",", CsvField(fields[i]));
      } else {
        fmt::format_to(out, "{}{}", i == 0 ? "" : "\t", fields[i].empty() ? "-" : Printable(fields[i]));
      }
    }
    fmt::format_to(out, "{}", json ? "}" : "\n");
    if (buffer_.size() > kFlushBytes) Flush();
  }

  void End() {
    Flush();
    if (session_->output == Output::kJson) session_->out << (any_ ? "\n  ]\n}\n" : "]\n}\n");
  }

 private:
  void Flush() {
    session_->out.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  Session* session_;
  fmt::memory_buffer buffer_;
  bool any_ = false;
};

std::string Address(const JoinedDump& joined, uint32_t object) {
  return fmt::format("{:#x}", joined.dump->objects()[object].address);
}

// "root": several roots, or several paths from them, reach it.
std::string DominatorText(const JoinedDump& joined, uint32_t object) {
  if (!joined.references->reached(object)) return "";
  const uint32_t dominator = joined.dominator(object);
  return dominator == hprof::kNone ? "root" : Address(joined, dominator);
}

}  // namespace

void PrintJoinedObjects(Session& session, const JoinedDump& joined, const JoinArguments& arguments) {
  const std::vector<bool> chosen = joined.Chosen(arguments.selection);
  Lines lines(session);
  lines.Begin(JoinHead(joined));
  for (uint32_t object = 0; object < joined.dump->size(); object++) {
    if (!chosen[object]) continue;
    const std::optional<uint64_t> age = joined.age(object);
    lines.Add({Address(joined, object), joined.class_name(object), std::to_string(joined.bytes(object)),
               joined.references->reached(object) ? std::to_string(joined.retained->bytes(object)) : "",
               DominatorText(joined, object), age ? std::to_string(*age) : "", joined.thread_name(object),
               joined.site_name(object)});
  }
  lines.End();
}

}  // namespace anttracks::analyzer
