#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ronde {

// Writes protobuf's wire format at the end of a string. Not thread-safe.
//
//   ProtoWriter out(text);
//   out.message(11, [&] { out.varint(9, 1); out.bytes(23, "reduce"); });
class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    raw_varint(value);
  }
  void fixed32(std::uint32_t field, std::uint32_t value);
  void fixed64(std::uint32_t field, std::uint64_t value);
  void bytes(std::uint32_t field, std::string_view value);

  // A number of those that lie packed in bytes, without a field.
  void packed(std::uint64_t value) { raw_varint(value); }

  // A nested message: what `fill` writes. Messages are short, so one byte is kept for the length and more are made room
  // for only when needed.
  template <class Fill>
  void message(std::uint32_t field, Fill&& fill) {
    tag(field, 2);
    const std::size_t length_at = out_.size();
    out_.push_back('\0');
    fill();
    close(length_at);
  }

 private:
  void tag(std::uint32_t field, std::uint32_t wire_type) { raw_varint(std::uint64_t{field} << 3 | wire_type); }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void raw_fixed(std::uint64_t value, int bytes);
  void close(std::size_t length_at);

  std::string& out_;
};

}  // namespace ronde
