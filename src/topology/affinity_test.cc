#include "ronde/topology/affinity.h"

#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::topology {
namespace {

TEST(Affinity, BindsThisThreadAndThoseThatItStarts) {
  const CpuSet before = affinity_of_this_thread();
  CpuSet inherited;
  std::thread([&] {
    bind_this_thread({before.front()});
    std::thread([&] { inherited = affinity_of_this_thread(); }).join();
  }).join();
  EXPECT_EQ(inherited, CpuSet{before.front()});
  EXPECT_EQ(affinity_of_this_thread(), before) << "other threads stay where they are";
}

TEST(Affinity, SaysWhichCpusTheKernelRefused) {
  try {
    bind_this_thread({5000});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_NE(error.message().find("cpus 5000"), std::string::npos) << error.message();
  }
  EXPECT_THROW(bind_this_thread({}), Error);
}

TEST(Affinity, MemoryOfADomainThatIsNotThereIsRefusedWithoutAnError) {
  std::thread([] { EXPECT_FALSE(prefer_memory_of(900)); }).join();
  EXPECT_THROW(prefer_memory_of(-1), Error);
}

TEST(Affinity, MemoryIsPreferredAndGivenBack) {
  std::thread([] {
    EXPECT_TRUE(memory_is_left_to_the_kernel());
    if (!prefer_memory_of(0)) GTEST_SKIP() << "the kernel lets nobody choose here, as in many containers";
    EXPECT_FALSE(memory_is_left_to_the_kernel());
    prefer_no_memory();
    EXPECT_TRUE(memory_is_left_to_the_kernel());
  }).join();
}

}  // namespace
}  // namespace ronde::topology
