// SPDX-License-Identifier: Apache-2.0
// The heap dump format of the JVM, hprof 1.0.2: tags and sizes. Numbers are big-endian.
//
//   file     "JAVA PROFILE 1.0.2" 0, u4 size of an id, u8 milliseconds since 1970, then records
//   record   u1 tag, u4 microseconds since the header's time, u4 length, so many bytes
//
// HEAP_DUMP_SEGMENT records hold the heap, in records of their own (Sub below) that have a tag, but no length.
// Source: src/hotspot/share/services/heapDumper.cpp of JDK 17.
//
// Thread safety: full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace anttracks::hprof {

inline constexpr std::string_view kMagic = "JAVA PROFILE 1.0.2";
// 1.0.1 differs in what a dump may contain only.
inline constexpr std::string_view kMagicBefore = "JAVA PROFILE 1.0.1";
inline constexpr uint32_t kIdBytes = 8;
inline constexpr size_t kRecordHeadBytes = 9;

enum class Tag : uint8_t {
  kString = 0x01,
  kLoadClass = 0x02,
  kStackFrame = 0x04,
  kStackTrace = 0x05,
  kHeapDump = 0x0c,
  kHeapDumpSegment = 0x1c,
  kHeapDumpEnd = 0x2c,
};

enum class Sub : uint8_t {
  kRootJniGlobal = 0x01,
  kRootJniLocal = 0x02,
  kRootJavaFrame = 0x03,
  kRootNativeStack = 0x04,
  kRootStickyClass = 0x05,
  kRootThreadBlock = 0x06,
  kRootMonitorUsed = 0x07,
  kRootThreadObject = 0x08,
  kClassDump = 0x20,
  kInstanceDump = 0x21,
  kObjectArrayDump = 0x22,
  kPrimitiveArrayDump = 0x23,
  kRootUnknown = 0xff,
};

// Bytes of a root's record after its tag, which begin with an object's id; 0: no root.
constexpr size_t RootBytes(Sub tag) {
  switch (tag) {
    case Sub::kRootStickyClass:
    case Sub::kRootMonitorUsed:
    case Sub::kRootUnknown:
      return 8;
    case Sub::kRootNativeStack:
    case Sub::kRootThreadBlock:
      return 12;
    case Sub::kRootJniGlobal:
    case Sub::kRootJniLocal:
    case Sub::kRootJavaFrame:
    case Sub::kRootThreadObject:
      return 16;
    default:
      return 0;
  }
}

// Types of fields and elements.
enum class Type : uint8_t {
  kObject = 2,
  kBoolean = 4,
  kChar = 5,
  kFloat = 6,
  kDouble = 7,
  kByte = 8,
  kShort = 9,
  kInt = 10,
  kLong = 11,
};

// Bytes of a value in a dump; 0: no such type.
constexpr uint32_t TypeBytes(Type type) {
  switch (type) {
    case Type::kBoolean:
    case Type::kByte:
      return 1;
    case Type::kChar:
    case Type::kShort:
      return 2;
    case Type::kFloat:
    case Type::kInt:
      return 4;
    case Type::kObject:
    case Type::kDouble:
    case Type::kLong:
      return 8;
  }
  return 0;
}

// Of a record of an instance or array, after its tag: object's id, u4 serial number of the stack that allocated
// it, then
//   instance          id of the class, u4 bytes of values
//   object array      u4 length, id of the array's class
//   primitive array   u4 length, u1 type
inline constexpr size_t kInstanceHeadBytes = 24, kObjectArrayHeadBytes = 24, kPrimitiveArrayHeadBytes = 17;
inline constexpr size_t kStackSerialOffset = 8;
// Of a class, after its tag: its id, u4 serial number of the stack; ids of superclass, loader, signers,
// protection domain and two that are reserved; u4 bytes of an instance; then u2 counts of constants, static
// fields and fields, each followed by these.
inline constexpr size_t kClassHeadBytes = 64;

inline uint16_t GetU2(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t GetU4(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap32(v);
}
inline uint64_t GetU8(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap64(v);
}
inline void PutU4(uint8_t* p, uint32_t v) {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof v);
}

}  // namespace anttracks::hprof
