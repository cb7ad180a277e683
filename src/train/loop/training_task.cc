#include "ronde/train/loop/training_task.h"

#include <filesystem>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/augment/augment.h"
#include "ronde/models/model.h"
#include "ronde/models/safetensors.h"
#include "ronde/models/weights.h"
#include "ronde/parallel/sync_batch_norm.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/checkpoint.h"
#include "ronde/train/input/input.h"
#include "ronde/train/loop/checkpoint_manager.h"
#include "ronde/train/loop/loss_choice.h"

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

// What a network is to give for one sample.
std::vector<std::int64_t> output_shape(const data::SampleKind& kind) {
  if (kind.target == data::Target::Mask) return {kind.classes, kind.height, kind.width};
  if (kind.target == data::Target::Input) return kind.shape();
  if (kind.target == data::Target::Values) return kind.values_shape;
  return {kind.classes};
}

// Copied to the device, which a trace shows; where there is none, as it is.
torch::Tensor on(torch::Device device, const torch::Tensor& host) {
  if (device.is_cpu()) return host;
  RONDE_SPAN("copy to device", "copy", {{"bytes", host.nbytes()}});
  return host.to(device);
}

torch::Tensor features(float* first, data::Range part, const data::SampleKind& kind) {
  const auto size = with_samples(part.size(), kind.shape());
  if (kind.layout == data::Layout::ChannelsFirst) return torch::from_blob(first, size, torch::kFloat32);
  const std::vector<std::int64_t> strides = {kind.channels * kind.height * kind.width, 1, kind.width * kind.channels,
                                             kind.channels};
  return torch::from_blob(first, size, strides, torch::kFloat32);
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

// Parameters whose names match one of the patterns keep their values.
void freeze(torch::nn::Module& network, const std::string& patterns) {
  if (trim(patterns).empty()) return;
  bool any = false;
  for (const auto piece : split(patterns, ',')) {
    const auto pattern = trim(piece);
    std::int64_t found = 0;
    for (auto& item : network.named_parameters()) {
      if (!matches(pattern, item.key())) continue;
      item.value().requires_grad_(false);
      ++found;
    }
    if (found == 0)
      throw Error::bad_input("model.freeze: no parameter of the network matches '{}'; the first is '{}'", pattern,
                             network.named_parameters().keys().front());
  }
  for (const torch::Tensor& parameter : network.parameters()) any |= parameter.requires_grad();
  if (!any) throw Error::bad_input("model.freeze is '{}', which leaves no parameter to train", patterns);
}

// A user's loss gives a number for each sample, or their mean; ours are sums. A share of a batch may be empty, of which
// no mean is a number.
models::Loss summed(models::Loss loss) {
  return [loss = std::move(loss)](const torch::Tensor& output, const torch::Tensor& target) {
    const std::int64_t samples = output.size(0);
    if (samples == 0) return output.sum();
    const torch::Tensor found = loss(output, target);
    if (found.dim() == 0) return found * samples;
    if (found.sizes() == torch::IntArrayRef{samples}) return found.sum();
    throw Error::bad_input("the loss must give a number for each of the {} samples, or their mean, but it has shape {}",
                           samples, c10::str(found.sizes()));
  };
}

void set_losses(Task& task, const TrainingOptions& asked, const Registry& registry) {
  models::LossOptions options = loss_options(asked, task.samples->kind());
  task.ignored = asked.ignore_index;
  const LossEntry* own = find_loss(registry, asked.loss);
  if (own) task.measures = own->measures;
  if (own && own->loss) {
    if (options.label_smoothing > 0)
      throw Error::bad_input("train.label_smoothing has no effect on train.loss = {}; remove it", own->name);
    if (!options.class_weights.empty())
      throw Error::bad_input("train.class_weights has no effect on train.loss = {}; remove it", own->name);
    task.own_loss = true;
    task.loss = task.plain_loss = summed(own->loss);
    return;
  }
  task.loss = models::make_loss(options);
  task.smoothed = std::exchange(options.label_smoothing, 0) > 0;
  task.plain_loss = models::make_loss(options);
}

// Tried on one sample of zeros: so it is known of any network, before the data of a long job are read.
torch::Tensor output_of_zeros(models::Network& network, const data::SampleKind& kind, const TrainingOptions& options,
                              torch::Device device) {
  const torch::NoGradGuard no_grad;
  network.eval();
  try {
    const auto output = network.forward(torch::zeros(with_samples(1, kind.shape()), torch::device(device)));
    network.train();
    return output;
  } catch (const c10::Error& error) {
    const std::string all = error.what_without_backtrace();
    throw Error::bad_input("model.name = {} cannot take samples of {}: {}", options.model.name,
                           data::shape_text(kind.shape()), split(all, '\n').front());
  }
}

// What a loss of the user's takes is the user's affair.
void check_output(const Task& task, const TrainingOptions& options, torch::Device device) {
  const data::SampleKind kind = task.samples->kind();
  const torch::Tensor output = output_of_zeros(*task.network, kind, options, device);
  const auto expected = output_shape(kind);
  if (!task.own_loss && output.sizes().slice(1) != torch::IntArrayRef(expected))
    throw Error::bad_input("model.name = {} gives {} numbers per sample, but data.target = {} needs {}",
                           options.model.name, c10::str(output.sizes().slice(1)), data::name(kind.target),
                           c10::str(torch::IntArrayRef(expected)));
}

// Of a file, or of a checkpoint: what that would be evaluated by.
models::TensorMap first_weights(const std::filesystem::path& path) {
  std::error_code failure;
  if (std::filesystem::is_regular_file(path, failure)) return models::read_safetensors(path).tensors;
  if (!std::filesystem::is_directory(path, failure))
    throw Error::bad_input("model.weights: {} does not exist", path.string());
  Checkpoint checkpoint = load_checkpoint(find_checkpoint(path));
  return checkpoint.ema.empty() ? std::move(checkpoint.model) : std::move(checkpoint.ema);
}

models::ModelOptions model_options(const TrainingOptions& options, const data::SampleKind& kind,
                                   models::NormFactory norm) {
  return {.name = options.model.name,
          .classes = kind.classes,
          .channels = kind.channels,
          .height = kind.height,
          .width = kind.width,
          .filters = options.model.filters,
          .conv_bias = options.model.conv_bias,
          .recompute = options.model.recompute,
          .norm = std::move(norm),
          .input = kind.shape(),
          .output = output_shape(kind)};
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
  task.network = models::make_model(model_options(options, kind, norm), session.registry().models);
  task.network->to(session.device());
  const bool pictures = kind.shape().size() == 3;
  task.channels_last = options.model.channels_last && pictures && has_convolutions(*task.network);
  if (task.channels_last) models::to_channels_last(*task.network);
  freeze(*task.network, options.model.freeze);
  set_losses(task, options, session.registry());
  check_output(task, options, session.device());
  return task;
}

std::vector<torch::Tensor> Task::trained() const {
  std::vector<torch::Tensor> some;
  for (const torch::Tensor& parameter : network->parameters())
    if (parameter.requires_grad()) some.push_back(parameter);
  return some;
}

void load_first_weights(const Session& session, Task& task) {
  const std::filesystem::path file = session.options().model.weights;
  if (file.empty() || session.rank() != 0) return;
  const std::int64_t classes = task.samples->kind().classes;
  const auto fresh = models::load_weights_for(classes, *task.network, first_weights(file), file.string());
  if (fresh.empty()) return;
  const Log log({.level = session.options().log_level});
  log.info("model.weights: {} begin with random values: {} has them for another number of classes than {}",
           join(fresh, ", "), file.string(), classes);
}

std::vector<std::int64_t> with_samples(std::int64_t samples, const data::Shape& shape) {
  std::vector<std::int64_t> all = {samples};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

data::Shape target_shape(const data::SampleKind& kind) {
  switch (kind.target) {
    case data::Target::Class: return {};
    case data::Target::Labels: return {kind.classes};
    case data::Target::Mask: return {kind.height, kind.width};
    case data::Target::Input: return kind.shape();
    case data::Target::Values: break;
  }
  return kind.values_shape;
}

Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device) {
  const data::SampleKind& kind = batch.facts().kind;
  // The part's share of what lies one sample after the other.
  const auto share = [&](auto all, std::size_t each) {
    return all.data() + part.begin * static_cast<std::int64_t>(each);
  };
  Samples samples;
  samples.inputs =
      on(device, kind.u8 ? augmented(batch, part) : features(share(batch.features(), kind.values()), part, kind));
  if (task.channels_last) samples.inputs = samples.inputs.contiguous(torch::MemoryFormat::ChannelsLast);
  const auto shape = with_samples(part.size(), target_shape(kind));
  if (kind.target == data::Target::Input)
    samples.targets = samples.inputs;
  else if (kind.flag_values() > 0)
    samples.targets = on(device, torch::from_blob(share(batch.flags(), kind.flag_values()), shape, torch::kFloat32));
  else
    samples.targets = on(device, torch::from_blob(share(batch.classes(), kind.class_values()), shape, torch::kInt64));
  return samples;
}

}  // namespace ronde::train
