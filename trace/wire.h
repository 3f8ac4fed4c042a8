// SPDX-License-Identifier: Apache-2.0
// The basic types of the trace format: little-endian integers, unsigned LEB128 (uv), zigzag LEB128 (sv),
// strings.
//
// Put* write at a pointer without a check and return the end: PutUv needs up to kMaxUvBytes. ByteBuffer grows.
// WireReader checks every access: after the first failure ok() stays false, and every read gives 0 or nothing.
//
// Thread safety: none. Ownership: WireReader and the strings that it returns borrow the bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace anttracks::trace {

static_assert(std::endian::native == std::endian::little, "the stores below rely on it");

inline constexpr size_t kMaxUvBytes = 10;

inline uint8_t* PutU16(uint8_t* p, uint16_t v) {
  std::memcpy(p, &v, sizeof v);
  return p + sizeof v;
}
inline uint8_t* PutU32(uint8_t* p, uint32_t v) {
  std::memcpy(p, &v, sizeof v);
  return p + sizeof v;
}
inline uint8_t* PutU64(uint8_t* p, uint64_t v) {
  std::memcpy(p, &v, sizeof v);
  return p + sizeof v;
}
inline uint16_t GetU16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint32_t GetU32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint64_t GetU64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

constexpr uint64_t Zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
constexpr int64_t Unzigzag(uint64_t v) { return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1)); }

inline uint8_t* PutUv(uint8_t* p, uint64_t v) {
  while (v >= 0x80) {
    *p++ = static_cast<uint8_t>(v | 0x80);
    v >>= 7;
  }
  *p++ = static_cast<uint8_t>(v);
  return p;
}
inline uint8_t* PutSv(uint8_t* p, int64_t v) { return PutUv(p, Zigzag(v)); }
constexpr size_t UvBytes(uint64_t v) { return v == 0 ? 1 : (static_cast<size_t>(std::bit_width(v)) + 6) / 7; }

// Grows as needed; may throw std::bad_alloc.
class ByteBuffer {
 public:
  void U8(uint8_t v) { bytes_.push_back(v); }
  void U16(uint16_t v) { PutU16(Extend(sizeof v), v); }
  void U32(uint32_t v) { PutU32(Extend(sizeof v), v); }
  void U64(uint64_t v) { PutU64(Extend(sizeof v), v); }
  void Uv(uint64_t v) { PutUv(Extend(UvBytes(v)), v); }
  void Sv(int64_t v) { Uv(Zigzag(v)); }
  void Str(std::string_view s) {
    Uv(s.size());
    Append({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
  }
  void Append(std::span<const uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size());
  }
  // Appends n bytes, which the caller must fill; returns their start.
  uint8_t* Extend(size_t n) {
    bytes_.resize(bytes_.size() + n);
    return bytes_.data() + bytes_.size() - n;
  }
  void Resize(size_t n) { bytes_.resize(n); }
  void Reserve(size_t n) { bytes_.reserve(n); }
  void Clear() { bytes_.clear(); }
  void Swap(ByteBuffer& other) noexcept { bytes_.swap(other.bytes_); }

  uint8_t* data() { return bytes_.data(); }
  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  size_t capacity() const { return bytes_.capacity(); }
  bool empty() const { return bytes_.empty(); }
  std::span<const uint8_t> span() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const uint8_t> bytes)
      : begin_(bytes.data()), next_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return next_ == end_; }
  size_t position() const { return static_cast<size_t>(next_ - begin_); }
  const uint8_t* next() const { return next_; }
  size_t remaining() const { return static_cast<size_t>(end_ - next_); }

  uint8_t U8() { return Has(1) ? *next_++ : uint8_t{0}; }
  uint16_t U16() { return Fixed<uint16_t>(); }
  uint32_t U32() { return Fixed<uint32_t>(); }
  uint64_t U64() { return Fixed<uint64_t>(); }

  uint64_t Uv() {
    if (next_ != end_ && *next_ < 0x80) return *next_++;
    return LongUv();
  }
  int64_t Sv() { return Unzigzag(Uv()); }
  std::span<const uint8_t> Take(uint64_t n) {
    if (!Has(n)) return {};
    const uint8_t* start = next_;
    next_ += n;
    return {start, static_cast<size_t>(n)};
  }
  std::string_view Str() {
    const std::span<const uint8_t> bytes = Take(Uv());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  bool Has(uint64_t n) {
    if (ok_ && n <= remaining()) return true;
    Fail();
    return false;
  }
  // Moves to the end, so that loops over the bytes end.
  void Fail() {
    ok_ = false;
    next_ = end_;
  }
  template <class T>
  T Fixed() {
    T v = 0;
    if (!Has(sizeof v)) return 0;
    std::memcpy(&v, next_, sizeof v);
    next_ += sizeof v;
    return v;
  }
  // Fails if the bytes end, or at more than 10 bytes or 64 bits.
  uint64_t LongUv() {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (next_ == end_) break;
      const uint8_t byte = *next_++;
      if (shift == 63 && byte > 1) break;
      v |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return v;
    }
    Fail();
    return 0;
  }

  const uint8_t* begin_;
  const uint8_t* next_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace anttracks::trace
