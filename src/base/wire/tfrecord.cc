#include "ronde/base/wire/tfrecord.h"

#include <bit>

#include "ronde/base/wire/crc32c.h"

namespace ronde {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

template <class Number>
void append_number(std::string& file, Number number) {
  file.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

void append_tfrecord(std::string& file, std::string_view payload) {
  std::string length;
  append_number(length, std::uint64_t{payload.size()});
  file += length;
  append_number(file, masked_crc32c(length));
  file += payload;
  append_number(file, masked_crc32c(payload));
}

}  // namespace ronde
