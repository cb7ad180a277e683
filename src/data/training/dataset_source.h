#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ronde/data/dataset.h"
#include "ronde/data/order/random.h"
#include "ronde/data/source.h"

namespace ronde::data {

// Which arrays of a dataset's samples a network takes, and which it is to give.
struct DatasetArrays {
  std::string input = "input";
  // One i64: a class. i64[height,width], for inputs of [channels,height,width]: a class for each pixel. Any other
  // numbers: these numbers. Samples without it: the input itself is wanted.
  std::string target = "target";
  std::int64_t classes = 0;  // how many there are, where targets are classes
  std::int64_t ignore = -1;  // a number that stands for no class, and may be as large as it likes; -1: none
};

// Samples of a dataset as a training takes them: by index, all of one shape, that of the first. The steps of the
// dataset may be map(), with functions or, as the last one, with a decoder; order and batches are the trainer's.
// `seed`: of what steps draw. FAILS WITH: BadInput for other steps, samples that come one after the other, no samples,
// or arrays that cannot be learned from; whatever the first sample fails with.
std::unique_ptr<Source> source_of(const Dataset& dataset, const DatasetArrays& arrays, std::uint64_t seed);

// What is done to a sample besides: changes it in place. It draws from `random`, which depends on the seed, the epoch
// and the sample alone. Called from several threads.
using Augment = std::function<void(const SampleSpace& sample, const SampleKind& kind, Random& random)>;

// The samples of a source with functions applied to each, one after the other.
// FAILS WITH: BadInput for samples that are not f32 when they leave the source.
std::unique_ptr<Source> augmented(std::unique_ptr<Source> source, std::vector<Augment> functions, std::uint64_t seed);

}  // namespace ronde::data
