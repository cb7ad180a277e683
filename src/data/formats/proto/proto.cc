#include "ronde/data/formats/proto/proto.h"

#include <cstring>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/wire/proto_cursor.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kMostVarintBytes = 10;
constexpr std::uint64_t kMostFieldNumber = (std::uint64_t{1} << 29) - 1;

template <class Number>
Number number_of(std::string_view bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

ProtoReader::ProtoReader(std::string_view message, std::string name, std::size_t offset)
    : message_(message), name_(std::move(name)), offset_(offset) {}

std::string_view ProtoReader::take(std::size_t bytes) {
  if (bytes > left())
    throw Error::bad_input("{}: byte {} of the message: expected {} more bytes, but only {} are left", name_, offset(),
                           bytes, left());
  const std::string_view taken = message_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

std::uint64_t ProtoReader::take_varint() {
  std::string_view rest = message_.substr(at_);
  std::uint64_t value = 0;
  if (!ProtoCursor::take(rest, value)) {
    if (left() >= kMostVarintBytes)
      throw Error::bad_input("{}: byte {} of the message: a varint is too long", name_, offset());
    take(left());
    take(1);  // says that it is cut off
  }
  at_ = message_.size() - rest.size();
  return value;
}

std::uint32_t ProtoReader::take_fixed32() {
  return number_of<std::uint32_t>(take(4));
}

std::uint64_t ProtoReader::take_fixed64() {
  return number_of<std::uint64_t>(take(8));
}

std::optional<ProtoReader::Field> ProtoReader::next() {
  if (done()) return {};
  const std::size_t begin = offset();
  const std::uint64_t tag = take_varint();
  Field field{.wire = static_cast<Wire>(tag & 7u)};
  if (tag >> 3 == 0 || tag >> 3 > kMostFieldNumber)
    throw Error::bad_input("{}: byte {} of the message: invalid field number {}", name_, begin, tag >> 3);
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (field.wire) {
    case Wire::Varint: field.value = take_varint(); return field;
    case Wire::Fixed64: field.value = take_fixed64(); return field;
    case Wire::Fixed32: field.value = take_fixed32(); return field;
    case Wire::Bytes: {
      const std::uint64_t length = take_varint();
      field.bytes = take(length);
      return field;
    }
  }
  throw Error::bad_input("{}: byte {} of the message: field {} has the unsupported wire type {}", name_, begin,
                         field.number, tag & 7u);
}

std::size_t ProtoReader::offset_of(std::string_view bytes) const {
  return offset_ + static_cast<std::size_t>(bytes.data() - message_.data());
}

void ProtoReader::require(const Field& field, Wire wire) const {
  if (field.wire != wire)
    throw Error::bad_input("{}: before byte {} of the message: field {} should be {}", name_, offset(), field.number,
                           wire == Wire::Bytes ? "bytes" : "a number");
}

ProtoReader ProtoReader::inside(const Field& field) const {
  const std::string_view body = bytes(field);
  return {body, name_, offset_of(body)};
}

std::string_view ProtoReader::bytes(const Field& field) const {
  require(field, Wire::Bytes);
  return field.bytes;
}

std::uint64_t ProtoReader::varint(const Field& field) const {
  require(field, Wire::Varint);
  return field.value;
}

}  // namespace ronde::data::files
