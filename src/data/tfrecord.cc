#include "ronde/data/tfrecord.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "ronde/base/error.h"
#include "ronde/data/crc32c.h"

namespace ronde::data {
namespace {

constexpr std::size_t kHeader = 12, kFooter = 4;

// Checksums are stored turned and shifted, so that a checksum over bytes that hold checksums is still a good one.
std::uint32_t masked(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

template <class Number>
void append(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

}  // namespace

void append_tfrecord(std::string& file, std::string_view payload) {
  std::string length;
  append(length, std::uint64_t{payload.size()});
  file += length;
  append(file, masked(length));
  file += payload;
  append(file, masked(payload));
}

std::string_view take_tfrecord(std::string_view& bytes, const std::string& name, std::size_t offset) {
  const auto cut_off = [&] {
    return Error::bad_input("{}: the file ends at byte {}, inside the record that begins at byte {}", name,
                            offset + bytes.size(), offset);
  };
  if (bytes.size() < kHeader) throw cut_off();
  if (number_at<std::uint32_t>(bytes, 8) != masked(bytes.substr(0, 8)))
    throw Error::bad_input("{}: byte {}: the checksum of a record's length does not fit", name, offset);
  const auto length = number_at<std::uint64_t>(bytes, 0);
  if (length > bytes.size() - kHeader || bytes.size() - kHeader - length < kFooter) throw cut_off();
  const std::string_view payload = bytes.substr(kHeader, length);
  if (number_at<std::uint32_t>(bytes, kHeader + length) != masked(payload))
    throw Error::bad_input("{}: byte {}: the checksum of a record does not fit", name, offset + kHeader);
  bytes.remove_prefix(kHeader + length + kFooter);
  return payload;
}

}  // namespace ronde::data
