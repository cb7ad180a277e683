#include "ronde/topology/affinity.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "ronde/base/error.h"

namespace ronde::topology {
namespace {

struct FreeMask {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};

// A mask as long as needed: cpu_set_t alone ends at 1024.
struct Mask {
  explicit Mask(int cpus) : bytes(CPU_ALLOC_SIZE(cpus)), bits(CPU_ALLOC(cpus)) { CPU_ZERO_S(bytes, bits.get()); }
  std::size_t bytes;
  std::unique_ptr<cpu_set_t, FreeMask> bits;
};

}  // namespace

CpuSet affinity_of_this_thread() {
  constexpr int kMostCpus = 1 << 20;
  for (int size = CPU_SETSIZE; size <= kMostCpus; size *= 2) {
    const Mask mask(size);
    if (sched_getaffinity(0, mask.bytes, mask.bits.get()) == 0) {
      std::vector<int> cpus;
      for (int cpu = 0; cpu < size; ++cpu)
        if (CPU_ISSET_S(cpu, mask.bytes, mask.bits.get())) cpus.push_back(cpu);
      return CpuSet(std::move(cpus));
    }
    if (errno != EINVAL) break;  // EINVAL: the kernel's mask is longer than ours
  }
  throw Error::system(errno, "cannot read which cpus this thread may use");
}

void bind_this_thread(const CpuSet& cpus) {
  if (cpus.empty()) throw Error(Error::Kind::Bug, "cannot bind a thread to an empty set of cpus");
  const Mask mask(*(cpus.end() - 1) + 1);
  for (const int cpu : cpus) CPU_SET_S(cpu, mask.bytes, mask.bits.get());
  if (sched_setaffinity(0, mask.bytes, mask.bits.get()) != 0)
    throw Error::system(errno, "cannot bind a thread to cpus {}", cpus.format());
}

bool prefer_memory_of(int numa_index) {
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  if (numa_index < 0) throw Error(Error::Kind::Bug, "NUMA domains count from 0");
  std::vector<unsigned long> nodes(numa_index / kBits + 1);
  nodes[numa_index / kBits] = 1UL << (numa_index % kBits);
  // The kernel takes the number of bits plus one.
  return syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), nodes.size() * kBits + 1) == 0;
}

void prefer_no_memory() {
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

bool memory_is_left_to_the_kernel() {
  int mode = MPOL_DEFAULT;
  syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
  return mode == MPOL_DEFAULT;
}

}  // namespace ronde::topology
