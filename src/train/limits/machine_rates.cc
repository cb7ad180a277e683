#include "ronde/train/limits/machine_rates.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <future>

#include <torch/version.h>

#include "ronde/base/error.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/device/copy_rates.h"
#include "ronde/device/device.h"
#include "ronde/parallel/collectives.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"
#include "ronde/topology/memory_rate.h"
#include "ronde/trace/fact_names.h"
#include "ronde/trace/span.h"
#include "ronde/train/limits/product_rates.h"
#include "ronde/train/loop/agree.h"
#include "ronde/train/session/hardware.h"

namespace ronde::train {
namespace {

using topology::CpuSet;

constexpr double kSeconds = 0.4;            // per figure
constexpr std::int64_t kGpuExtent = 4096;   // little enough to be forgotten in torch's cache of device memory
constexpr std::uint64_t kMostOfMemory = 8;  // part of the free memory that is touched

// One thread per core, bound to it; where a quota leaves less, as many threads, and the kernel places them.
struct Workers {
  int threads = 1;
  std::vector<CpuSet> cpus = {};
};
Workers workers_on(const topology::Machine& machine) {
  Workers workers;
  for (const topology::Core& core : machine.cores) workers.cpus.push_back(CpuSet{core.cpus.front()});
  const auto cores = static_cast<double>(std::max<std::size_t>(1, workers.cpus.size()));
  const double quota = std::max(1.0, std::ceil(machine.limits.cpu_quota.value_or(cores)));
  if (quota < cores) workers.cpus.clear();
  workers.threads = static_cast<int>(std::min(quota, cores));
  return workers;
}

MachineRates rates_of_cpus() {
  const topology::Machine machine = topology::discover();
  const Workers workers = workers_on(machine);
  const ProductRates products =
      measure_products(HostProducts{.threads = workers.threads, .cpus = workers.cpus, .seconds = kSeconds});
  const std::uint64_t bytes =
      std::min<std::uint64_t>(topology::TriadOptions().bytes, topology::usable_memory() / kMostOfMemory);
  return {.name = fmt::format("measured on {}: {}", topology::host_name(), read_cpu_facts().name),
          .kind = Hardware::Kind::Cpu,
          .f32 = products.f32,
          .bf16 = products.bf16,
          .memory_gb_s = topology::triad_gb_s(
              {.threads = workers.threads, .bytes = bytes, .seconds = kSeconds, .cpus = workers.cpus}),
          .memory_gb = static_cast<double>(topology::memory_limit()) / 1e9};
}

std::string gpu_name(const torch::Device& device) {
  return device.is_cuda() ? device::list().at(static_cast<std::size_t>(device.index())).name : "";
}

MachineRates rates_of_gpu(const torch::Device& device) {
  const ProductRates products =
      measure_products(GpuProducts{.device = device.index(), .extent = kGpuExtent, .seconds = kSeconds / 2});
  const device::CopyRates copies = device::measure_copies(device.index());
  return {
      .name = fmt::format("measured on {}: {} with {}", topology::host_name(), gpu_name(device), read_cpu_facts().name),
      .kind = Hardware::Kind::Gpu,
      .f32 = products.f32,
      .tf32 = products.tf32,
      .bf16 = products.bf16,
      .f16 = products.f16,
      .memory_gb_s = copies.memory_gb_s,
      .memory_gb = static_cast<double>(device::list().at(static_cast<std::size_t>(device.index())).total_bytes) / 1e9,
      .host_gb_s = copies.host_gb_s,
      .peer_gb_s = copies.peer_gb_s};
}

std::string rates_text(const MachineRates& rates) {
  std::string text;
  for (const auto& [name, tflops] : {std::pair{"f32", rates.f32}, {"tf32", rates.tf32}, {"bf16", rates.bf16}})
    if (tflops > 0) text += fmt::format("{} {:.3g}, ", name, tflops);
  return text.substr(0, text.size() - std::min<std::size_t>(2, text.size())) +
         fmt::format(" TFLOP/s, memory {:.3g} GB/s", rates.memory_gb_s);
}

// Where the rates went, for people.
std::string keep(const MachineRates& rates, const std::filesystem::path& file, const std::string& key) {
  if (file.empty()) return "not saved: there is no home folder";
  try {
    write_rates(rates, file, key);
    return "saved in " + file.string();
  } catch (const Error& error) {
    return "not saved: " + error.message();
  }
}

std::optional<MachineRates> measure_and_keep(const Session& session, const RatesOptions& options, const CpuSet& cpus,
                                             const std::filesystem::path& file, const std::string& key,
                                             const Log& log) {
  const trace::Span span("measure machine");
  try {
    const auto begin = std::chrono::steady_clock::now();
    const MachineRates rates = options.measure(session.device(), cpus);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::string where = keep(rates, file, key);
    if (session.rank() == 0)
      log.info("machine: {}; measured for the report in {:.1f} s, {} (trace.roofline=off turns it off)",
               rates_text(rates), took.count(), where);
    return rates;
  } catch (const std::exception& failure) {
    log.warn("the report will not contain the speed of this machine, because it cannot be measured: {}",
             failure.what());
    return {};
  }
}

}  // namespace

std::string rates_key(const RatedMachine& machine) {
  const std::string hardware = machine.gpu.empty() ? fmt::format("{} cpus of {}", machine.cpus, machine.processor)
                                                   : fmt::format("{} with {}", machine.gpu, machine.processor);
  return fmt::format("{}, libtorch {}", hardware, machine.torch);
}

std::string cpus_text(int node, const CpuSet& cpus) {
  return fmt::format("{} {}", node, cpus.format());
}

CpuSet cpus_of_node(std::span<const std::string> texts, int node) {
  CpuSet all;
  for (const std::string& text : texts) {
    const auto words = split(text, ' ');
    if (words.size() == 2 && parse_number<int>(words[0]) == node) all |= CpuSet::parse(words[1]);
  }
  return all;
}

// On a thread of its own, bound to the cpus of all ranks: what it starts inherits that, and this rank stays where it
// is.
MachineRates measure_machine(const torch::Device& device, const CpuSet& cpus) {
  return std::async(std::launch::async,
                    [&] {
                      if (device.is_cuda()) return rates_of_gpu(device);
                      topology::bind_this_thread(cpus);
                      return rates_of_cpus();
                    })
      .get();
}

std::optional<MachineRates> machine_rates(const Session& session, const RatesOptions& options, const Log& log) {
  const comm::Group world = session.world();
  const auto texts = parallel::gather_texts(cpus_text(session.node_rank(), topology::affinity_of_this_thread()), world);
  const CpuSet cpus = cpus_of_node(texts, session.node_rank());
  const bool first = session.local_rank() == 0;
  std::optional<MachineRates> rates;
  std::string key;
  std::filesystem::path file;
  if (first) {
    key = rates_key({.processor = read_cpu_facts().name,
                     .gpu = gpu_name(session.device()),
                     .cpus = cpus.size(),
                     .torch = TORCH_VERSION});
    file = kept_rates(options.environment, key);
    rates = find_rates(file, key);
  }
  if (!on_any_rank(first && !rates, "is there a machine to measure", world)) return rates;
  if (first && !rates) rates = measure_and_keep(session, options, cpus, file, key, log);
  on_any_rank(false, "machines are measured", world);  // until then, whoever does not measure sleeps
  return rates;
}

void trace_machine(const Session& session, const Log& log) {
  trace::Recorder* recorder = session.recorder();
  if (!recorder || session.options().trace.roofline == "off") return;
  const auto rates = machine_rates(session, {.environment = Environment::of_process()}, log);
  if (rates)
    recorder->set_metadata(trace::metadata_names::kMachineRates,
                           rates_to_json(*rates).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace ronde::train
