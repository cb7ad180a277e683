#pragma once

#include <string>

#include "ronde/topology/binding.h"
#include "ronde/topology/machine.h"

// Pictures for a terminal. They end in a newline and use no colours.
namespace ronde::topology {

struct DrawOptions {
  bool ascii = false;  // for terminals without box-drawing characters
};

//   b2: AMD EPYC 9354, 64 cores (128 hardware threads), 768 GiB
//   ├─ package 0
//   │  ├─ NUMA 0: 192 GiB, cores 0-15 (2 threads each: cpus 0-15,64-79)
//   │  │  └─ GPU 0: NVIDIA H200, 0000:1b:00.0
std::string draw(const Machine& machine, const DrawOptions& options = {});

// A table with one row a rank. Columns that say nothing on this machine are left out.
std::string draw(const BindingPlan& plan);

// The same in a line without its end: "4 ranks, bound by gpu: 3 threads each, on 16 cores".
// REQUIRES: at least one rank.
std::string summary(const BindingPlan& plan);

}  // namespace ronde::topology
