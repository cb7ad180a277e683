#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/data/array.h"

// What several formats do with arrays. All pure.
namespace ronde::data::files {

// What name() writes, back. Nothing for other text.
std::optional<Type> parse_type(std::string_view text);

// An array of that type from the bytes that `bytes` holds, which are copied when they do not lie as numbers of the type
// must; otherwise it is a view of them. `what` is what errors call it.
// FAILS WITH: BadInput when there are more bytes, or fewer.
Array from_bytes(Type type, Shape shape, const Array& bytes, const std::string& what);

// Numbers as another type: for classes and labels, which files keep in any.
// FAILS WITH: BadInput, saying which value is no whole number that fits.
std::int64_t whole_number(const Array& array, const std::string& what);
Array to_f32(const Array& array);

// One of the numbers as text that means the same number again.
std::string number_text(const Array& array, std::size_t index);

}  // namespace ronde::data::files
