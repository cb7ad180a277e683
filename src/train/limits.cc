#include "ronde/train/limits.h"

#include <algorithm>

#include "ronde/base/settings/settings.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/train/limits/limits_text.h"
#include "ronde/train/logging/progress_text.h"
#include "ronde/train/loop/exchange.h"
#include "ronde/train/loop/stored.h"

namespace ronde::train {
namespace {

// The backward pass makes two products for each of the forward pass, and touches what those read and write.
constexpr double kBackward = 2;
// Batches of the pipeline: two ahead, and one that is trained on.
constexpr double kBatchesAhead = 3;
// What CUDA takes of a GPU's memory for itself and its libraries.
constexpr double kGpuProgram = 600e6;

// Of a sample as a batch holds it, and as it travels to a GPU: pictures as bytes, where the device does the rest.
double sample_bytes(const DryRun& known, const TrainingOptions& options, bool gpu) {
  const std::string place = options.data.on_device;
  data::SampleKind kind = known.kind;
  kind.u8 = known.preparation == data::Preparation::Pictures && (place == "on" || (place == "auto" && gpu));
  return static_cast<double>(kind.bytes());
}

std::int64_t batch_of(const TrainingOptions& options, int ranks) {
  require_enough_samples(options, ranks);
  return (options.batch + ranks - 1) / ranks;
}

std::int64_t samples_a_pass(std::int64_t batch, std::int64_t passes) {
  return (batch + passes - 1) / passes;
}

std::string rate_text(double value, const char* unit) {
  return value < 10 ? fmt::format("{:.2f} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
}

class Finder {
 public:
  Finder(const Work& work, double sharers) : samples_(static_cast<double>(work.batch)), sharers_(sharers) {}

  // `amount` a step, at `rate` a second, which ranks share.
  void shared(const char* what, double amount, double rate, const std::string& by) {
    own(what, amount, rate / sharers_, by);
  }
  void own(const char* what, double amount, double rate, const std::string& by) {
    if (amount > 0 && rate > 0) found_.push_back({what, samples_ * rate / amount, by});
  }
  std::vector<SpeedLimit> take() { return std::move(found_); }

 private:
  const double samples_, sharers_;
  std::vector<SpeedLimit> found_;
};

void add_exchange(Finder& finder, const Work& work, const MachineRates& machine, const Spread& spread) {
  if (spread.ranks < 2) return;
  // In a ring each rank sends all but its own share, twice.
  const double ring = 2.0 * (spread.ranks - 1) / spread.ranks * work.exchanged;
  const std::string gradients = fmt::format("{} of gradients per step", bytes_text(work.exchanged));
  if (spread.network_gbit_s > 0)
    finder.own("network", ring, spread.network_gbit_s * 1e9 / 8,
               fmt::format("{} through {:g} Gbit/s", gradients, spread.network_gbit_s));
  else if (machine.peer_gb_s > 0)
    finder.own("network", ring, machine.peer_gb_s * 1e9,
               fmt::format("{} between GPUs at {}", gradients, rate_text(machine.peer_gb_s, "GB/s")));
  else if (machine.allreduce_gb_s > 0)
    finder.own("network", work.exchanged + machine.allreduce_us * 1e3 * machine.allreduce_gb_s,
               machine.allreduce_gb_s * 1e9,
               fmt::format("{} at {} ({} ranks measured)", gradients, rate_text(machine.allreduce_gb_s, "GB/s"),
                           machine.allreduce_ranks));
}

double checkpoint_bytes(const DryRun& known, const TrainingOptions& options, int ranks) {
  // Those at the end are written when no step runs.
  if (!options.checkpoint.background || options.checkpoint.every == "0") return 0;
  const double all = known.parameter_bytes + known.buffer_bytes + known.optimizer_bytes;
  return options.checkpoint.sharded ? all / ranks : all;
}

std::string speed_text(double samples_per_s) {
  return samples_per_s < 10 ? fmt::format("{:.2f}", samples_per_s) : grouped(static_cast<std::int64_t>(samples_per_s));
}

Limits::Variant variant_of(const Settings& settings, const MachineRates& machine, const Spread& spread) {
  const TrainingOptions options = training_options(settings);
  Limits::Variant variant{.recompute = options.model.recompute, .known = dry_run(settings)};
  variant.memory = memory_need(variant.known, options, machine, spread);
  const double stored = stored_bytes(options.data.path, variant.known.samples + variant.known.held_out);
  const bool gpu = machine.kind == Hardware::Kind::Gpu;
  variant.speeds = speed_limits(work_of(variant.known, options, spread.ranks, stored, gpu), machine, spread);
  return variant;
}

}  // namespace

Work work_of(const DryRun& known, const TrainingOptions& options, int ranks, double stored_per_sample, bool gpu) {
  Work work{.batch = batch_of(options, ranks), .precision = options.precision, .tf32 = options.tf32};
  const auto samples = static_cast<double>(work.batch);
  const std::int64_t passes = options.accumulate;
  const double forwards = 1 + kBackward + (options.model.recompute ? 1 : 0);
  work.flops = forwards * known.flops * samples;
  const double pass = known.touched.at(samples_a_pass(work.batch, passes));
  // The optimizer reads weights, gradients and its state, and writes weights and state.
  const double update = 2 * known.parameter_bytes + known.gradient_bytes + 2 * known.optimizer_bytes;
  work.touched = forwards * static_cast<double>(passes) * pass * width_of(work.precision) + update;
  work.stored = stored_per_sample * samples;
  work.input = samples * sample_bytes(known, options, gpu);
  const double wire = options.compression == "none" ? 1.0 : 0.5;
  // Ranks that train alone meet with all they have, every few steps; others exchange gradients.
  const std::int64_t apart = options.sync_every;
  work.exchanged = apart == 1 ? wire * known.gradient_bytes
                              : (known.parameter_bytes + known.optimizer_bytes) / static_cast<double>(apart);
  return work;
}

std::vector<SpeedLimit> speed_limits(const Work& work, const MachineRates& machine, const Spread& spread) {
  const bool gpu = machine.kind == Hardware::Kind::Gpu;
  Finder finder(work, spread.ranks);
  const double sharers = gpu ? 1.0 : spread.ranks;
  const auto samples = static_cast<double>(work.batch);
  const ProductRate product = product_rate(machine, work.precision, work.tf32);
  finder.own("compute", work.flops, product.tflops * 1e12 / sharers,
             fmt::format("{} per sample at {} in {}", rate_text(work.flops / samples / 1e9, "GFLOP"),
                         rate_text(product.tflops, "TFLOP/s"), product.name));
  finder.own(
      "memory bandwidth", work.touched, machine.memory_gb_s * 1e9 / sharers,
      fmt::format("{} per sample at {}", bytes_text(work.touched / samples), rate_text(machine.memory_gb_s, "GB/s")));
  finder.shared(
      "file system", work.stored, machine.disk_gb_s * 1e9,
      fmt::format("{} per sample at {}", bytes_text(work.stored / samples), rate_text(machine.disk_gb_s, "GB/s")));
  if (gpu)
    finder.own(
        "host-to-device link", work.input, machine.host_gb_s * 1e9,
        fmt::format("{} per sample at {}", bytes_text(work.input / samples), rate_text(machine.host_gb_s, "GB/s")));
  add_exchange(finder, work, machine, spread);
  return finder.take();
}

const SpeedLimit* binding(const std::vector<SpeedLimit>& limits) {
  const auto lowest = std::ranges::min_element(limits, {}, &SpeedLimit::samples_per_s);
  return lowest == limits.end() ? nullptr : &*lowest;
}

std::string verdict(const std::vector<SpeedLimit>& limits, int ranks) {
  const SpeedLimit* lowest = binding(limits);
  if (!lowest) return "no speed limit is known";
  const std::string all =
      ranks > 1 ? fmt::format(", {} on {} ranks", speed_text(lowest->samples_per_s * ranks), ranks) : std::string();
  return fmt::format("{} is the limit: at most {} samples/s per rank{}", lowest->what,
                     speed_text(lowest->samples_per_s), all);
}

MemoryNeed memory_need(const DryRun& known, const TrainingOptions& options, const MachineRates& machine,
                       const Spread& spread) {
  const bool gpu = machine.kind == Hardware::Kind::Gpu;
  const std::int64_t passes = options.accumulate;
  const std::int64_t batch = batch_of(options, spread.ranks), pass = samples_a_pass(batch, passes);
  const double sample = sample_bytes(known, options, gpu);
  MemoryNeed need{.activations = known.activations.at(pass),
                  .peak = static_cast<double>(known.step.peak(pass)),
                  .ahead = kBatchesAhead * sample * static_cast<double>(batch),
                  .checkpoint = checkpoint_bytes(known, options, spread.ranks),
                  .program = gpu ? kGpuProgram : known.program_bytes};
  need.rank = need.peak + need.program + (gpu ? 0 : need.ahead + need.checkpoint);
  const double whole = spread.memory > 0 ? static_cast<double>(spread.memory) : machine.memory_gb * 1e9;
  need.available = gpu ? whole : whole / spread.ranks;
  if (need.available <= 0) return need;
  // A batch grows by `passes` samples for each one of a pass, and so do those that wait.
  StepMemory step = known.step;
  if (!gpu)
    for (Line& place : step.places) place.per_sample += kBatchesAhead * sample * static_cast<double>(passes);
  const double beside = need.program + (gpu ? 0 : need.checkpoint);
  need.largest_batch = step.largest(need.available - beside) * passes * spread.ranks;
  return need;
}

Limits find_limits(const Settings& settings, const MachineRates& machine, const Spread& spread) {
  const TrainingOptions options = training_options(settings);
  require_enough_samples(options, spread.ranks);  // what cannot be is said before anything is tried
  Limits limits{.model = options.model.name,
                .batch = options.batch,
                .spread = spread,
                .machine = machine,
                .asked = variant_of(settings, machine, spread)};
  Settings other = settings;
  other.set("model.recompute", limits.asked.recompute ? "false" : "true", "limits");
  if (can_recompute(settings)) limits.other = variant_of(other, machine, spread);
  return limits;
}

}  // namespace ronde::train
