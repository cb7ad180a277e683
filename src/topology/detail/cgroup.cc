#include "ronde/topology/detail/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include <sys/stat.h>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/topology/detail/files.h"

namespace ronde::topology::detail {
namespace {

namespace fs = std::filesystem;

// Without empty pieces, which the kernel's files have between their columns.
std::vector<std::string> words(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (const auto piece : split(text, separator))
    if (!piece.empty()) pieces.emplace_back(piece);
  return pieces;
}

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

template <class T>
std::optional<T> smaller(const std::optional<T>& a, const std::optional<T>& b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

Limits limits_of_folder(const fs::path& folder, bool version_2) {
  const auto read = [&](const char* file) { return read_small_file(folder / file).value_or(""); };
  if (version_2) return {parse_cpu_max(read("cpu.max")), parse_memory_limit(read("memory.max"))};
  return {parse_cfs(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")),
          parse_memory_limit(read("memory.limit_in_bytes"))};
}

// A version 1 hierarchy carries the controllers that its mount options name; version 2 is one hierarchy for all.
bool belongs(const Membership& membership, const Mount& mount) {
  if (membership.controllers.empty() || mount.version_2) return membership.controllers.empty() && mount.version_2;
  return std::all_of(membership.controllers.begin(), membership.controllers.end(),
                     [&](const std::string& controller) { return holds(mount.options, controller); });
}

// The folders of all groups that this process is in, the innermost of each hierarchy first.
struct GroupFolder {
  fs::path path;
  bool version_2 = false;
};
std::vector<GroupFolder> own_folders(const fs::path& root) {
  const std::vector<Mount> mounts = parse_mounts(read_small_file(root / "proc/self/mountinfo").value_or(""));
  std::vector<GroupFolder> folders;
  for (const Membership& membership : parse_memberships(read_small_file(root / "proc/self/cgroup").value_or("")))
    for (const Mount& mount : mounts) {
      if (!belongs(membership, mount)) continue;
      for (const fs::path& folder : folders_upward(mount, membership.group))
        folders.push_back({root / folder.relative_path(), mount.version_2});
    }
  return folders;
}

// The kernel gives a group one inode number, however containers name it.
std::string group_id(const fs::path& folder) {
  struct stat facts {};
  return stat(folder.c_str(), &facts) == 0 ? fmt::format("{}:{}", facts.st_dev, facts.st_ino) : folder.string();
}

}  // namespace

std::vector<Membership> parse_memberships(std::string_view proc_self_cgroup) {
  std::vector<Membership> memberships;
  for (const std::string& line : words(proc_self_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    memberships.push_back({words(line.substr(first + 1, second - first - 1), ','), line.substr(second + 1)});
  }
  return memberships;
}

std::vector<Mount> parse_mounts(std::string_view proc_self_mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string& line : words(proc_self_mountinfo, '\n')) {
    // id, parent, device, root, point, options, optional fields..., "-", type, source, superblock's options
    const std::vector<std::string> fields = words(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const std::string& type = dash[1];
    if (type == "cgroup" || type == "cgroup2")
      mounts.push_back({type == "cgroup2", fields[3], fields[4], words(dash[3], ',')});
  }
  return mounts;
}

std::vector<fs::path> folders_upward(const Mount& mount, const std::string& group) {
  // In a container the group may be named as the host sees it, or lie outside of what is mounted.
  const fs::path relative = fs::path(group).lexically_relative(mount.root);
  const bool visible = !relative.empty() && *relative.begin() != "..";
  std::vector<fs::path> folders;
  fs::path folder = visible ? relative : fs::path(".");
  for (; !folder.empty() && folder != "."; folder = folder.parent_path())
    folders.push_back(fs::path(mount.point) / folder);
  folders.emplace_back(mount.point);
  return folders;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::vector<std::string> fields = words(text, ' ');
  if (fields.size() != 2) return std::nullopt;
  return parse_cfs(fields[0], fields[1]);
}

std::optional<double> parse_cfs(std::string_view quota, std::string_view period) {
  const auto granted = parse_number<std::int64_t>(quota);  // "max" and "-1" both mean: no limit
  const auto every = parse_number<std::int64_t>(period);
  if (!granted || !every || *granted <= 0 || *every <= 0) return std::nullopt;
  return static_cast<double>(*granted) / static_cast<double>(*every);
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  // Version 1 says "no limit" by the largest 64-bit number, rounded down to a page.
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  const auto bytes = parse_number<std::uint64_t>(text);
  if (!bytes || *bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

Limits tightest(const Limits& a, const Limits& b) {
  return {smaller(a.cpu_quota, b.cpu_quota), smaller(a.memory_bytes, b.memory_bytes)};
}

Limits read_limits(const fs::path& root) {
  Limits limits;
  for (const GroupFolder& folder : own_folders(root))
    limits = tightest(limits, limits_of_folder(folder.path, folder.version_2));
  return limits;
}

std::vector<CpuQuota> read_cpu_quotas(const fs::path& root) {
  std::vector<CpuQuota> quotas;
  for (const GroupFolder& folder : own_folders(root))
    if (const auto quota = limits_of_folder(folder.path, folder.version_2).cpu_quota)
      quotas.push_back({group_id(folder.path), *quota});
  return quotas;
}

}  // namespace ronde::topology::detail
