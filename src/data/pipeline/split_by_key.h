#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ronde/data/order/index_view.h"
#include "ronde/data/records.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// Where a key falls, 0 <= p < 100: as even as can be, and by nothing but key and seed. Pure.
double percent_of(std::string_view key, std::uint64_t seed);

// The places of a view whose samples fall into a part. Since each key is looked at by itself, samples that are added
// later never move others. REQUIRES: the order of the view is the same in every epoch.
std::vector<std::int64_t> places_by_key(const Records& records, const IndexView& view, const steps::SplitOff& split);

}  // namespace ronde::data
