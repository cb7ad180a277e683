#pragma once

#include <cstdint>

#include "ronde/data/order/random.h"
#include "ronde/data/source.h"

namespace ronde::data::detail {

// What sources that make their samples have in common.

// Of a mask, class 0 is the background, and the classes that were asked for follow.
inline SampleKind generated_kind(const SourceOptions& options) {
  return {.channels = options.channels,
          .height = options.resolution,
          .width = options.resolution,
          .classes = options.classes + (options.target == Target::Mask ? 1 : 0),
          .target = options.target};
}

inline std::int64_t generated_size(const SourceOptions& options) {
  if (options.samples > 0) return options.samples;
  return options.split == Split::Train ? 20'000 : 2'000;
}

// Training and test samples never meet: they have seeds of their own.
inline std::uint64_t generated_seed(const SourceOptions& options) {
  return Random(options.seed).at(options.split == Split::Train ? 0 : 1);
}

}  // namespace ronde::data::detail
