#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ronde/data/sample.h"

namespace ronde::data {

// A sample as bytes, and back. Arrays begin at multiples of 64 bytes, so that they can be used where they lie.
std::string to_bytes(const Sample& sample);

// A sample whose arrays lie in `bytes`, which `owner` keeps; nothing when they are not what to_bytes() made.
std::optional<Sample> from_bytes(std::string_view bytes, const std::shared_ptr<const void>& owner);

}  // namespace ronde::data
