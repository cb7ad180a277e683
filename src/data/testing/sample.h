#pragma once

#include <cstdint>
#include <vector>

#include "ronde/data/source.h"

namespace ronde::data {

// A sample of a source, with memory of its own, which holds nonsense until it is read.
struct FilledSample {
  explicit FilledSample(const SampleKind& kind)
      : features(kind.values(), 1e9f), classes(kind.class_values(), -1), flags(kind.flag_values(), 1e9f) {}
  SampleSpace space() { return {.features = features, .classes = classes, .flags = flags}; }
  friend bool operator==(const FilledSample&, const FilledSample&) = default;

  std::vector<float> features;
  std::vector<std::int64_t> classes;
  std::vector<float> flags;
};

inline FilledSample sample_of(const Source& source, std::int64_t index, std::int64_t epoch = 0) {
  FilledSample sample(source.kind());
  source.read(index, epoch, sample.space());
  return sample;
}

}  // namespace ronde::data
