#include "ronde/bench/check/check_gather.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <gnu/libc-version.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/version.h"
#include "ronde/device/device.h"
#include "ronde/topology/machine.h"

namespace ronde::bench::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325u, kFnvPrime = 0x100000001b3u;
constexpr std::size_t kMostHashed = std::size_t{64} << 20;

std::uint64_t hash_on(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator(stream), {}};
  return std::string(trim(text));
}

std::vector<GpuFacts> visible_gpus() {
  std::vector<GpuFacts> gpus;
  if (device::count() == 0) return gpus;
  for (const device::Info& gpu : device::list())
    gpus.push_back({.name = gpu.name, .bus_id = gpu.bus_id, .total = gpu.total_bytes, .free = gpu.free_bytes});
  return gpus;
}

std::string kernel_version() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "";
}

std::string sum_of_libraries() {
  std::uint64_t hash = kFnvBasis;
  const auto libraries = loaded_libraries();
  for (const Trait& library : libraries) hash = hash_on(hash_on(hash, library.what), library.value);
  return fmt::format("{} files, {:08x}", libraries.size(), static_cast<std::uint32_t>(hash));
}

// Words of the user's command that are files or folders here, or look as if they should be.
void add_command(std::vector<Trait>& traits, const std::vector<std::string>& command, const Environment& environment) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string file = i == 0 ? find_program(command[i], environment) : command[i];
    std::error_code ignored;
    if (i > 0 && fs::is_directory(file, ignored)) {
      traits.push_back({.what = "folder " + command[i], .value = "there"});
    } else if (const std::string print = fingerprint(file); i == 0 || !print.empty()) {
      traits.push_back({.what = (i == 0 ? "program " : "file ") + command[i], .value = print, .needed = i == 0});
    }
  }
}

}  // namespace

std::string fingerprint(const std::string& file) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure)) return {};
  const auto size = fs::file_size(file, failure);
  std::ifstream stream(file, std::ios::binary);
  std::uint64_t hash = kFnvBasis;
  std::string piece(std::size_t{1} << 20, '\0');
  std::size_t done = 0;
  while (done < kMostHashed && stream.read(piece.data(), static_cast<std::streamsize>(piece.size())).gcount() > 0) {
    hash = hash_on(hash, std::string_view(piece).substr(0, static_cast<std::size_t>(stream.gcount())));
    done += static_cast<std::size_t>(stream.gcount());
  }
  if (failure || (done == 0 && size > 0)) return {};
  return fmt::format("{} bytes, {:08x}", size, static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

std::string find_program(const std::string& word, const Environment& environment) {
  if (word.find('/') != std::string::npos) return ::access(word.c_str(), X_OK) == 0 ? word : "";
  const std::string path = environment.get("PATH").value_or("/usr/bin:/bin");
  for (const std::string_view folder : split(path, ':')) {
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, word);
    if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file)) return file;
  }
  return {};
}

std::vector<Trait> loaded_libraries() {
  std::vector<Trait> libraries;
  const auto add = [](dl_phdr_info* info, std::size_t, void* list) {
    std::error_code failure;
    const auto bytes = fs::file_size(info->dlpi_name, failure);
    if (!failure)  // the program itself has no name, the kernel's part no file
      static_cast<std::vector<Trait>*>(list)->push_back(
          {.what = fs::path(info->dlpi_name).filename(), .value = fmt::format("{} bytes", bytes)});
    return 0;
  };
  ::dl_iterate_phdr(add, &libraries);
  std::ranges::sort(libraries, {}, &Trait::what);
  return libraries;
}

std::chrono::nanoseconds age_of_process() {
  const std::string stat = text_of("/proc/self/stat");
  // The program's name may hold blanks; the start is the twentieth word after it, in ticks since the machine began.
  const std::string_view rest = std::string_view(stat).substr(std::min(stat.rfind(')'), stat.size()));
  const auto words = split(rest, ' ');
  timespec now{};
  const auto ticks = words.size() > 20 ? parse_number<double>(words[20]) : std::nullopt;
  if (!ticks || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) throw Error::system(errno, "cannot read /proc/self/stat");
  const double age = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
                     *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::max(age, 0.0) * 1e9));
}

std::string this_machine() {
  return fmt::format("{} {}", text_of("/proc/sys/kernel/random/boot_id"), topology::host_name());
}

RankFacts gather_rank_facts(int local_rank) {
  return {.machine = this_machine(),
          .host = topology::host_name(),
          .gpu = own_gpu(visible_gpus(), local_rank),
          .no_gpu = device::why_none()};
}

NodeFacts gather_node_facts(const std::vector<std::pair<std::string, std::string>>& versions,
                            const std::vector<std::string>& command, const Environment& environment) {
  const topology::Machine machine = topology::discover();
  const topology::Memory memory = topology::memory();
  NodeFacts facts{.cores = static_cast<int>(machine.cores.size()) + machine.forbidden_cores,
                  .memory_total = memory.total,
                  .memory_free = memory.available};
  std::vector<Trait>& traits = facts.traits;
  traits.push_back({"the program ronde", fmt::format("{} ({})", version(), fingerprint("/proc/self/exe"))});
  for (const auto& [what, value] : versions) traits.push_back({what, value});
  traits.push_back({std::string(kLibraries), sum_of_libraries()});
  add_command(traits, command, environment);
  traits.push_back({"the processor", machine.cpu_model});
  traits.push_back({"the number of cores", fmt::format("{}", facts.cores)});
  traits.push_back({"the number of sockets", fmt::format("{}", machine.packages.size())});
  traits.push_back({"the number of GPUs", fmt::format("{}", machine.gpus.size())});
  const auto sets = topology::instruction_sets();
  traits.push_back({"the best instruction set", sets.empty() ? "" : sets.back()});
  for (const topology::NetworkCard& card : machine.networks)
    if (card.up && card.gbit_per_s)
      traits.push_back({"the speed of " + card.name, fmt::format("{} Gbit/s", *card.gbit_per_s)});
  traits.push_back({"the CUDA driver", device::driver_version()});
  traits.push_back({"the kernel", kernel_version(), false});
  traits.push_back({"glibc", ::gnu_get_libc_version()});
  return facts;
}

}  // namespace ronde::bench::detail
