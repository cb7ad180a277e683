#include "ronde/data/pipeline/split_by_key.h"

#include "ronde/data/order/random.h"

namespace ronde::data {

double percent_of(std::string_view key, std::uint64_t seed) {
  std::uint64_t hash = mix(seed + 0x73706c6974);
  for (const char letter : key) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return static_cast<double>(mix(hash) >> 11) * 0x1p-53 * 100;
}

std::vector<std::int64_t> places_by_key(const Records& records, const IndexView& view, const steps::SplitOff& split) {
  const auto lookup = view.epoch(0);
  std::vector<std::int64_t> places;
  for (std::int64_t place = 0; place < view.size(); ++place) {
    const double percent = percent_of(records.key(lookup(place)), split.seed);
    if (split.from <= percent && percent < split.to) places.push_back(place);
  }
  return places;
}

}  // namespace ronde::data
