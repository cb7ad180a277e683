#include "ronde/launch/place/place.h"

#include <thread>

#include <gtest/gtest.h>

#include "ronde/topology/affinity.h"

namespace ronde::launch {
namespace {

using topology::CpuSet;

TEST(Placed, BindsWhatIsStartedMeanwhileAndLetsGoAfterwards) {
  const CpuSet before = topology::affinity_of_this_thread();
  topology::RankBinding binding;
  binding.cpus = {before.front()};
  binding.numa = {0};
  CpuSet inherited;
  bool left_to_the_kernel = true;
  {
    const Placed placed(binding);
    std::thread([&] {
      inherited = topology::affinity_of_this_thread();
      left_to_the_kernel = topology::memory_is_left_to_the_kernel();
    }).join();
  }
  EXPECT_EQ(inherited, CpuSet{before.front()});
  EXPECT_EQ(topology::affinity_of_this_thread(), before);
  EXPECT_TRUE(topology::memory_is_left_to_the_kernel());
  if (!topology::prefer_memory_of(0)) GTEST_SKIP() << "the kernel lets nobody choose here where memory comes from";
  topology::prefer_no_memory();
  EXPECT_FALSE(left_to_the_kernel);
}

TEST(Placed, LeavesMemoryAloneThatSomebodyHasPlaced) {
  if (!topology::prefer_memory_of(0)) GTEST_SKIP() << "the kernel lets nobody choose here where memory comes from";
  topology::RankBinding binding;
  binding.cpus = topology::affinity_of_this_thread();
  binding.numa = {0};
  { const Placed placed(binding); }
  EXPECT_FALSE(topology::memory_is_left_to_the_kernel()) << "it was numactl's, not ours to give back";
  topology::prefer_no_memory();
}

}  // namespace
}  // namespace ronde::launch
