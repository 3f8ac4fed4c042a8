// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files, and over all files in folders, without libFuzzer: its corpus as an ordinary
// test. An input that fails ends the process, so each one's name is printed first, to stderr. Options (--word)
// are ignored.
//
// Thread safety: none.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

bool RunFile(const fs::path& path) {
  std::fprintf(stderr, "%s\n", path.c_str());
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    std::fprintf(stderr, "cannot be read\n");
    return false;
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  bool good = true;
  const auto run = [&](const fs::path& path) {
    good = RunFile(path) && good;
    inputs++;
  };
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (int i = 1; i < argc; i++) {
    const fs::path path = argv[i];
    if (path.native().rfind("--", 0) == 0) continue;
    if (!fs::is_directory(path)) {
      run(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) run(entry.path());
    }
  }
  std::printf("%zu inputs\n", inputs);
  return good && inputs != 0 ? 0 : 1;
}
