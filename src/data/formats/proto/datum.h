#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ronde/data/sample.h"

namespace ronde::data::files {

// A sample of Caffe's: a Datum. "image" is the encoded picture (u8[n]) or the pixels, u8[h,w,c] or f32[h,w,c], with the
// channels in the order of the file (Caffe's own tool wrote blue, green, red); "label" is i64 as it is there.
// An encoded picture points into `bytes`, which `owner` keeps. `name` is what errors call it.
// FAILS WITH: BadInput, naming the byte: no Datum, cut off, more or fewer pixels than it speaks of.
Sample parse_datum(std::string_view bytes, const std::string& name, std::shared_ptr<const void> owner);

}  // namespace ronde::data::files
