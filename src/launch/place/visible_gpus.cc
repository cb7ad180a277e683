#include "ronde/launch/place/visible_gpus.h"

#include <algorithm>
#include <optional>
#include <string>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

using topology::CpuSet;

std::optional<std::string> first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = environment.get(name)) return value;
  return {};
}

// "0-1,3" as Slurm writes it. Names instead of numbers: nothing.
std::optional<CpuSet> numbers_in(const std::string& list) {
  try {
    return CpuSet::parse(list);
  } catch (const Error&) {
    return {};
  }
}

std::string with_commas(const CpuSet& numbers) {
  return fmt::format("{}", fmt::join(numbers.begin(), numbers.end(), ","));
}

}  // namespace

topology::Machine with_visible_gpus(topology::Machine machine, const Environment& environment) {
  const auto visible = first_of(environment, {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"});
  const auto slurm = first_of(environment, {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"});
  const auto granted = slurm ? numbers_in(*slurm) : std::nullopt;
  if (granted) {
    const auto asked = visible ? numbers_in(*visible) : std::nullopt;
    const auto counts = [&](int number) { return number < granted->size(); };
    const bool among_granted = !asked || (*asked != *granted && std::all_of(asked->begin(), asked->end(), counts));
    if (among_granted) machine = topology::with_visible_gpus(std::move(machine), with_commas(*granted));
  }
  return visible ? topology::with_visible_gpus(std::move(machine), *visible) : machine;
}

}  // namespace ronde::launch
