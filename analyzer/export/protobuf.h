// SPDX-License-Identifier: Apache-2.0
// Writes messages of protocol buffers (https://protobuf.dev/programming-guides/encoding): the little that the
// exports need of it.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anttracks::analyzer {

class ProtoMessage {
 public:
  // uint64, uint32, bool, enum; int64 that is not negative.
  ProtoMessage& Number(uint32_t field, uint64_t value) {
    Varint(field << 3 | kVarint);
    Varint(value);
    return *this;
  }
  ProtoMessage& Text(uint32_t field, std::string_view text) {
    Varint(field << 3 | kLengthDelimited);
    Varint(text.size());
    bytes_ += text;
    return *this;
  }
  ProtoMessage& Message(uint32_t field, const ProtoMessage& message) { return Text(field, message.bytes_); }
  // A packed repeated field.
  ProtoMessage& Numbers(uint32_t field, std::span<const uint64_t> values) {
    ProtoMessage packed;
    for (const uint64_t value : values) packed.Varint(value);
    return Message(field, packed);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  enum WireType : uint32_t { kVarint = 0, kLengthDelimited = 2 };

  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace anttracks::analyzer
