#pragma once

#include <memory>

#include "ronde/data/source.h"

namespace ronde::data::detail {

// CIFAR-10's binary version: records of a label byte and three planes of 32 x 32 bytes.
std::unique_ptr<Source> open_cifar10(const SourceOptions& options);

}  // namespace ronde::data::detail
