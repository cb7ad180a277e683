#pragma once

#include <cstdint>
#include <string_view>

namespace ronde {

// The checksum of TFRecord files, iSCSI and others (Castagnoli's polynomial). `before` goes on from an earlier piece:
// crc32c(b, crc32c(a)) is crc32c of a and b together. Pure.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace ronde
