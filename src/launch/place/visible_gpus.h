#pragma once

#include "ronde/base/settings/environment.h"
#include "ronde/topology/machine.h"

namespace ronde::launch {

// A machine with the GPUs that a program in this environment will see, in its order: those that CUDA_VISIBLE_DEVICES
// (or ROCR_, HIP_) names, of those that Slurm has granted. Where Slurm keeps a job from the other GPUs altogether, CUDA
// counts the granted ones from 0, so numbers are taken to mean these whenever they can. Pure.
topology::Machine with_visible_gpus(topology::Machine machine, const Environment& environment);

}  // namespace ronde::launch
