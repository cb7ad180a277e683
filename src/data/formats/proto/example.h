#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ronde/data/sample.h"

namespace ronde::data::files {

// Features of a tf.train.Example by their own names: one bytes value is u8[n] (several: "NAME/0", "NAME/1", ...),
// floats f32[n], integers i64[n]; one number is a scalar, and a feature without values is left out. What Example cannot
// say of an array, `encode_example` puts beside it, "NAME/shape" and "NAME/type", and this takes back.
// u8 arrays point into `bytes`, which `owner` keeps. `name` is what errors call it.
// FAILS WITH: BadInput, naming the byte.
Sample parse_example(std::string_view bytes, const std::string& name, std::shared_ptr<const void> owner);

// Pure. i64 and f32 in at most one dimension and u8[n] are as TensorFlow has them; others come with shape and type.
std::string encode_example(const Sample& sample);

}  // namespace ronde::data::files
