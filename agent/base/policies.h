// SPDX-License-Identifier: Apache-2.0
// What the agent does when memory or time is short, as chosen by the options on-overflow= and compress=.
#pragma once

#include <cstdint>

namespace anttracks::core {

// What happens when the queue to the writer is full (on-overflow=).
enum class WhenFull : uint8_t {
  kBlock,  // threads wait for the writer, up to a limit; then events are dropped
  kDrop,   // events are dropped at once
};

// Which chunks of the trace are compressed.
enum class Compression : uint8_t {
  kOff,
  kPartial,  // those that are made while the queue is above threshold=
  kFull,     // all, as far as compressors are free
};

// What becomes of a file that exists where a new one is to be made.
enum class IfExists : bool {
  kRefuse,   // an error
  kReplace,  // replaced if it is of the kind that is made there (overwrite=yes), else an error
};

// What is recorded (mode=).
enum class Mode : uint8_t {
  kAuto,    // full on the patched JVM, samples on any other
  kFull,    // every object; needs the patched JVM
  kSample,  // some objects, through JVM TI; any JVM
  kCensus,  // counts of what is live; needs the patched JVM
};

// In which traces an option or a counter has a meaning.
enum class ValidIn : uint8_t {
  kFull = 1,
  kSample = 2,
  kCensus = 4,
  kPatched = kFull | kCensus,
  kAll = kFull | kSample | kCensus
};
constexpr bool Includes(ValidIn some, ValidIn one) {
  return (static_cast<uint8_t>(some) & static_cast<uint8_t>(one)) != 0;
}

}  // namespace anttracks::core
