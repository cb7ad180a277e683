#pragma once

#include <optional>

#include "ronde/base/system/hardware.h"
#include "ronde/report/run/job_facts.h"

namespace ronde::report {

struct MachineSources {
  std::optional<MachineRates> said = {};           // by the user
  std::optional<MachineRates> measured_here = {};  // by 'ronde bench roofline' on this machine
};

// How fast the machine of a run is: what the user says; else what the run measured before it began; else what was
// measured here, if the run was on such a processor; else what is published of it. Nothing: none of these. What a run
// does not measure (its disk, an allreduce) comes from here, if the processor is the same. Pure.
std::optional<MachineRates> machine_of_run(const JobFacts& facts, const MachineSources& sources);

}  // namespace ronde::report
