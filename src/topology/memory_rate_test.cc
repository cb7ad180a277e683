#include "ronde/topology/memory_rate.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"

namespace ronde::topology {
namespace {

TEST(MemoryRate, IsMeasuredByAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    const double rate = triad_gb_s({.threads = threads, .bytes = 3 << 20, .seconds = 0.01});
    EXPECT_GT(rate, 0.01) << threads;
    EXPECT_LT(rate, 1e5) << threads;
  }
}

TEST(MemoryRate, OneRoundAtLeastIsTimed) {
  EXPECT_GT(triad_gb_s({.threads = 2, .bytes = 1 << 20, .seconds = 0}), 0);
}

TEST(MemoryRate, MoreMemoryThanThereIsFails) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer ends a program that asks for so much";
#endif
  EXPECT_THROW(triad_gb_s({.threads = 2, .bytes = std::size_t{1} << 50, .seconds = 0.01}), Error);
}

TEST(MemoryRate, ThreadsAreBoundAndTheCallerIsNot) {
  const CpuSet before = affinity_of_this_thread();
  const TriadOptions one{.threads = 2, .bytes = 3 << 20, .seconds = 0.01, .cpus = {CpuSet{before.front()}}};
  EXPECT_GT(triad_gb_s(one), 0.01);
  EXPECT_EQ(affinity_of_this_thread(), before);
  EXPECT_THROW(triad_gb_s({.threads = 2, .bytes = 3 << 20, .seconds = 0.01, .cpus = {CpuSet{1'000'000}}}), Error);
}

}  // namespace
}  // namespace ronde::topology
