#include "ronde/train/session/dry_run.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/data/dataset.h"
#include "ronde/models/costs.h"
#include "ronde/models/model.h"
#include "ronde/parallel/arena.h"
#include "ronde/parallel/memory_watch.h"
#include "ronde/train/loop/learner.h"
#include "ronde/train/optim/finite.h"
#include "ronde/train/plugin/load_plugins.h"
#include "ronde/train/precision.h"

namespace ronde::train {
namespace {

// Samples a pass of the smaller dry run; the other has twice as many. Two are enough for a batch norm; but torch
// takes other algorithms for tiny tensors than for those of a real batch, so small samples come in larger numbers.
constexpr std::int64_t kLeastFew = 2, kMostFew = 16;
constexpr std::int64_t kValues = 1 << 16;

std::int64_t few_of(const Task& task, std::int64_t passes) {
  const auto values = static_cast<std::int64_t>(task.samples->kind().values());
  const std::int64_t wanted = std::clamp(kValues / values, kLeastFew, kMostFew);
  return std::max(kLeastFew, std::min(wanted, task.samples->size() / (2 * passes)));
}

// Weights stay as they are, so that nothing can overflow; and sizes of f16 are those of bf16, whose steps never fail.
Settings for_dry_run(Settings settings) {
  settings.set("optimizer.lr", "0", "dry run");
  settings.set("train.device", "cpu", "dry run");  // it watches the CPU's memory
  settings.set("train.graph", "off", "dry run");
  if (settings.get<"train.precision">() == "f16") settings.set("train.precision", "bf16", "dry run");
  return settings;
}

// A rank alone, whatever the variables of this process say.
std::unique_ptr<comm::Engine> engine_alone(const Settings& settings) {
  auto options = comm::engine_options(settings);
  auto bootstrap = comm::bootstrap_from(Environment{}, Deadline::after(options.start_timeout));
  return std::make_unique<comm::Engine>(std::move(bootstrap), std::move(options));
}

double in_use() {
  return static_cast<double>(parallel::arena_statistics().in_use);
}

double held() {
  const auto now = parallel::arena_statistics();
  return static_cast<double>(now.in_use + now.cached);
}

// Memory of this process that is really there, in bytes; 0 where the kernel does not say.
double resident() {
  std::ifstream file("/proc/self/statm");
  double all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double bytes_of(const std::vector<torch::Tensor>& tensors) {
  double bytes = 0;
  for (const torch::Tensor& tensor : tensors) bytes += static_cast<double>(tensor.nbytes());
  return bytes;
}

class DryRunner {
 public:
  explicit DryRunner(const Settings& settings)
      : elsewhere_(in_use()),
        settings_(for_dry_run(settings)),
        session_(engine_alone(settings_), settings_, with_plugins(settings_)),
        task_(make_task(session_)),
        passes_(session_.options().accumulate),
        few_(few_of(task_, passes_)) {}

  DryRun run() {
    DryRun known = facts();
    known.activations = Line::through({few_, activations(few_)}, {2 * few_, activations(2 * few_)});
    const double before = in_use();
    Learner learner(session_, task_);
    const auto few = step_peaks(learner, few_), more = step_peaks(learner, 2 * few_);
    for (const torch::Tensor& parameter : task_.network->parameters())
      if (parameter.grad().defined()) known.gradient_bytes += static_cast<double>(parameter.grad().nbytes());
    known.optimizer_bytes = std::max(0.0, in_use() - before - known.gradient_bytes);
    known.step = fit_step(few, few_, more, 2 * few_);
    known.program_bytes = std::max(0.0, resident() - held());
    return known;
  }

 private:
  DryRun facts() {
    DryRun known{.kind = task_.samples->kind(),
                 .preparation = data::preparation_of(session_.options().data.name, *task_.samples),
                 .samples = task_.samples->size(),
                 .held_out = task_.held_out->size()};
    known.parameters = models::count_parameters(*task_.network);
    known.parameter_bytes = bytes_of(task_.network->parameters());
    known.buffer_bytes = bytes_of(task_.network->buffers());
    const auto cost = [&](std::int64_t batch) {
      return models::total(models::costs(*task_.network, known.kind.shape(), batch));
    };
    known.flops = static_cast<double>(cost(1).flops);
    known.touched = Line::through({few_, static_cast<double>(cost(few_).bytes)},
                                  {2 * few_, static_cast<double>(cost(2 * few_).bytes)});
    return known;
  }

  data::Batch batch_of(std::int64_t samples) {
    const data::Dataset batches =
        data::from_source(*task_.samples) | data::shuffle(0) | data::global_batch(samples, data::steps::Last::Drop);
    if (auto batch = batches.open().next_batch()) return std::move(*batch);
    throw Error::bad_input("{} has {} samples, too few for one step of {}", task_.samples->name(),
                           task_.samples->size(), samples);
  }

  // What is there after a forward pass and was not before it. It keeps no more than the backward pass needs.
  double activations(std::int64_t samples) {
    const data::Batch batch = batch_of(samples);
    const double before = in_use();
    const Samples taken = samples_of(batch, {0, samples}, task_, torch::kCPU);
    const torch::Tensor output =
        forward_in(parse_precision(session_.options().precision), *task_.network, taken.inputs);
    return in_use() - before;
  }

  std::vector<double> step_peaks(Learner& learner, std::int64_t samples) {
    const StepBatch batch = step_batch_of(batch_of(samples * passes_), task_, torch::kCPU);
    const auto step = [&] {
      learner.step(++step_, batch);
      learner.finished();
    };
    if (step_ == 0) step();  // it makes the optimizer's state
    parallel::MemoryWatch watch;
    step();
    first_not_finite(*task_.network);  // as a checkpoint asks
    std::vector<double> peaks;
    for (const parallel::MemoryMark& mark : watch.take()) peaks.push_back(static_cast<double>(mark.peak) - elsewhere_);
    return peaks;
  }

  const double elsewhere_;  // tensors that are not of this training
  const Settings settings_;
  Session session_;
  Task task_;
  const std::int64_t passes_, few_;
  std::int64_t step_ = 0;
};

}  // namespace

DryRun dry_run(const Settings& settings) {
  parallel::install_arena();
  return DryRunner(settings).run();
}

bool can_recompute(const Settings& settings) {
  const auto able = models::model_names_with_blocks(with_plugins(settings)->models);
  return std::ranges::find(able, settings.get<"model.name">()) != able.end();
}

}  // namespace ronde::train
