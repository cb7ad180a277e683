#include "ronde/train/task.h"

#include <filesystem>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/augment/augment.h"
#include "ronde/models/model.h"
#include "ronde/models/weights.h"
#include "ronde/parallel/sync_batch_norm.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/input/input.h"

namespace ronde::train {
namespace {

models::NormFactory norm_of(const Session& session) {
  const std::string name = session.options().model.norm;
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

models::LossOptions loss_of(const TrainingOptions& asked, data::Target target) {
  models::LossOptions options{.label_smoothing = asked.label_smoothing, .sum = true};
  if (target == data::Target::Labels) options.kind = "multi-label";
  if (target == data::Target::Input) options.kind = "reconstruction";
  if (target == data::Target::Input && options.label_smoothing > 0)
    throw Error::bad_input("train.label_smoothing is {}, but data.target = input has no labels to smooth",
                           options.label_smoothing);
  return options;
}

// What a network is to give for one sample.
std::vector<std::int64_t> output_shape(const data::SampleKind& kind) {
  if (kind.target == data::Target::Mask) return {kind.classes, kind.height, kind.width};
  if (kind.target == data::Target::Input) return {kind.channels, kind.height, kind.width};
  return {kind.classes};
}

// Copied to the device, which a trace shows; where there is none, as it is.
torch::Tensor on(torch::Device device, const torch::Tensor& host) {
  if (device.is_cpu()) return host;
  RONDE_SPAN("copy to device", "copy", {{"bytes", host.nbytes()}});
  return host.to(device);
}

// Pictures that came as bytes, finished on the host, channels last as they came. Unmixed.
torch::Tensor augmented(const data::Batch& batch, data::Range part) {
  const data::SampleKind& kind = batch.facts().kind;
  data::AugmentOptions augment = data::AugmentOptions::of(kind, part.size());
  augment.layout = data::Layout::ChannelsLast;
  const auto begin = static_cast<std::size_t>(part.begin);
  std::vector<data::Augmentation> augmentations(static_cast<std::size_t>(part.size()));
  for (std::size_t i = 0; i < augmentations.size(); ++i) {
    augmentations[i] = batch.augmentations()[begin + i];
    augmentations[i].share = 1;
  }
  torch::Tensor values = torch::empty({part.size(), kind.channels, kind.height, kind.width},
                                      torch::TensorOptions().memory_format(torch::MemoryFormat::ChannelsLast));
  data::augment_pictures(augment, batch.features8().data() + begin * kind.values(), augmentations.data(),
                         values.data_ptr());
  return values;
}

// Tried on one sample of zeros: so it is known of any network, before the data of a long job are read.
void check_output(models::Network& network, const data::SampleKind& kind, const TrainingOptions& options,
                  torch::Device device) {
  const torch::NoGradGuard no_grad;
  network.eval();
  const torch::Tensor output =
      network.forward(torch::zeros({1, kind.channels, kind.height, kind.width}, torch::device(device)));
  network.train();
  const auto expected = output_shape(kind);
  if (output.sizes().slice(1) != torch::IntArrayRef(expected))
    throw Error::bad_input("model.name = {} gives {} numbers per sample, but data.target = {} needs {}",
                           options.model.name, c10::str(output.sizes().slice(1)), data::name(kind.target),
                           c10::str(torch::IntArrayRef(expected)));
}

}  // namespace

Task make_task(const Session& session) {
  RONDE_SPAN(trace::span_names::kLoad);
  const TrainingOptions& options = session.options();
  data::Parts parts = open_data(session);
  Task task{
      .samples = std::move(parts.train), .validation = std::move(parts.validation), .held_out = std::move(parts.test)};
  const data::SampleKind kind = task.samples->kind();
  torch::manual_seed(options.seed);
  const auto norm = [&task, make = norm_of(session)](std::int64_t channels) {
    task.has_norms = true;
    return make(channels);
  };
  task.network = models::make_model({.name = options.model.name,
                                     .classes = kind.classes,
                                     .channels = kind.channels,
                                     .height = kind.height,
                                     .width = kind.width,
                                     .filters = options.model.filters,
                                     .conv_bias = options.model.conv_bias,
                                     .recompute = options.model.recompute,
                                     .norm = norm});
  task.network->to(session.device());
  task.channels_last = options.model.channels_last && has_convolutions(*task.network);
  if (task.channels_last) models::to_channels_last(*task.network);
  check_output(*task.network, kind, options, session.device());
  models::LossOptions loss = loss_of(options, kind.target);
  task.loss = models::make_loss(loss);
  task.smoothed = std::exchange(loss.label_smoothing, 0) > 0;
  task.plain_loss = models::make_loss(loss);
  return task;
}

void load_first_weights(const Session& session, Task& task) {
  const std::filesystem::path file = session.options().model.weights;
  if (file.empty() || session.rank() != 0) return;
  if (std::error_code failure; !std::filesystem::is_regular_file(file, failure))
    throw Error::bad_input("model.weights: {} does not exist", file.string());
  models::load_weights(*task.network, file);
}

Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device) {
  const data::SampleKind& kind = batch.facts().kind;
  // The part's share of what lies one sample after the other.
  const auto share = [&](auto all, std::size_t each) {
    return all.data() + part.begin * static_cast<std::int64_t>(each);
  };
  Samples samples;
  const std::vector<std::int64_t> size = {part.size(), kind.channels, kind.height, kind.width};
  std::vector<std::int64_t> strides = {kind.channels * kind.height * kind.width, kind.height * kind.width, kind.width,
                                       1};
  if (kind.layout == data::Layout::ChannelsLast) strides = {strides[0], 1, kind.width * kind.channels, kind.channels};
  samples.inputs =
      on(device, kind.u8 ? augmented(batch, part)
                         : torch::from_blob(share(batch.features(), kind.values()), size, strides, torch::kFloat32));
  if (task.channels_last) samples.inputs = samples.inputs.contiguous(torch::MemoryFormat::ChannelsLast);
  std::vector<std::int64_t> shape = {part.size()};
  if (kind.target == data::Target::Labels) shape.push_back(kind.classes);
  if (kind.target == data::Target::Mask) shape.insert(shape.end(), {kind.height, kind.width});
  if (kind.target == data::Target::Input)
    samples.targets = samples.inputs;
  else if (kind.target == data::Target::Labels)
    samples.targets = on(device, torch::from_blob(share(batch.flags(), kind.flag_values()), shape, torch::kFloat32));
  else
    samples.targets = on(device, torch::from_blob(share(batch.classes(), kind.class_values()), shape, torch::kInt64));
  return samples;
}

}  // namespace ronde::train
