#pragma once

#include <string>
#include <string_view>

namespace ronde::data {

// Adds `payload` to the bytes of a TFRecord file: its length and the payload, each with a checksum. Pure.
void append_tfrecord(std::string& file, std::string_view payload);

// Takes the first record off the bytes of such a file and returns what it holds; `name` and `offset` (of the bytes in
// the file) are for errors. REQUIRES: bytes is not empty.
// FAILS WITH: BadInput, naming file and offset: cut off, or a checksum that does not fit.
std::string_view take_tfrecord(std::string_view& bytes, const std::string& name, std::size_t offset);

}  // namespace ronde::data
