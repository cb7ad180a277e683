#include "ronde/bench/training/workload.h"

#include <algorithm>
#include <string>

#include "ronde/base/error.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/data/dataset.h"
#include "ronde/data/pipeline.h"
#include "ronde/models/model.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/plugin/load_plugins.h"

namespace ronde::bench::detail {
namespace {

constexpr std::int64_t kClasses = 10;

models::ModelOptions model_options(const std::string& name) {
  if (name == "resnet20")  // as recipes/demo.toml has it
    return {.name = name, .classes = kClasses, .channels = 1, .height = 20, .width = 20};
  if (name == "resnet18-cifar") return {.name = name, .classes = kClasses, .channels = 3, .height = 32, .width = 32};
  return {.name = name, .classes = kClasses, .channels = 1, .height = 28, .width = 28};
}

Workload built_in(const RankOptions& options, int rank) {
  torch::manual_seed(0);
  const models::ModelOptions model = model_options(options.model);
  Workload work{.network = models::make_model(model)};
  models::to_channels_last(*work.network);
  torch::manual_seed(static_cast<std::uint64_t>(rank) + 1);
  work.inputs = torch::randn({options.batch, model.channels, model.height, model.width});
  if (model.channels > 1) work.inputs = work.inputs.contiguous(torch::MemoryFormat::ChannelsLast);
  work.targets = torch::randint(kClasses, {options.batch}, torch::kLong);
  work.loss = [](const torch::Tensor& output, const torch::Tensor& target) {
    return torch::nn::functional::cross_entropy(output, target);
  };
  return work;
}

// As the trainer makes it, by a session of one rank.
Workload of_settings(const RankOptions& options, int rank) {
  Settings settings = options.settings;
  settings.set("model.name", options.model, "--model");
  settings.set("train.device", "cpu", "bench");
  auto engine_options = comm::engine_options(settings);
  auto alone = comm::bootstrap_from(Environment{}, Deadline::after(engine_options.start_timeout));
  const Session session(std::make_unique<comm::Engine>(std::move(alone), std::move(engine_options)), settings,
                        train::with_plugins(settings));
  train::Task task = train::make_task(session);
  const data::Dataset shuffled = data::from_source(*task.samples) | data::shuffle(static_cast<std::uint64_t>(rank)) |
                                 data::global_batch(options.batch, data::steps::Last::Drop) | data::prefetch(1);
  data::Pipeline batches = shuffled.open({.threads = 1});
  const auto batch = batches.next_batch();
  const train::Samples samples = train::samples_of(*batch, {0, options.batch}, task, torch::kCPU);
  Workload work{.network = task.network, .inputs = samples.inputs.clone(), .targets = samples.targets.clone()};
  work.loss = [sum = task.loss](const torch::Tensor& output, const torch::Tensor& target) {
    return sum(output, target) / output.size(0);
  };
  return work;
}

}  // namespace

Workload workload_of(const RankOptions& options, int rank) {
  const auto known = models::model_names();
  const bool is_built_in = std::ranges::find(known, options.model) != known.end();
  return is_built_in ? built_in(options, rank) : of_settings(options, rank);
}

}  // namespace ronde::bench::detail
