#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/report/advice.h"

// For the rules of the group Balance: some ranks have more to do than others, or are slower, always the same ones or
// now this one and now that one. Pure.
namespace ronde::report::rules {

inline constexpr double kLeastNoise = 0.05;  // of the run: steps are never quite alike

// Ranks that are slower than the rest, as places in StepTable::ranks.
struct Slow {
  std::vector<std::size_t> places = {};
  std::string who = {};  // "rank 1 (node7)", "node7"
  bool node = false;
  double excess = 0;          // of their work over the others', both as means, in a usual step
  double gain = 0;            // if they were as fast as the slowest other
  std::size_t worst = 0;      // step, by place
  std::size_t example = 0;    // rank, by place
  double share_of_steps = 0;  // in which one of them has most work

  bool has(std::size_t place) const;
};

// None: no ranks are slow, or now these and now those.
std::optional<Slow> find_slow(const Evidence& evidence);

// The advice on them but for title and change, before it is known why.
Advice advice_on(const Evidence& evidence, const Slow& slow);

// What to do where nothing explains it.
std::string check_host(const Evidence& evidence, const Slow& slow);

// A step on a rank, both by their places in StepTable.
std::optional<AdvicePlace> place_of_step(const Evidence& evidence, std::size_t rank, std::size_t step);

}  // namespace ronde::report::rules
