#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "ronde/data/order/batch_plan.h"
#include "ronde/data/source.h"

namespace ronde::data {

// How samples are shared out, in percent.
struct Shares {
  double train = 100, validation = 0, test = 0;
  friend bool operator==(const Shares&, const Shares&) = default;
};
// "60/20/20": three numbers that add up to 100, the first above 0. FAILS WITH: BadInput.
Shares parse_shares(std::string_view text);

// The places of each part among `samples` places, one after the other. Pure.
struct Cuts {
  Range train, validation, test;
};
// FAILS WITH: BadInput when a share that is not 0 is left without a sample.
Cuts cut(const Shares& shares, std::int64_t samples);

// The samples of a source at some places of an order by `seed`, as a source of its own. Which ones does not depend on
// anything but seed, size and places. Takes no memory a sample.
// REQUIRES: places inside of the source.
std::unique_ptr<Source> part_of(std::unique_ptr<Source> whole, Range places, std::uint64_t seed);

struct Parts {
  std::unique_ptr<Source> train;
  std::unique_ptr<Source> validation;  // none: nothing is held out for it
  std::unique_ptr<Source> test;
};

// The samples of `options` (those for training, augmented as it says) and `test_samples` of those for testing; shared
// out as `split` says ("60/20/20"), if it says anything, by a seed of its own: options.seed changes no part. A share
// for testing is taken from the samples for training, and those that come for testing are left alone; with none, test
// samples are those that come.
// Only samples for training are augmented. Samples in files are shared out by their names, so that none moves to
// another part when others are added. FAILS WITH: BadInput for shares that cannot be, or a share for testing of a
// source that has such samples already; as open_source().
Parts open_parts(const SourceOptions& options, std::int64_t test_samples, std::string_view split,
                 std::uint64_t split_seed = 0);

// The first samples of a source, as a source of their own. REQUIRES: there are so many.
std::unique_ptr<Source> first_of(std::unique_ptr<Source> whole, std::int64_t samples);

// The same of samples that somebody else opens: `open` gives those for training or those for testing, which may be
// called several times. Their places decide, as for samples that are generated. A share for testing is taken from the
// samples for training, and `open` is then not asked for others.
Parts divided(const std::function<std::unique_ptr<Source>(Split)>& open, std::string_view split,
              std::uint64_t split_seed);

}  // namespace ronde::data
