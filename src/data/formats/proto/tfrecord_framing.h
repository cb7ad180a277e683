#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ronde::data {

// What a record has besides its payload: length and checksum before it, and a checksum after it.
constexpr std::size_t kTfRecordHeader = 12, kTfRecordFrame = 16;

// Takes the first record off the bytes of such a file and returns what it holds; `name` and `offset` (of the bytes in
// the file) are for errors. REQUIRES: bytes is not empty.
// FAILS WITH: BadInput, naming file and offset: cut off, or a checksum that does not fit.
std::string_view take_tfrecord(std::string_view& bytes, const std::string& name, std::size_t offset);

// How long the payload is whose record begins with `header`, the kTfRecordHeader bytes before it.
// FAILS WITH: BadInput, as above.
std::uint64_t tfrecord_length(std::string_view header, const std::string& name, std::uint64_t offset);

}  // namespace ronde::data
