#include "ronde/data/formats/proto/tfrecord_framing.h"

#include <cstdint>

#include "ronde/base/error.h"
#include "ronde/base/wire/tfrecord.h"
#include "ronde/data/io/bytes.h"

namespace ronde::data {
namespace {

using detail::number_at;

constexpr std::size_t kHeader = kTfRecordHeader, kFooter = kTfRecordFrame - kTfRecordHeader;

Error cut_off(const std::string& name, std::uint64_t end, std::uint64_t begin) {
  return Error::bad_input("{}: the file ends at byte {}, inside the record that begins at byte {}", name, end, begin);
}

}  // namespace

std::uint64_t tfrecord_length(std::string_view header, const std::string& name, std::uint64_t offset) {
  if (header.size() < kHeader) throw cut_off(name, offset + header.size(), offset);
  if (number_at<std::uint32_t>(header, 8) != masked_crc32c(header.substr(0, 8)))
    throw Error::bad_input("{}: byte {}: the checksum of a record's length does not match", name, offset);
  return number_at<std::uint64_t>(header, 0);
}

std::string_view take_tfrecord(std::string_view& bytes, const std::string& name, std::size_t offset) {
  const std::uint64_t length = tfrecord_length(bytes, name, offset);
  if (length > bytes.size() - kHeader || bytes.size() - kHeader - length < kFooter)
    throw cut_off(name, offset + bytes.size(), offset);
  const std::string_view payload = bytes.substr(kHeader, length);
  if (number_at<std::uint32_t>(bytes, kHeader + length) != masked_crc32c(payload))
    throw Error::bad_input("{}: byte {}: the checksum of a record does not match", name, offset + kHeader);
  bytes.remove_prefix(kHeader + length + kFooter);
  return payload;
}

}  // namespace ronde::data
