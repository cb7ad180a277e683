#pragma once

#include "ronde/topology/binding.h"

namespace ronde::launch {

// As long as it lives, the calling thread, and whatever it starts meanwhile, runs on the cpus that a rank owns and
// takes memory from there: from its NUMA domain first, when it has only one and nobody (numactl) has said otherwise. A
// program that becomes the rank itself, by exec, never lets go of it.
class Placed {
 public:
  // FAILS WITH: System when none of the cpus is ours any more.
  explicit Placed(const topology::RankBinding& binding);
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed();

 private:
  topology::CpuSet before_;
  bool memory_ = false;  // is preferred from a domain
};

}  // namespace ronde::launch
