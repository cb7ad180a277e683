#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "ronde/base/math/step_window.h"

namespace ronde::report {

// How much each step of a run holds, of all ranks, in little memory for any number of steps: where there are too many,
// neighbours count together. Not thread-safe.
class StepWeights {
 public:
  explicit StepWeights(std::size_t most = std::size_t{1} << 16) : most_(most) {}

  void add(std::int64_t step, std::uint64_t weight);
  void add(const StepWeights& other);
  std::uint64_t total() const { return total_; }
  // The first and the last step that anything was added for. Nothing: none.
  std::optional<StepWindow> steps() const;

  // Steps in a row from the middle of the run, as many as weigh no more than that together, one at least. Nothing:
  // there are no steps.
  std::optional<StepWindow> middle(std::uint64_t weight) const;

 private:
  void coarsen();

  std::size_t most_;
  int shift_ = 0;  // a place is a step's number without so many bits
  std::map<std::int64_t, std::uint64_t> by_place_;
  std::uint64_t total_ = 0;
  std::int64_t first_ = 0, last_ = 0;
};

}  // namespace ronde::report
