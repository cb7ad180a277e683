#include "ronde/data/order/batch_plan.h"

#include <algorithm>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::data {
namespace {

template <class Number>
std::optional<Number> value_of(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.substr(key.size(), 1) != "=") return {};
  return parse_number<Number>(word.substr(key.size() + 1));
}

}  // namespace

std::string to_text(const Position& position) {
  return fmt::format("epoch={} position={} seed={}", position.epoch, position.position, position.seed);
}

Position parse_position(std::string_view text) {
  const auto words = split(trim(text), ' ');
  if (words.size() == 3) {
    const auto epoch = value_of<std::int64_t>(words[0], "epoch");
    const auto position = value_of<std::int64_t>(words[1], "position");
    const auto seed = value_of<std::uint64_t>(words[2], "seed");
    if (epoch && position && seed && *epoch >= 0 && *position >= 0) return {*epoch, *position, *seed};
  }
  throw Error::bad_input("'{}' is not a position in the data; expected for example 'epoch=3 position=1280 seed=7'",
                         text);
}

Range BatchPlan::batch_at(std::int64_t position) const {
  const std::int64_t begin = std::clamp<std::int64_t>(position, 0, samples);
  const std::int64_t size = std::min(batch, samples - begin);
  return {begin, size < batch && !keep_short ? begin : begin + size};
}

std::int64_t BatchPlan::batches() const {
  return samples / batch + (keep_short && samples % batch > 0);
}

std::int64_t BatchPlan::index_of(std::int64_t position) const {
  return position / batch + (position % batch > 0);
}

Range share(Range whole, int rank, int ranks) {
  const std::int64_t each = whole.size() / ranks, more = whole.size() % ranks;
  const auto begin_of = [&](std::int64_t r) { return whole.begin + r * each + std::min(r, more); };
  return {begin_of(rank), begin_of(rank + 1)};
}

}  // namespace ronde::data
