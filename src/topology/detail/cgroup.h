#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/topology/cpu_quota.h"
#include "ronde/topology/machine.h"

// Control groups, versions 1 and 2 and both at once. Everything but the two that read is a pure function.
namespace ronde::topology::detail {

// One line of /proc/self/cgroup: in which group of which hierarchy the process is.
struct Membership {
  std::vector<std::string> controllers;  // empty: version 2
  std::string group;                     // "/user.slice/job_7"
};
std::vector<Membership> parse_memberships(std::string_view proc_self_cgroup);

// One mounted hierarchy out of /proc/self/mountinfo.
struct Mount {
  bool version_2 = false;
  std::string root;   // the group that is visible at `point`; in a container not always "/"
  std::string point;  // "/sys/fs/cgroup"
  std::vector<std::string> options;
};
std::vector<Mount> parse_mounts(std::string_view proc_self_mountinfo);

// Folders, below the mount's point, of `group` and of every group above it that can be seen; the innermost first.
std::vector<std::filesystem::path> folders_upward(const Mount& mount, const std::string& group);

std::optional<double> parse_cpu_max(std::string_view text);                        // cpu.max: "200000 100000"
std::optional<double> parse_cfs(std::string_view quota, std::string_view period);  // cpu.cfs_*_us: "-1", "100000"
std::optional<std::uint64_t> parse_memory_limit(std::string_view text);            // memory.max, memory.limit_in_bytes
Limits tightest(const Limits& a, const Limits& b);

// Reads below `root` what lies below / on a real machine.
Limits read_limits(const std::filesystem::path& root);
// One for each group with a quota, the innermost first.
std::vector<CpuQuota> read_cpu_quotas(const std::filesystem::path& root);

}  // namespace ronde::topology::detail
