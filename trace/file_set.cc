// SPDX-License-Identifier: Apache-2.0
#include "trace/file_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "trace/crc32c.h"
#include "trace/output_file.h"
#include "trace/wire.h"

namespace anttracks::trace {
namespace {

// Listings of a folder whose files vanish while they are opened: a running agent deletes a file a rotation.
constexpr int kMaxListings = 10;
constexpr size_t kMaxIndexDigits = 10;

std::string Foreign(const std::string& path, std::span<const uint8_t> start) {
  return path + ": not an AntTracks trace (it is " + std::string(KindOfContents(start)) +
         "). A trace is what the agent wrote: java -agentpath:libanttracks.so=file=<path>";
}

Status ParseFileHeader(std::span<const uint8_t> bytes, FileInfo* info) {
  const uint8_t* p = bytes.data();
  const bool magic = bytes.size() >= sizeof kFileMagic && std::memcmp(p, kFileMagic, sizeof kFileMagic) == 0;
  if (!magic) return Status::Error(Foreign(info->path, bytes));
  if (bytes.size() < kFileHeaderBytes) {
    return Status::Error(info->path + ": the file ends within its header; it holds no events");
  }
  info->major = GetU16(p + file_header::kMajor);
  info->minor = GetU16(p + file_header::kMinor);
  if (info->major != kMajorVersion || info->minor > kMinorVersion) {
    const auto version = [](uint16_t major, uint16_t minor) {
      return std::to_string(major) + "." + std::to_string(minor);
    };
    return Status::Error(info->path + ": trace format " + version(info->major, info->minor) +
                         ", this anttracks reads " + version(kMajorVersion, 0) + " to " +
                         version(kMajorVersion, kMinorVersion) +
                         "; use the anttracks that came with the agent");
  }
  if (Crc32c({p, file_header::kCrc}) != GetU32(p + file_header::kCrc)) {
    return Status::Error(info->path + ": the file header is damaged (checksum)");
  }
  info->header_bytes = GetU32(p + file_header::kSize);
  if (info->header_bytes < kFileHeaderBytes || info->header_bytes > info->bytes) {
    return Status::Error(info->path + ": the file header gives an impossible size for itself");
  }
  info->wall_clock_ns = GetU64(p + file_header::kWallClock);
  info->trace_id = GetU64(p + file_header::kTraceId);
  info->process_id = GetU64(p + file_header::kProcess);
  info->index = GetU32(p + file_header::kFileIndex);
  info->flags = GetU32(p + file_header::kFlags);
  info->whole_bytes = GetU64(p + file_header::kFileBytes);
  return {};
}

// exists: false only if there is no such file. Never waits: what is a FIFO or a device is not even opened,
// unless it comes into the file's place just then.
Status OpenOne(const std::string& path, TraceFile* out, bool* exists) {
  *exists = true;
  out->info.path = path;
  const std::string other = NotRegular(path);
  if (!other.empty()) return Status::Error(path + ": is " + other + ", no trace file");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) {
    *exists = errno != ENOENT;
    return Status::Error(path + ": " + std::strerror(errno));
  }
  auto file = std::make_unique<InputFile>(descriptor);
  if (!file->Size(&out->info.bytes)) {
    return Status::Error(path + ": " + (errno == 0 ? "not a regular file" : std::strerror(errno)));
  }
  out->file = std::move(file);
  uint8_t header[kFileHeaderBytes];
  const ssize_t n = out->file->ReadAt(0, header);
  if (n < 0) return Status::Error(path + ": " + std::strerror(errno));
  return ParseFileHeader({header, static_cast<size_t>(n)}, &out->info);
}

Result<TraceFile> OpenOne(const std::string& path) {
  TraceFile file;
  bool exists = false;
  Status status = OpenOne(path, &file, &exists);
  if (!status.ok()) return status;
  return file;
}

// Paths of what has the name of a data file of this definitions file, by the number in the name.
Result<std::map<uint64_t, std::string>> ListDataFiles(const std::string& definitions) {
  namespace fs = std::filesystem;
  const fs::path path(definitions);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::map<uint64_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::string base;
    uint64_t index = 0;
    if (!SplitDataPath(name, &base, &index) || base != path.filename().string()) continue;
    found[index] = definitions + name.substr(base.size());
  }
  if (error) return Status::Error(folder.string() + ": " + error.message());
  return found;
}

// Adds the data files of the definitions file from that index on. vanished: a file was listed but was gone when
// it was to be opened.
Status AddDataFiles(const FileInfo& definitions, uint64_t from_index, FileSet* set, bool* vanished) {
  auto listed = ListDataFiles(definitions.path);
  if (!listed.ok()) return Status::Error(listed.message());
  for (const auto& [index, path] : *listed) {
    if (index < from_index) continue;
    TraceFile data;
    bool exists = false;
    const Status status = OpenOne(path, &data, &exists);
    if (!exists) {
      *vanished = true;
    } else if (!status.ok() && data.file != nullptr && data.info.bytes < kFileHeaderBytes) {
      set->warnings.push_back(path + ": ends within its header (process killed?), it holds no events");
    } else if (!status.ok()) {
      set->warnings.push_back(status.message() + " (file left out)");
    } else if (!data.info.is_data() || data.info.trace_id != definitions.trace_id) {
      set->warnings.push_back(path + ": is no data file of the trace of " + definitions.path +
                              " (file left out)");
    } else {
      set->files.push_back(std::move(data));
    }
  }
  return {};
}

Status FindDataFiles(FileSet* set) {
  const FileInfo definitions = set->files[0].info;  // a copy: the list grows
  const std::string& path = definitions.path;
  for (int i = 0; i < kMaxListings; i++) {
    set->files.resize(1);
    set->warnings.clear();
    bool vanished = false;
    Status status = AddDataFiles(definitions, 0, set, &vanished);
    if (!status.ok()) return status;
    if (!vanished) break;
  }
  if (set->files.size() > 1) return {};
  std::string what = path +
                     ": is the definitions file of a rotated trace, but there is no data file beside it (" +
                     path + ".0, " + path + ".1, ...): it holds no events";
  for (const std::string& warning : set->warnings) what += "; " + warning;
  return Status::Error(what);
}

Status FindDefinitionsFile(FileSet* set) {
  const std::string data = set->files[0].info.path;
  std::string path;
  uint64_t index = 0;
  const std::string why = data + ": is a data file of a rotated trace and needs its definitions file";
  const std::string remedy = ". It holds the classes, sites and threads of all data files: keep it beside them";
  if (!SplitDataPath(data, &path, &index)) return Status::Error(why + remedy + ", or name it too");
  auto definitions = OpenOne(path);
  if (!definitions.ok()) return Status::Error(why + "; " + definitions.message() + remedy);
  if (!definitions->info.is_definitions()) return Status::Error(why + "; " + path + " is none" + remedy);
  set->files.insert(set->files.begin(), std::move(*definitions));
  return {};
}

// The first data file's provenance file, if there is one.
void AddProvenance(FileSet* set) {
  const size_t at = set->files[0].info.is_definitions() ? 1 : 0;
  if (at >= set->files.size() || !set->files[at].info.is_data()) return;
  const FileInfo& data = set->files[at].info;
  TraceFile provenance;
  bool exists = false;
  const Status status = OpenOne(data.path + kProvenanceSuffix, &provenance, &exists);
  if (!exists) return;
  if (!status.ok()) {
    set->warnings.push_back(status.message() + " (file left out)");
  } else if (!provenance.info.is_provenance() || provenance.info.trace_id != data.trace_id ||
             provenance.info.index != data.index) {
    set->warnings.push_back(provenance.info.path + ": does not belong to " + data.path + " (file left out)");
  } else if (provenance.info.bytes < provenance.info.whole_bytes) {
    // What it lacks would be taken for older than the trace.
    set->warnings.push_back(provenance.info.path + ": was cut short, it has " +
                            std::to_string(provenance.info.bytes) + " of " +
                            std::to_string(provenance.info.whole_bytes) + " bytes (file left out)");
  } else {
    set->files.insert(set->files.begin() + static_cast<ptrdiff_t>(at), std::move(provenance));
  }
}

Status CheckSameTrace(const FileSet& set) {
  for (size_t i = 1; i < set.files.size(); i++) {
    const FileInfo& info = set.files[i].info;
    const FileInfo& before = set.files[i - 1].info;
    if (info.trace_id != before.trace_id) {
      return Status::Error(info.path + ": belongs to another trace than " + before.path);
    }
    if (info.is_definitions() == before.is_definitions() && info.index == before.index) {
      return Status::Error(info.path + ": has the same place in the trace as " + before.path);
    }
  }
  return {};
}

// For a running program: definitions are written before the events that use them, so the definitions file's
// size is taken after those of the data files. But the end record is written after all events, so that size is
// taken again if the newest data file has grown meanwhile.
Status SizeOfDefinitions(FileSet* set) {
  FileInfo& definitions = set->files.front().info;
  TraceFile& newest = set->files.back();
  for (int i = 0; i < kMaxListings; i++) {
    if (!set->files.front().file->Size(&definitions.bytes))
      return Status::Error(definitions.path + ": " + std::strerror(errno));
    uint64_t bytes = 0;
    if (!newest.file->Size(&bytes) || bytes <= newest.info.bytes) break;
    newest.info.bytes = bytes;
  }
  return {};
}

}  // namespace

FileSet OpenNewDataFiles(const FileInfo& definitions, uint64_t from_index) {
  FileSet set;
  bool vanished = false;
  // What cannot be listed or opened now is looked for again.
  if (!AddDataFiles(definitions, from_index, &set, &vanished).ok()) set.files.clear();
  return set;
}

InputFile::~InputFile() { ::close(descriptor_); }

ssize_t InputFile::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

bool InputFile::Size(uint64_t* bytes) const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return false;
  errno = 0;
  if (!S_ISREG(status.st_mode)) return false;
  *bytes = static_cast<uint64_t>(status.st_size);
  return true;
}

bool SplitDataPath(const std::string& path, std::string* definitions, uint64_t* index) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot + 1 == path.size() || path.size() - dot - 1 > kMaxIndexDigits)
    return false;
  const std::string digits = path.substr(dot + 1);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  *definitions = path.substr(0, dot);
  *index = std::stoull(digits);
  return true;
}

Result<FileSet> OpenFileSet(const std::vector<std::string>& paths) {
  FileSet set;
  for (const std::string& path : paths) {
    auto file = OpenOne(path);
    if (!file.ok()) return Status::Error(file.message());
    set.files.push_back(std::move(*file));
  }
  if (set.files.empty()) return Status::Error("no trace file given");
  for (const TraceFile& file : set.files) {
    if (file.info.is_provenance()) {
      return Status::Error(file.info.path +
                           ": holds provenance for a data file; name that one, or the definitions file");
    }
    if (set.files.size() > 1 && !file.info.is_definitions() && !file.info.is_data()) {
      return Status::Error(file.info.path + ": is a whole trace by itself; name one trace at a time");
    }
  }
  std::stable_sort(set.files.begin(), set.files.end(), [](const TraceFile& a, const TraceFile& b) {
    if (a.info.is_definitions() != b.info.is_definitions()) return a.info.is_definitions();
    return a.info.index < b.info.index;
  });
  Status status;
  const bool finds = set.files[0].info.is_definitions() && set.files.size() == 1;
  if (set.files[0].info.is_data()) {
    status = FindDefinitionsFile(&set);
  } else if (finds) {
    status = FindDataFiles(&set);
  }
  if (status.ok()) status = CheckSameTrace(set);
  if (!status.ok()) return status;
  AddProvenance(&set);
  if (set.files[0].info.is_definitions()) status = SizeOfDefinitions(&set);
  // An end record that came since the files were listed counts those that were begun meanwhile, too.
  for (int i = 0; status.ok() && finds && i < kMaxListings; i++) {
    FileSet later = OpenNewDataFiles(set.files[0].info, uint64_t{set.files.back().info.index} + 1);
    if (later.files.empty()) break;
    TraceFile& before = set.files.back();  // complete, as another one was begun
    (void)before.file->Size(&before.info.bytes);
    std::move(later.files.begin(), later.files.end(), std::back_inserter(set.files));
    status = SizeOfDefinitions(&set);
  }
  if (!status.ok()) return status;
  return set;
}

}  // namespace anttracks::trace
