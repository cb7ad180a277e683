#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

// A trial as samplers see it.
struct Observation {
  enum class State { Running, Complete, Pruned };  // Pruned: stopped by the scheduler. Failed ones are left out

  int number = 0;
  State state = State::Running;
  std::map<std::string, Json> values = {};  // by path, what was drawn for it
  std::optional<double> loss = {};          // smaller is better, whatever the search's mode; none: not known
  // Of each budget (time at a rung or at a report): the loss there. For BOHB, and for trials that were stopped.
  std::vector<std::pair<double, double>> steps = {};
};

// All trials before the one that is to be drawn, in the order in which they were made.
using Observations = std::vector<Observation>;

// Draws the values of a new trial. A pure function of its options, the seed, the trial's number and the observations:
// it keeps nothing from call to call but what it could compute again.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Values that are drawn together, by path: any of space.parameters(), or none.
  virtual std::map<std::string, Json> draw_together(const Space& /*space*/, const Observations& /*past*/,
                                                    int /*number*/) {
    return {};
  }
  // One that draw_together() has left out: a parameter that exists only under a condition, say.
  virtual Json draw_one(const std::string& path, const Domain& domain, const Observations& past, int number) = 0;
};

struct SamplerOptions {
  std::uint64_t seed = 0;
  Json options = Json::object();
};

// One entry says all there is to know about a sampler; CMake makes the list.
struct SamplerEntry {
  std::string_view name;                       // as tune.sampler has it
  std::vector<std::string_view> aliases = {};  // other names that users know
  std::string_view help;                       // one sentence
  std::vector<std::string_view> options = {};  // that it reads
  bool learns = true;                          // from results: a metric is needed, and grids are refused
  std::unique_ptr<Sampler> (*make)(const SamplerOptions&) = nullptr;
};

// All of them, in the order of CMakeLists.txt. Made anew by each call.
std::vector<SamplerEntry> sampler_entries();

// FAILS WITH: BadInput for a name that no sampler has, with those that there are.
SamplerEntry find_sampler(std::string_view name);

// FAILS WITH: BadInput for an option that this sampler does not read.
std::unique_ptr<Sampler> make_sampler(const SamplerEntry& entry, const SamplerOptions& options);

// Numbers for one parameter of one trial, whatever else is drawn.
Random random_of(std::uint64_t seed, int number, std::string_view path);

}  // namespace ronde::tune
