// SPDX-License-Identifier: Apache-2.0
// A rotated trace: definitions file, data files, the first one's provenance. First byte: the command and what
// is named to it; second one: META, and with its upper bit that the second part is a provenance file
// (trace_input.h). Parts between file marks are files.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "tests/fuzz/command.h"
#include "tests/fuzz/trace_input.h"

namespace anttracks::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 6;

// In memory; one for the whole process, empty between inputs.
class Folder {
 public:
  Folder()
      : path_((fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
              ("fuzz-" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  void Clear() const {
    for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
  }

 private:
  fs::path path_;
};

const Folder& TheFolder() {
  static const Folder folder;
  return folder;
}

void WriteFiles(const Folder& folder, std::string_view meta, bool provenance, std::span<const uint8_t> bytes) {
  uint64_t sequence = 0;
  uint32_t index = 0;
  size_t number = 0;
  for (const auto part : SplitAt(bytes, kFileMark)) {
    uint64_t own = 0;
    if (number == 0) {
      folder.Write("t", TraceBytes(meta, part, trace::kDefinitionsFileIndex, trace::kFileDefinitions, &own));
    } else if (number == 1 && provenance) {
      folder.Write("t.1.origins", TraceBytes(meta, part, 1, trace::kFileProvenance, &own));
      index = 1;
    } else {
      folder.Write("t." + std::to_string(index), TraceBytes(meta, part, index, trace::kFileData, &sequence));
      index++;
    }
    if (++number == kMostFiles) break;
  }
}

}  // namespace
}  // namespace anttracks::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anttracks::fuzz;
  if (size < 2) return 0;
  const Folder& folder = TheFolder();
  WriteFiles(folder, kMetas[data[1] % 2], (data[1] & 0x80) != 0, std::span(data + 2, size - 2));
  switch (data[0] % 6) {
    case 0:
      RunCommand({"verify", "--max-errors", "100"}, {folder.path("t")});
      break;
    case 1:
      RunCommand({"info"}, {folder.path("t")});
      break;
    case 2:
      RunCommand({"fold", "-f"}, {folder.path("t.0")});
      break;
    case 3:
      RunCommand({"heap", "--by", "thread", "--json"}, {folder.path("t.1")});
      break;
    case 4:
      RunCommand({"quality"}, {folder.path("t")});
      break;
    case 5:
      RunCommand({"sites", "--live"}, {folder.path("t.1"), folder.path("t"), folder.path("t.0")});
      break;
  }
  folder.Clear();
  return 0;
}
