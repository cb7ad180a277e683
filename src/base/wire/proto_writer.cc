#include "ronde/base/wire/proto_writer.h"

namespace ronde {

void ProtoWriter::fixed32(std::uint32_t field, std::uint32_t value) {
  tag(field, 5);
  raw_fixed(value, 4);
}

void ProtoWriter::fixed64(std::uint32_t field, std::uint64_t value) {
  tag(field, 1);
  raw_fixed(value, 8);
}

void ProtoWriter::raw_fixed(std::uint64_t value, int bytes) {  // little-endian on any machine
  for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i)));
}

void ProtoWriter::bytes(std::uint32_t field, std::string_view value) {
  tag(field, 2);
  raw_varint(value.size());
  out_.append(value);
}

void ProtoWriter::close(std::size_t length_at) {
  std::size_t length = out_.size() - length_at - 1;
  std::size_t at = length_at;
  for (; length >= 0x80; length >>= 7) {
    out_[at++] = static_cast<char>(length | 0x80);
    out_.insert(at, 1, '\0');
  }
  out_[at] = static_cast<char>(length);
}

}  // namespace ronde
