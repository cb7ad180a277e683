// What this machine can do, as far as training asks for it: the ceilings that `ronde limits` computes with.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/math/cost_fit.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/machine/roofline_compute.h"
#include "ronde/bench/machine/roofline_disk.h"
#include "ronde/device/copy_rates.h"
#include "ronde/device/device.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"
#include "ronde/topology/memory_rate.h"

namespace ronde::bench {
namespace {

constexpr std::size_t kFile = std::size_t{256} << 20, kLeastFile = std::size_t{4} << 20,
                      kMostFile = std::size_t{1} << 40;
constexpr double kSecondsATurn = 0.2;
constexpr auto kExchanged = std::to_array<std::size_t>({64 << 10, 1 << 20, 16 << 20});

std::size_t file_bytes(const Options& options) {
  if (options.sizes.size() > 1) throw Error::bad_input("--sizes: this benchmark needs a single size");
  const std::size_t bytes = options.sizes.empty() ? kFile : options.sizes.front();
  if (bytes < kLeastFile || bytes > kMostFile)
    throw Error::bad_input("--sizes: the file must have {} to {}, got {}", format_bytes(kLeastFile),
                           format_bytes(kMostFile), format_bytes(bytes));
  return bytes;
}

std::filesystem::path folder_of(const Options& options) {
  const std::filesystem::path folder = options.folder.empty() ? "." : options.folder;
  if (!std::filesystem::is_directory(folder)) throw Error::bad_input("--dir {}: no such folder", folder.string());
  return folder;
}

class Roofline {
 public:
  explicit Roofline(const Options& options)
      : options_(options),
        machine_(topology::discover()),
        seconds_(kSecondsATurn * options.turns),
        gpu_(device::count() > 0 ? 0 : device::kHost) {}

  Report run() {
    rates_.kind = gpu_ == device::kHost ? Hardware::Kind::Cpu : Hardware::Kind::Gpu;
    rates_.name = fmt::format("measured on {}: {}", machine_.hostname,
                              gpu_ == device::kHost ? machine_.cpu_model : device::list().front().name);
    memory();
    compute();
    if (gpu_ != device::kHost) gpu();
    disk();
    allreduce();
    if (!options_.output.empty()) {
      write_rates(rates_, options_.output);
      options_.log.info("written to {}, where 'ronde limits' finds it", options_.output);
    }
    return std::move(report_);
  }

 private:
  void row(const std::string& what, const char* by, std::optional<double> rate, const char* unit) {
    report_.rows.push_back({{"what", what},
                            {"by", by},
                            {"rate", rate ? nlohmann::ordered_json(*rate) : nlohmann::ordered_json(nullptr)},
                            {"unit", unit}});
  }

  void memory() {
    const int threads = topology::affinity_of_this_thread().size();
    const auto bytes = std::min<std::size_t>(topology::TriadOptions().bytes, topology::memory().available / 4);
    options_.log.info("memory: a = b + s * c over {}, on one core and on {}", format_bytes(bytes), threads);
    const auto triad = [&](int by) {
      return topology::triad_gb_s({.threads = by, .bytes = bytes, .seconds = seconds_});
    };
    row("memory", "one core", triad(1), "GB/s");
    const double all = triad(threads);
    row("memory", "all cores", all, "GB/s");
    if (gpu_ != device::kHost) return;
    rates_.memory_gb_s = all;
    const auto whole = static_cast<double>(topology::memory().total);
    rates_.memory_gb =
        (machine_.limits.memory_bytes ? std::min(whole, static_cast<double>(*machine_.limits.memory_bytes)) : whole) /
        1e9;
  }

  void compute() {
    options_.log.info("arithmetic: products of large matrices");
    for (const int device : gpu_ == device::kHost ? std::vector{device::kHost} : std::vector{device::kHost, gpu_}) {
      const char* by = device == device::kHost ? "all cores" : "a GPU";
      const detail::Compute found = detail::measure_compute(device, seconds_);
      if (!found.missing.empty()) options_.log.warn("{}", found.missing);
      const auto figure = [&](const char* what, double tflops) {
        if (tflops > 0 || !found.missing.empty())
          row(what, by, tflops > 0 ? std::optional(tflops) : std::nullopt, "TFLOP/s");
      };
      figure("f32", found.f32);
      if (found.missing.empty()) figure("tf32", found.tf32);
      figure("bf16", found.bf16);
      if (found.missing.empty()) figure("f16", found.f16);
      rates_.f32 = found.f32;
      rates_.tf32 = found.tf32;
      rates_.bf16 = found.bf16;
      rates_.f16 = found.f16;
    }
  }

  void gpu() {
    options_.log.info("links: copies of 256 MiB to, on and between GPUs");
    const device::CopyRates found = device::measure_copies(gpu_);
    row("memory", "a GPU", found.memory_gb_s, "GB/s");
    row("host to device", "a GPU", found.host_gb_s, "GB/s");
    if (found.peer_gb_s > 0) row("GPU to GPU", "a GPU", found.peer_gb_s, "GB/s");
    rates_.memory_gb_s = found.memory_gb_s;
    rates_.memory_gb = static_cast<double>(device::list().front().total_bytes) / 1e9;
    rates_.host_gb_s = found.host_gb_s;
    rates_.peer_gb_s = found.peer_gb_s;
  }

  void disk() {
    const std::size_t bytes = file_bytes(options_);
    const std::filesystem::path folder = folder_of(options_);
    const auto system = topology::file_system(folder);
    options_.log.info("disk: writing a file of {} to {} ({}), then reading it with an empty cache", format_bytes(bytes),
                      std::filesystem::absolute(folder).lexically_normal().string(), system.type);
    const detail::DiskRead found = detail::measure_disk(folder, bytes);
    row("disk read", found.direct ? "around the cache" : "cache dropped", found.gb_s, "GB/s");
    rates_.disk_gb_s = found.gb_s;
  }

  // A machine on which ranks cannot meet still has a memory and a disk.
  void allreduce() {
    const int ranks = detail::one_number_of_ranks(options_);
    options_.log.info("allreduce between {} ranks", ranks);
    try {
      detail::Contestant ronde(detail::our_entrant("allreduce", detail::cpus_for(ranks), options_));
      ronde.wait_until_ready(detail::start_deadline());
      std::vector<CostPoint> points;
      for (const std::size_t bytes : kExchanged) {
        const std::vector<detail::Heat> heats{
            {.name = "heap", .what = "heap", .ask = [&](const auto& command) { return ronde.ask(command); }}};
        const auto us = detail::take_turns(heats, {.what = "", .dtype = "f32", .bytes = bytes}, 1);
        if (us[0]) points.push_back({.bytes = static_cast<double>(bytes), .us = us[0]->us});
      }
      const CostFit fit = fit_cost(points);
      rates_.allreduce_ranks = ranks;
      rates_.allreduce_us = fit.latency_us;
      rates_.allreduce_gb_s = fit.gb_per_s();
      row("allreduce", "all ranks", fit.gb_per_s(), "GB/s");
      row("allreduce, latency", "all ranks", fit.latency_us, "us");
    } catch (const Error& error) {
      options_.log.warn("allreduce was not measured: {}", error.what());
    }
  }

  const Options& options_;
  const topology::Machine machine_;
  const double seconds_;
  const int gpu_;
  MachineRates rates_;
  Report report_{.name = "roofline"};
};

}  // namespace

Report run_roofline(const Options& options) {
  file_bytes(options);  // what is wrong is said before anything is measured
  folder_of(options);
  detail::one_number_of_ranks(options);
  return Roofline(options).run();
}

}  // namespace ronde::bench
