// SPDX-License-Identifier: Apache-2.0
// Definitions for a sampled trace: gives ids to the names that the sampler passes as text.
//
// A sample's stack is a site: its innermost frame, whose caller is the site of the frames around it. Frames are
// identified by method handle and bytecode index, everything else by name, so that no class must be held or
// tracked: classes with the same name are one class, and methods with the same class name, name, signature and
// file are one method.
//
// Order: as in Definitions, a record is here before anyone can use its id.
//
// Thread safety: full; one mutex, never held while the VM is asked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::core {

struct SampleFrame {
  uint64_t method = 0;  // a handle of the VM
  int64_t bci = -1;     // -1: native
  bool operator==(const SampleFrame&) const = default;
};

// What the VM says about a frame.
struct SampleFrameText {
  std::string_view class_signature, name, signature, source_file;
  int64_t line = -1;
};

struct SampleDefinitionCounts {
  uint64_t classes = 0, methods = 0, sites = 0, site_classes = 0, threads = 0, unknown_frames = 0;
};

// "Ljava/util/Map$Entry;" -> "java.util.Map$Entry", "[I" -> "int[]", "Lapp/A.0x12;" (hidden) -> "app.A/0x12".
std::string JavaName(std::string_view signature);

class SampleDefinitions {
 public:
  // most_id: the largest id of each sort. If more are needed std::length_error is thrown, which ends the trace.
  explicit SampleDefinitions(uint32_t most_id = trace::kMaxId) : most_id_(most_id) {}

  // The site-class pair of an object of that class, allocated by that stack (innermost frame first; empty: by
  // the VM). 0: the frame with index *unknown is not defined; call Define and try again.
  uint32_t SiteClass(std::span<const SampleFrame> stack, std::string_view class_signature, size_t* unknown);
  // text: nullptr: the VM does not know the frame either, and stacks leave it out.
  void Define(const SampleFrame& frame, const SampleFrameText* text);
  uint32_t DefineThread(std::string_view name, uint64_t java_id, uint64_t os_id);

  // For the writer.
  std::vector<trace::ByteBuffer> Take();
  bool pending() const { return pending_.load(std::memory_order_acquire); }

  SampleDefinitionCounts counts() const;

 private:
  static constexpr size_t kBlockBytes = 256 << 10;
  // Handles of unloaded methods are not removed. Beyond this many frames all are forgotten, and looked up
  // again.
  static constexpr size_t kMostFrames = 1 << 20;

  struct Place {
    uint32_t method = 0;  // 0: not known
    int64_t line = -1;
  };
  // A frame, and the site of the frames around it.
  struct Step {
    SampleFrame frame;
    uint32_t caller = 0;
    bool operator==(const Step&) const = default;
  };
  struct SiteKey {
    uint32_t method = 0, caller = 0;
    int64_t bci = -1, line = -1;
    bool operator==(const SiteKey&) const = default;
  };
  struct Hash {
    using is_transparent = void;
    static size_t Mix(uint64_t a, uint64_t b) {
      return static_cast<size_t>(((a * 0x9E3779B97F4A7C15u) ^ b) * 0xC2B2AE3D27D4EB4Fu >> 17);
    }
    size_t operator()(const SampleFrame& f) const { return Mix(f.method, static_cast<uint64_t>(f.bci)); }
    size_t operator()(const Step& s) const { return Mix((*this)(s.frame), s.caller); }
    size_t operator()(const SiteKey& k) const {
      return Mix(uint64_t{k.method} << 32 | k.caller,
                 static_cast<uint64_t>(k.bci) << 32 ^ static_cast<uint64_t>(k.line));
    }
    size_t operator()(uint64_t n) const { return Mix(n, 0); }
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Key>
  using Table = std::unordered_map<Key, uint32_t, Hash, std::equal_to<>>;

  // The following need mutex_ to be held.
  trace::ByteBuffer* Block();
  uint32_t NextId(uint32_t* last) const;
  uint32_t Method(const SampleFrameText& text);
  uint32_t Site(std::span<const SampleFrame> stack, size_t* unknown);
  uint32_t NewStep(const Step& step, const Place& place);
  uint32_t Class(std::string_view signature);

  const uint32_t most_id_;
  mutable std::mutex mutex_;
  std::unordered_map<SampleFrame, Place, Hash> places_;
  Table<std::string> methods_, classes_;
  Table<SiteKey> sites_;
  Table<Step> steps_;             // to sites; the only lookups for a stack that was seen before
  Table<uint64_t> site_classes_;  // by site and class
  uint32_t last_site_ = trace::kFirstSite - 1;
  uint32_t last_class_ = 0, last_method_ = 0, last_site_class_ = 0, last_thread_ = 0;
  uint64_t unknown_frames_ = 0;
  std::vector<trace::ByteBuffer> blocks_;
  std::atomic<bool> pending_{false};
};

}  // namespace anttracks::core
