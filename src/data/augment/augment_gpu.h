#pragma once

#include "ronde/data/augment/augment.h"

namespace ronde::data::detail {

// One of two files is behind it: with a kernel or without.
// REQUIRES: a GPU's stream; `augment` is checked.
void augment_on_gpu(const device::Stream& stream, const AugmentOptions& augment, const std::uint8_t* from,
                    const Augmentation* augmentations, void* into);

}  // namespace ronde::data::detail
