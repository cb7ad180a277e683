#include "ronde/train/task.h"

#include "ronde/base/error.h"
#include "ronde/models/model.h"
#include "ronde/parallel/sync_batch_norm.h"

namespace ronde::train {
namespace {

std::unique_ptr<data::Source> open(const Settings& settings, data::Split split) {
  const bool train = split == data::Split::Train;
  return data::open_source({.name = settings.get<"data.name">(),
                            .path = settings.get<"data.path">(),
                            .split = split,
                            .samples = train ? settings.get<"data.samples">() : settings.get<"data.test_samples">(),
                            .classes = settings.get<"data.classes">(),
                            .channels = settings.get<"data.channels">(),
                            .resolution = settings.get<"data.resolution">(),
                            .seed = static_cast<std::uint64_t>(settings.get<"train.seed">()),
                            .augment = train});
}

models::NormFactory norm_of(const Session& session) {
  const std::string name = session.settings().get<"model.norm">();
  if (name == "none") return models::no_norm();
  if (name == "batch") return models::batch_norm();
  return [group = session.world()](std::int64_t channels) {
    return torch::nn::AnyModule(parallel::SyncBatchNorm(channels, group));
  };
}

bool has_convolutions(const torch::nn::Module& network) {
  for (const auto& parameter : network.parameters())
    if (parameter.dim() == 4) return true;
  return false;
}

}  // namespace

Task make_task(const Session& session) {
  const Settings& settings = session.settings();
  Task task{.samples = open(settings, data::Split::Train), .held_out = open(settings, data::Split::Test)};
  const data::SampleKind kind = task.samples->kind();
  torch::manual_seed(static_cast<std::uint64_t>(settings.get<"train.seed">()));
  task.network = models::make_model({.name = settings.get<"model.name">(),
                                     .classes = kind.classes,
                                     .channels = kind.channels,
                                     .height = kind.height,
                                     .width = kind.width,
                                     .recompute = settings.get<"model.recompute">(),
                                     .norm = norm_of(session)});
  task.network->to(session.device());
  task.channels_last = settings.get<"model.channels_last">() && has_convolutions(*task.network);
  if (task.channels_last) models::to_channels_last(*task.network);
  task.loss = models::make_loss({.label_smoothing = settings.get<"train.label_smoothing">(), .sum = true});
  task.plain_loss = models::make_loss({.sum = true});
  return task;
}

Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device) {
  const data::SampleKind& kind = batch.facts().kind;
  Samples samples;
  samples.inputs = torch::from_blob(batch.features().data() + part.begin * static_cast<std::int64_t>(kind.values()),
                                    {part.size(), kind.channels, kind.height, kind.width}, torch::kFloat32)
                       .to(device);
  if (task.channels_last) samples.inputs = samples.inputs.contiguous(torch::MemoryFormat::ChannelsLast);
  samples.labels = torch::from_blob(batch.labels().data() + part.begin, {part.size()}, torch::kInt64).to(device);
  return samples;
}

}  // namespace ronde::train
