#pragma once

#include <string_view>

#include "ronde/data/array.h"

namespace ronde::data::files {

// Whether an array is a picture as a file holds it, rather than pixels.
bool is_encoded(const Array& image);

// Whether all of it can be decoded here: a JPEG, a PNG, or a TIFF of 8 bits, grey or RGB. FAILS WITH: BadInput for what
// begins as a TIFF and is none.
bool is_decodable(const Array& image);

// Looks at the header of a picture, JPEG, PNG or TIFF. FAILS WITH: BadInput: empty, or something else.
void check_picture(const Array& image);

}  // namespace ronde::data::files
