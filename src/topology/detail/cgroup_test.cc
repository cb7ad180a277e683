#include "ronde/topology/detail/cgroup.h"

#include <gtest/gtest.h>

#include "ronde/topology/testing/fake_files.h"

namespace ronde::topology::detail {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
const char* const kVersion2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroup, ReadsWhatTheFilesSay) {
  EXPECT_EQ(parse_cpu_max("150000 100000"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
  EXPECT_EQ(parse_cfs("400000", "100000"), 4.0);
  EXPECT_EQ(parse_cfs("-1", "100000"), std::nullopt);
  EXPECT_EQ(parse_cfs("100000", "0"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("1073741824"), kGiB);
  EXPECT_EQ(parse_memory_limit("max"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712"), std::nullopt) << "version 1's way of saying: none";
}

TEST(Cgroup, TheTightestLimitWins) {
  EXPECT_EQ(tightest({2.0, kGiB}, {3.0, {}}), (Limits{2.0, kGiB}));
  EXPECT_EQ(tightest({{}, 2 * kGiB}, {1.0, kGiB}), (Limits{1.0, kGiB}));
}

TEST(Cgroup, WalksUpFromItsGroupToTheTop) {
  const Mount mount{.version_2 = true, .root = "/", .point = "/sys/fs/cgroup", .options = {}};
  EXPECT_EQ(folders_upward(mount, "/a/b"),
            (std::vector<std::filesystem::path>{"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"}));
  EXPECT_EQ(folders_upward(mount, "/"), (std::vector<std::filesystem::path>{"/sys/fs/cgroup"}));
  EXPECT_EQ(folders_upward(mount, "/../../elsewhere"), (std::vector<std::filesystem::path>{"/sys/fs/cgroup"}));
}

TEST(Cgroup, SeesItsOwnGroupWhereAContainerMountsOnlyThat) {
  const Mount mount{.version_2 = true, .root = "/docker/c1", .point = "/sys/fs/cgroup", .options = {}};
  EXPECT_EQ(folders_upward(mount, "/docker/c1/x"),
            (std::vector<std::filesystem::path>{"/sys/fs/cgroup/x", "/sys/fs/cgroup"}));
  EXPECT_EQ(folders_upward(mount, "/docker/c1"), (std::vector<std::filesystem::path>{"/sys/fs/cgroup"}));
  EXPECT_EQ(folders_upward(mount, "/other"), (std::vector<std::filesystem::path>{"/sys/fs/cgroup"}));
}

TEST(Cgroup, Version2TakesTheSmallestOnTheWayUp) {
  const FakeFiles files{{"proc/self/cgroup", "0::/slurm/job_7/step_0\n"},
                        {"proc/self/mountinfo", kVersion2},
                        {"sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n"},
                        {"sys/fs/cgroup/slurm/job_7/step_0/memory.max", "8589934592\n"},
                        {"sys/fs/cgroup/slurm/job_7/cpu.max", "350000 100000\n"},
                        {"sys/fs/cgroup/slurm/job_7/memory.max", "4294967296\n"},
                        {"sys/fs/cgroup/slurm/memory.max", "max\n"},
                        {"sys/fs/cgroup/slurm/job_8/cpu.max", "1000 100000\n"}};
  EXPECT_EQ(read_limits(files.root()), (Limits{3.5, 4 * kGiB}));
}

TEST(Cgroup, Version1KeepsProcessorAndMemoryApart) {
  const FakeFiles files{{"proc/self/cgroup", "4:memory:/jobs/7\n2:cpu,cpuacct:/shared\n1:name=systemd:/\n0::/\n"},
                        {"proc/self/mountinfo",
                         "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                         "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                         "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                         "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/shared/cpu.cfs_quota_us", "200000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/shared/cpu.cfs_period_us", "100000\n"},
                        {"sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n"},
                        {"sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "1073741824\n"}};
  EXPECT_EQ(read_limits(files.root()), (Limits{2.0, kGiB}));
}

std::vector<double> cores_of(const std::vector<CpuQuota>& quotas) {
  std::vector<double> cores;
  for (const CpuQuota& quota : quotas) cores.push_back(quota.cores);
  return cores;
}

TEST(Cgroup, Version2TellsEachQuotaAndWhoSharesIt) {
  const auto quotas_in = [](const FakeFiles& files, const std::string& group) {
    std::ofstream(files.root() / "proc/self/cgroup") << "0::" + group + "\n";
    return read_cpu_quotas(files.root());
  };
  const FakeFiles files{{"proc/self/mountinfo", kVersion2},
                        {"proc/self/cgroup", ""},
                        {"sys/fs/cgroup/cpu.stat", "usage_usec 0\n"},
                        {"sys/fs/cgroup/job_7/cpu.max", "350000 100000\n"},
                        {"sys/fs/cgroup/job_7/rank_0/cpu.max", "50000 100000\n"},
                        {"sys/fs/cgroup/job_7/rank_1/cpu.max", "max 100000\n"}};
  const auto first = quotas_in(files, "/job_7/rank_0"), second = quotas_in(files, "/job_7/rank_1");
  EXPECT_EQ(cores_of(first), (std::vector<double>{0.5, 3.5}));
  EXPECT_EQ(cores_of(second), (std::vector<double>{3.5}));
  EXPECT_EQ(first[1].group, second[0].group);
  EXPECT_NE(first[0].group, first[1].group);
}

TEST(Cgroup, Version1TellsEachQuotaAndWhoSharesIt) {
  const FakeFiles files{{"proc/self/cgroup", "4:memory:/jobs/7\n2:cpu,cpuacct:/docker/c1/x\n1:name=systemd:/\n"},
                        {"proc/self/mountinfo",
                         "32 31 0:29 /docker/c1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                         "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                        {"sys/fs/cgroup/memory/jobs/7/cpu.cfs_quota_us", "1\n"}};
  EXPECT_EQ(cores_of(read_cpu_quotas(files.root())), (std::vector<double>{1.5}));
}

TEST(Cgroup, NothingToReadMeansNoLimit) {
  const FakeFiles files{{"proc/self/mountinfo", "not a line of it\n"}};
  EXPECT_EQ(read_limits(files.root()), Limits{});
  EXPECT_EQ(read_limits("/no/such/folder"), Limits{});
  EXPECT_TRUE(read_cpu_quotas(files.root()).empty());
}

}  // namespace
}  // namespace ronde::topology::detail
