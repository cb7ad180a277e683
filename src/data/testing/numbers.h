#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/data/dataset.h"

// Datasets of numbers, and what comes out of them.
namespace ronde::data::tests {

using List = std::vector<std::int64_t>;
using Lists = std::vector<List>;

inline Sample numbered(std::int64_t index) {
  Sample sample;
  sample.set("x", Array::scalar<std::int64_t>(index));
  return sample;
}

inline Dataset numbers(std::int64_t count) {
  return function(count, numbered, "numbers");
}

inline std::vector<std::int64_t> values(const Sample& sample) {
  const auto all = sample.at("x").values<std::int64_t>();
  return {all.begin(), all.end()};
}

inline std::vector<std::int64_t> all_of(const Dataset& dataset) {
  std::vector<std::int64_t> found;
  for (const Sample& sample : dataset) found.push_back(values(sample).front());
  return found;
}

inline std::vector<std::vector<std::int64_t>> batches_of(const Dataset& dataset, PipelineOptions options = {},
                                                         std::optional<Position> start = {}) {
  std::vector<std::vector<std::int64_t>> found;
  Pipeline pipeline = dataset.open(std::move(options), start);
  while (auto batch = pipeline.next()) found.push_back(batch->empty() ? std::vector<std::int64_t>() : values(*batch));
  return found;
}

inline std::vector<std::int64_t> counting(std::int64_t count, std::int64_t first = 0) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace ronde::data::tests
