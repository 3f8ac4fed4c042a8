// SPDX-License-Identifier: Apache-2.0
// A fabricated /proc, and a socket that answers as a JVM, or as one that means harm.
//
// Thread safety: none. Ownership: what they make on disk goes with them.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/attach/target.h"

namespace anttracks::analyzer {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/anttracks-unit-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

 private:
  std::string path_;
};

inline void Put(std::string* out, size_t at, uint32_t number) { std::memcpy(out->data() + at, &number, 4); }

// A file of performance data with these texts, and a number between them.
inline std::string PerfFile(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string file(32, '\0');
  std::memcpy(file.data(), "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
  Put(&file, 24, 32);
  Put(&file, 28, static_cast<uint32_t>(2 * texts.size()));
  for (const auto& [name, value] : texts) {
    for (const bool text : {false, true}) {
      std::string entry(20, '\0');
      entry += name + '\0';
      const size_t data = entry.size();
      entry += text ? value + std::string(8, '\0') : std::string(8, '\1');
      Put(&entry, 0, static_cast<uint32_t>(entry.size()));
      Put(&entry, 4, 20);
      Put(&entry, 8, text ? static_cast<uint32_t>(value.size() + 8) : 0);
      entry[12] = text ? 'B' : 'J';
      Put(&entry, 16, static_cast<uint32_t>(data));
      file += entry;
    }
  }
  return file;
}

// A process 77 that calls itself 7, with a libjvm.so.
class FakeProc {
 public:
  explicit FakeProc(const std::string& vm = "code com.github.anttracks.functions.GetVM code",
                    const std::string& perf = PerfFile({{"sun.rt.jvmCapabilities", "1"},
                                                        {"sun.gc.collector.0.name", "Copy"}})) {
    const std::string me = std::to_string(geteuid());
    folder_.Write("77/status", "Name:\tjava\nState:\tS (sleeping)\nUid:\t1\t" + me +
                                   "\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t77\t7\n" + "SigCgt:\t0000000000000004\n");
    folder_.Write(
        "77/maps",
        "7f00-7f10 r-xp 00000000 fe:01 12 /usr/lib/libc.so\n7f10-7f20 r-xp 00000000 fe:01 13    /jdk "
        "17/lib/server/libjvm.so\n"
        "7f20-7f30 rw-p 00000000 00:00 0\n7f30-7f40 r-xp 00000000 fe:01 14 /opt/libanttracks.so (deleted)\n");
    folder_.Write("77/cmdline", std::string("java\0-Xmx1g\0Main\0", 17));
    folder_.Write("77/environ", std::string("PATH=/bin\0JAVA_TOOL_OPTIONS=-Da=b -Dc=d\0", 40));
    folder_.Write("77/root/jdk 17/lib/server/libjvm.so", vm);
    std::filesystem::create_directories(folder_.path() + "/77/root/tmp");
    if (!perf.empty()) folder_.Write("77/root/tmp/hsperfdata_me/7", perf);
  }
  const Folder& folder() const { return folder_; }
  Target Looked() const { return *Look(77, folder_.path()); }
  // The same with this process behind it: its sockets are the fake's, and signals come here.
  Target Own() const {
    Target target = Looked();
    target.pid = getpid();
    target.process = Look(getpid())->process;
    return target;
  }
  std::string socket() const { return folder_.path() + "/77/root/tmp/.java_pid7"; }

 private:
  Folder folder_;
};

inline int Bound(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

// Listens where a JVM would; answers one request, again and again if endless.
class FakeJvm {
 public:
  FakeJvm(const std::string& path, std::string answer, bool endless = false)
      : answer_(std::move(answer)), endless_(endless), fd_(Bound(path, SOCK_STREAM)) {
    REQUIRE(listen(fd_, 4) == 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeJvm() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  const std::string& heard() const { return heard_; }
  size_t sent() const { return sent_; }

 private:
  void Serve() {
    const int client = accept(fd_, nullptr, nullptr);
    if (client < 0) return;
    char part[256];
    for (int nuls = 0; nuls < 5;) {
      const ssize_t n = read(client, part, sizeof part);
      if (n <= 0) break;
      heard_.append(part, static_cast<size_t>(n));
      for (ssize_t i = 0; i < n; i++) nuls += part[i] == '\0';
    }
    while (endless_ && send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL) > 0) sent_ += answer_.size();
    for (const char c : answer_) (void)!send(client, &c, 1, MSG_NOSIGNAL);  // in many pieces
    close(client);
  }

  const std::string answer_;
  const bool endless_;
  std::string heard_;
  std::atomic<size_t> sent_{0};
  const int fd_;
  std::thread thread_;
};

}  // namespace anttracks::analyzer
