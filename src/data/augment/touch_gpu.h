#pragma once

#include "ronde/data/augment/touch.h"

namespace ronde::data::detail {

// One of two files is behind it: with a kernel or without.
// REQUIRES: a GPU's stream; `touching` is checked.
void touch_on_gpu(const device::Stream& stream, const Touching& touching, const std::uint8_t* from,
                  const PictureTouch* touches, void* into);

}  // namespace ronde::data::detail
