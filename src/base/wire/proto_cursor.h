#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ronde {

// Takes the fields of a message in protobuf's wire format one after the other, without believing any length. What is no
// such message ends it, and ok() tells. Made to be fast: a trace has tens of millions of messages. Points into bytes of
// the caller. Not thread-safe.
//
//   for (ProtoCursor at(bytes); at.next();) if (at.field() == 8) time = at.number();
class ProtoCursor {
 public:
  explicit ProtoCursor(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // False at the end, and where the message makes no sense.
  bool next() {
    std::uint64_t tag = 0;
    if (at_ == end_ || !ok_) return false;
    if (!take_varint(tag)) return fail();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    number_ = 0;
    bytes_ = {};
    switch (tag & 7) {
      case 0: return take_varint(number_) || fail();
      case 1: return take_fixed<std::uint64_t>() || fail();
      case 2: return take_bytes() || fail();
      case 5: return take_fixed<std::uint32_t>() || fail();
      default: return fail();
    }
  }

  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }
  std::int64_t signed_number() const { return static_cast<std::int64_t>(number_); }
  double real() const { return std::bit_cast<double>(number_); }
  std::string_view bytes() const { return bytes_; }  // empty for numbers
  bool ok() const { return ok_; }

  // A number at the beginning of `text`, which loses it. False: it does not end there.
  static bool take(std::string_view& text, std::uint64_t& value) {
    ProtoCursor cursor(text);
    if (!cursor.take_varint(value)) return false;
    text.remove_prefix(static_cast<std::size_t>(cursor.at_ - text.data()));
    return true;
  }

 private:
  bool fail() {
    ok_ = false;
    return false;
  }

  bool take_varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  template <class Number>
  bool take_fixed() {
    if (static_cast<std::size_t>(end_ - at_) < sizeof(Number)) return false;
    Number value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    number_ = value;
    return true;
  }

  bool take_bytes() {
    std::uint64_t length = 0;
    if (!take_varint(length) || length > static_cast<std::uint64_t>(end_ - at_)) return false;
    bytes_ = {at_, static_cast<std::size_t>(length)};
    at_ += length;
    return true;
  }

  const char* at_;
  const char* end_;
  std::uint32_t field_ = 0;
  bool ok_ = true;
  std::uint64_t number_ = 0;
  std::string_view bytes_ = {};
};

}  // namespace ronde
