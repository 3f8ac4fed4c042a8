// SPDX-License-Identifier: Apache-2.0
// Constants of the trace format, version 2.2; docs/trace-format.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anttracks::trace {

inline constexpr char kFileMagic[8] = {'A', 'N', 'T', 'T', 'R', 'A', 'C', 'K'};
inline constexpr char kChunkMagic[4] = {'A', 'T', 'C', 'K'};
inline constexpr uint16_t kMajorVersion = 2;
inline constexpr uint16_t kMinorVersion = 2;

inline constexpr size_t kFileHeaderBytes = 64;
inline constexpr size_t kChunkHeaderBytes = 32;
inline constexpr size_t kMaxChunkRawBytes = size_t{16} << 20;
inline constexpr size_t kWordBytes = 8;
// The largest reserved range of a heap, in words: 8 TiB.
inline constexpr uint64_t kMaxHeapWords = uint64_t{1} << 40;
// The largest id of a class, site-class pair, site, method or thread: agents write no larger one, readers
// refuse it.
inline constexpr uint32_t kMaxId = (1u << 26) - 1;
// The most objects in a run of SLIDES: bounds how much work a few bytes can ask for.
inline constexpr uint64_t kMaxRunObjects = 255;
// The longest kind, stream and length.
inline constexpr size_t kMaxSegmentHeaderBytes = 1 + 10 + 10;

// Byte offsets within the file header.
namespace file_header {
inline constexpr size_t kMajor = 8, kMinor = 10, kSize = 12, kWallClock = 16, kTraceId = 24, kProcess = 32,
                        kFileIndex = 40, kFlags = 44, kFileBytes = 48, kCrc = 60;
}
// Flags of the file header.
inline constexpr uint32_t kFileDefinitions = 1, kFileData = 2, kFileProvenance = 4;
// Beside kFileProvenance: that of older objects was forgotten.
inline constexpr uint32_t kFileProvenanceInPart = 8;
// Appended to the name of a data file, this names its provenance file: who allocated the objects in its sync
// point, and when. Files, the segment's name (ORIGINS) and JSON say "origins"; everything else says provenance.
inline constexpr char kProvenanceSuffix[] = ".origins";
inline constexpr uint32_t kDefinitionsFileIndex = 0xFFFFFFFF;
// Byte offsets within a chunk header.
namespace chunk_header {
inline constexpr size_t kType = 4, kFlags = 6, kStoredLength = 8, kRawLength = 12, kSequence = 16,
                        kPayloadCrc = 24, kHeaderCrc = 28;
}

enum class ChunkType : uint16_t { kMeta = 1, kData = 2 };
// Flags of a chunk: the payload is compressed; its columns are stored separately (trace/columns.h).
inline constexpr uint16_t kChunkSnappy = 1u << 0, kChunkColumns = 1u << 1;
inline constexpr size_t kPartHeadBytes = 8;
inline constexpr uint16_t kChunkMustUnderstand = 1u << 15;

// segments.h has a row for each.
enum class SegmentKind : uint8_t {
  kUnknown = 0,  // stands for all kinds that are not listed here; never written
  kAlloc = 1,
  kMoves = 2,
  kSlides = 3,
  kFillers = 4,
  kGcBegin = 5,
  kGcEnd = 6,
  kSyncBegin = 7,
  kSyncObjects = 8,
  kSyncEnd = 9,
  kClassUnload = 10,
  kThreadEnd = 11,
  kDefinitions = 12,
  kLoss = 13,
  kEnd = 14,
  kSyncAbandoned = 15,
  kProvenance = 16,  // ORIGINS in the format
  kSamples = 17,
  kSampleDeaths = 18,
  kFound = 19,
  kStacks = 20,
  kCensusRows = 21,
  kCensus = 22,
};
// Shares of TLAB stretches are in parts of this; ALLOC has 0 for the whole.
inline constexpr uint32_t kWholeShare = 1 << 16;

enum class DefinitionTag : uint8_t {
  kClass = 1,
  kMethod = 2,
  kSite = 3,
  kThread = 4,
  kSiteClass = 5,
  kFields = 6,
  kStack = 7
};
inline constexpr uint64_t kClassArray = 1, kClassVariableSize = 2, kClassHidden = 4, kClassSizeUnknown = 8;

inline constexpr uint32_t kSiteUnknown = 0, kSiteVm = 1, kSiteFiller = 2, kSiteOverflow = 3;
// kSiteArchive: the site of objects in an archive space that have none of their own.
inline constexpr uint32_t kSiteArchive = 4, kFirstSite = 16;
enum class Tier : uint8_t { kInterpreter = 0, kC1 = 1, kC2 = 2, kNative = 3, kUnknown = 4 };
inline constexpr uint64_t kSiteRematerialized = 1;

enum class SpaceKind : uint8_t { kEden = 0, kSurvivor = 1, kOld = 2, kHumongous = 3, kArchive = 4 };
inline constexpr size_t kSpaceKinds = 5;
constexpr bool IsYoung(SpaceKind kind) { return kind == SpaceKind::kEden || kind == SpaceKind::kSurvivor; }

enum class Generation { kNone, kYoung, kOld };  // kNone: outside of all spaces
constexpr Generation GenerationOf(SpaceKind kind) {
  return IsYoung(kind) ? Generation::kYoung : Generation::kOld;
}
// Whether a young collection may move or free objects of the space: it frees humongous objects, too.
constexpr bool YoungMayTake(SpaceKind kind) { return IsYoung(kind) || kind == SpaceKind::kHumongous; }
enum class GcKind : uint8_t { kYoung = 0, kFull = 1, kUnknown = 2, kRemark = 3, kMixed = 4 };
inline constexpr size_t kGcKinds = 5;
// Whether a space is collected. kOptional means, in GC_BEGIN: GC_END will say it; in GC_END: all of [bottom,
// end) was collected; in SYNC_BEGIN: objects that are known to be dead are left out of the list.
enum class Collected : uint8_t { kNo = 0, kYes = 1, kOptional = 2 };
enum class SyncReason : uint8_t { kStart = 0, kAttach = 1, kRotation = 2 };

}  // namespace anttracks::trace
