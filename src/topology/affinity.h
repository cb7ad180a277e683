#pragma once

#include "ronde/topology/cpu_set.h"

// Thin shells around the kernel. All act on the calling thread; threads that it starts later inherit from it.
namespace ronde::topology {

// FAILS WITH: System.
CpuSet affinity_of_this_thread();

// REQUIRES: `cpus` is not empty.
// FAILS WITH: System, naming the cpus, when none of them is there or ours.
void bind_this_thread(const CpuSet& cpus);

// Takes new memory from a NUMA domain (by the machine's number, NumaDomain::index) as long as it has some: a domain
// that is full costs time, not the job. Returns false where the kernel does not let us, as in many containers: memory
// then comes from wherever the thread runs, which is the same domain for a thread that is bound there.
bool prefer_memory_of(int numa_index);
// Back to what the kernel does by itself.
void prefer_no_memory();
// True when nobody, numactl(8) say, has told the kernel where memory is to come from.
bool memory_is_left_to_the_kernel();

}  // namespace ronde::topology
