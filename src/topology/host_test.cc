#include "ronde/topology/host.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::topology {
namespace {

TEST(Host, FindsInstructionSetsOfBothFamilies) {
  EXPECT_EQ(instruction_sets("processor\t: 0\nflags\t\t: fpu avx avx2 amx_bf16 avx512f\nbogomips: 3\nflags : sse4_2\n"),
            (std::vector<std::string>{"avx", "avx2", "avx512f", "amx_bf16"}));
  EXPECT_EQ(instruction_sets("x : 0\nFeatures\t: fp asimd sve\n"), (std::vector<std::string>{"asimd", "sve"}));
  EXPECT_TRUE(instruction_sets("nothing").empty());
}

TEST(Host, ReadsMemory) {
  const Memory memory = parse_meminfo("MemTotal:       1024 kB\nMemFree: 5 kB\nMemAvailable:    512 kB\n");
  EXPECT_EQ(memory.total, 1u << 20);
  EXPECT_EQ(memory.available, 512u << 10);
  EXPECT_EQ(parse_meminfo("").total, 0u);
  EXPECT_GT(topology::memory().total, 0u);
  EXPECT_GT(memory_limit(), 0u);
  EXPECT_LE(memory_limit(), topology::memory().total);
  EXPECT_GE(memory_limit(), usable_memory());
}

TEST(Host, KnowsTheFileSystemsOfClusters) {
  EXPECT_EQ(classify_file_system(0x0BD00BD0).type, "Lustre");
  EXPECT_EQ(classify_file_system(0x0BD00BD0).kind, FileSystem::Kind::Parallel);
  EXPECT_EQ(classify_file_system(0x6969).kind, FileSystem::Kind::Network);
  EXPECT_EQ(classify_file_system(0x12AB).type, "type 0x12AB");
}

TEST(Host, AsksForAFolder) {
  EXPECT_EQ(file_system("/dev/shm").type, "tmpfs");
  EXPECT_GT(file_system(".").total, 0u);
  try {
    file_system("/no/such/folder");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot read the properties of the file system under /no/such/folder: No such file or directory");
  }
}

}  // namespace
}  // namespace ronde::topology
