#include "ronde/topology/host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <set>

#include <sys/statfs.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/cpu_quota.h"
#include "ronde/topology/detail/cgroup.h"
#include "ronde/topology/detail/files.h"

namespace ronde::topology {
namespace {

using Kind = FileSystem::Kind;

struct KnownFileSystem {
  std::uint64_t magic;
  std::string_view type;
  Kind kind;
};
constexpr auto kFileSystems = std::to_array<KnownFileSystem>({
    {0xEF53, "ext4", Kind::Local},
    {0x58465342, "XFS", Kind::Local},
    {0x9123683E, "Btrfs", Kind::Local},
    {0x2FC12FC1, "ZFS", Kind::Local},
    {0xF2F52010, "F2FS", Kind::Local},
    {0x794C7630, "overlay", Kind::Local},
    {0x73717368, "SquashFS", Kind::Local},
    {0x01021994, "tmpfs", Kind::Memory},
    {0x858458F6, "ramfs", Kind::Memory},
    {0x6969, "NFS", Kind::Network},
    {0xFF534D42, "CIFS", Kind::Network},
    {0xFE534D42, "SMB2", Kind::Network},
    {0x01021997, "9P", Kind::Network},
    {0x65735546, "FUSE", Kind::Network},
    {0x5346414F, "AFS", Kind::Network},
    {0x0BD00BD0, "Lustre", Kind::Parallel},
    {0x47504653, "GPFS", Kind::Parallel},
    {0x19830326, "BeeGFS", Kind::Parallel},
    {0x00C36400, "CephFS", Kind::Parallel},
    {0xAAD7AAEA, "PanFS", Kind::Parallel},
    {0x20030528, "OrangeFS", Kind::Parallel},
    {0x013111A8, "IBRIX", Kind::Parallel},
});

// The names that Linux gives them on x86 and on ARM.
constexpr auto kInstructionSets = std::to_array<std::string_view>(
    {"sse4_2",      "avx",         "f16c",     "fma",      "avx2",     "avx512f",  "avx512bw", "avx512_vnni",
     "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "asimd",
     "asimdhp",     "asimddp",     "bf16",     "i8mm",     "sve",      "sve2",     "sme"});

std::uint64_t meminfo_line(std::string_view meminfo, std::string_view key) {
  const auto at = meminfo.find(key);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = trim(meminfo.substr(at + key.size()));
  std::uint64_t kibibytes = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) throw Error::system(errno, "cannot read the name of this host");
  return name.data();
}

std::vector<std::string> instruction_sets(std::string_view cpuinfo) {
  auto at = cpuinfo.find("\nflags");
  if (at == std::string_view::npos) at = cpuinfo.find("\nFeatures");
  if (at == std::string_view::npos) return {};
  const std::string_view line = split(cpuinfo.substr(at + 1), '\n').front();
  std::set<std::string_view> flags;
  for (const auto flag : split(line.substr(line.find(':') + 1), ' ')) flags.insert(flag);
  std::vector<std::string> found;
  for (const auto set : kInstructionSets)
    if (flags.contains(set)) found.emplace_back(set);
  return found;
}

std::vector<std::string> instruction_sets() {
  return instruction_sets(detail::read_small_file("/proc/cpuinfo").value_or(""));
}

Memory parse_meminfo(std::string_view meminfo) {
  return {.total = meminfo_line(meminfo, "MemTotal:"), .available = meminfo_line(meminfo, "MemAvailable:")};
}

std::uint64_t usable_memory() {
  const std::uint64_t available = memory().available;
  return std::min(available, detail::read_limits("/").memory_bytes.value_or(available));
}

std::uint64_t memory_limit() {
  const std::uint64_t total = memory().total;
  return std::min(total, detail::read_limits("/").memory_bytes.value_or(total));
}

int usable_cores() {
  const double allowed = affinity_of_this_thread().size();
  const double quota = detail::read_limits("/").cpu_quota.value_or(allowed);
  return std::max(1, static_cast<int>(std::min(allowed, std::ceil(quota))));
}

std::vector<CpuQuota> cpu_quotas() {
  return detail::read_cpu_quotas("/");
}

Memory memory() {
  return parse_meminfo(detail::read_small_file("/proc/meminfo").value_or(""));
}

std::string_view name(FileSystem::Kind kind) {
  switch (kind) {
    case Kind::Local: return "local";
    case Kind::Memory: return "in memory";
    case Kind::Network: return "network";
    case Kind::Parallel: return "parallel";
    case Kind::Unknown: return "unknown";
  }
  return "unknown";
}

FileSystem classify_file_system(std::uint64_t magic) {
  const auto found = std::ranges::find(kFileSystems, magic, &KnownFileSystem::magic);
  if (found == kFileSystems.end()) return {.type = fmt::format("type 0x{:X}", magic)};
  return {.type = std::string(found->type), .kind = found->kind};
}

FileSystem file_system(const std::filesystem::path& folder) {
  struct statfs facts {};
  if (statfs(folder.c_str(), &facts) != 0)
    throw Error::system(errno, "cannot read the properties of the file system under {}", folder.string());
  // f_type is signed on some systems: only its low 32 bits carry the number.
  FileSystem result = classify_file_system(static_cast<std::uint32_t>(facts.f_type));
  result.total = facts.f_blocks * static_cast<std::uint64_t>(facts.f_bsize);
  result.available = facts.f_bavail * static_cast<std::uint64_t>(facts.f_bsize);
  return result;
}

}  // namespace ronde::topology
