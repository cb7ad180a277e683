#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The framing of TFRecord files, which TensorBoard's event files have too.
namespace ronde {

// Checksums are stored turned and shifted, so that a checksum over bytes that hold checksums is still a good one. Pure.
std::uint32_t masked_crc32c(std::string_view bytes);

// Adds `payload` to the bytes of a file: its length and the payload, each with a checksum. Pure.
void append_tfrecord(std::string& file, std::string_view payload);

}  // namespace ronde
