// SPDX-License-Identifier: Apache-2.0
// What the agent does when memory or time is short, as chosen by the options on-overflow= and compress=.
#pragma once

#include <cstdint>

namespace anttracks::core {

// When as much waits to be written as may wait.
enum class WhenFull : uint8_t {
  kBlock,  // threads wait for the writer, up to a limit; then events are dropped
  kDrop,   // events are dropped at once
};

// Which chunks of the trace are compressed.
enum class Compression : uint8_t {
  kOff,
  kPartial,  // those that come while much waits to be written
  kFull,     // all, as far as compressors are free
};

// What is recorded.
enum class Mode : uint8_t {
  kAuto,    // full on the patched JVM, samples on any other
  kFull,    // every object; takes the patched JVM
  kSample,  // some objects, by JVM TI; any JVM
};

// In which traces an option or a counter means something.
enum class ValidIn : uint8_t { kBoth, kFull, kSample };

}  // namespace anttracks::core
