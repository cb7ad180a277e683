#include "ronde/data/formats/proto/tfrecord_framing.h"

#include <bit>
#include <cstdint>

#include "ronde/base/error.h"
#include "ronde/data/io/bytes.h"
#include "ronde/data/io/crc32c.h"

namespace ronde::data {
namespace {

using detail::append_number;
using detail::number_at;

constexpr std::size_t kHeader = kTfRecordHeader, kFooter = kTfRecordFrame - kTfRecordHeader;

Error cut_off(const std::string& name, std::uint64_t end, std::uint64_t begin) {
  return Error::bad_input("{}: the file ends at byte {}, inside the record that begins at byte {}", name, end, begin);
}

// Checksums are stored turned and shifted, so that a checksum over bytes that hold checksums is still a good one.
std::uint32_t masked(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

}  // namespace

void append_tfrecord(std::string& file, std::string_view payload) {
  std::string length;
  append_number(length, std::uint64_t{payload.size()});
  file += length;
  append_number(file, masked(length));
  file += payload;
  append_number(file, masked(payload));
}

std::uint64_t tfrecord_length(std::string_view header, const std::string& name, std::uint64_t offset) {
  if (header.size() < kHeader) throw cut_off(name, offset + header.size(), offset);
  if (number_at<std::uint32_t>(header, 8) != masked(header.substr(0, 8)))
    throw Error::bad_input("{}: byte {}: the checksum of a record's length does not match", name, offset);
  return number_at<std::uint64_t>(header, 0);
}

std::string_view take_tfrecord(std::string_view& bytes, const std::string& name, std::size_t offset) {
  const std::uint64_t length = tfrecord_length(bytes, name, offset);
  if (length > bytes.size() - kHeader || bytes.size() - kHeader - length < kFooter)
    throw cut_off(name, offset + bytes.size(), offset);
  const std::string_view payload = bytes.substr(kHeader, length);
  if (number_at<std::uint32_t>(bytes, kHeader + length) != masked(payload))
    throw Error::bad_input("{}: byte {}: the checksum of a record does not match", name, offset + kHeader);
  bytes.remove_prefix(kHeader + length + kFooter);
  return payload;
}

}  // namespace ronde::data
