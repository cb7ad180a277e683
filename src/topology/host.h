#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Facts about this host that hwloc does not tell: name, instruction sets, memory, file systems.
namespace ronde::topology {

// FAILS WITH: System.
std::string host_name();

// The vector and matrix instruction sets among the flags of /proc/cpuinfo, in the order in which they came to market.
std::vector<std::string> instruction_sets(std::string_view cpuinfo);
std::vector<std::string> instruction_sets();  // of this host

struct Memory {
  std::uint64_t total = 0;
  std::uint64_t available = 0;  // what a program can take without swapping
};
// From the text of /proc/meminfo; zero where a line is missing.
Memory parse_meminfo(std::string_view meminfo);
Memory memory();  // of this host

// Bytes that a program can take without swapping, nor being ended by its control group.
std::uint64_t usable_memory();

// Most memory that the processes of this control group may take together: the host's, or less.
std::uint64_t memory_limit();

// How many cores this thread may use: its affinity and the quota of its control group, 1 at least.
int usable_cores();

// Where a folder lives, which decides how it should be read: thousands of small files are cheap on a local disk and a
// catastrophe on a parallel file system.
struct FileSystem {
  enum class Kind { Local, Memory, Network, Parallel, Unknown };
  std::string type;  // "ext4", "Lustre", "NFS"
  Kind kind = Kind::Unknown;
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};
std::string_view name(FileSystem::Kind kind);

// By the number that statfs(2) gives; an unknown one is shown in hexadecimal.
FileSystem classify_file_system(std::uint64_t magic);
// FAILS WITH: System, naming the folder.
FileSystem file_system(const std::filesystem::path& folder);

}  // namespace ronde::topology
