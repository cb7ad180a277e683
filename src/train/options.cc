#include "ronde/train/options.h"

#include "ronde/base/settings/settings.h"
#include "ronde/train/session/output_folder.h"

namespace ronde::train {
namespace {

ModelChoice model_of(const Settings& settings) {
  return {.name = settings.get<"model.name">(),
          .norm = settings.get<"model.norm">(),
          .weights = settings.get<"model.weights">(),
          .freeze = settings.get<"model.freeze">(),
          .filters = settings.get<"model.filters">(),
          .conv_bias = settings.get<"model.conv_bias">(),
          .channels_last = settings.get<"model.channels_last">(),
          .recompute = settings.get<"model.recompute">()};
}

OptimizerChoice optimizer_of(const Settings& settings) {
  return {.name = settings.get<"optimizer.name">(),
          .fused = settings.get<"optimizer.fused">(),
          .lr_scaling = settings.get<"optimizer.lr_scaling">(),
          .lr_batch = settings.get<"optimizer.lr_batch">(),
          .lr = settings.get<"optimizer.lr">(),
          .momentum = settings.get<"optimizer.momentum">(),
          .beta2 = settings.get<"optimizer.beta2">(),
          .trust = settings.get<"optimizer.trust">(),
          .weight_decay = settings.get<"optimizer.weight_decay">(),
          .nesterov = settings.get<"optimizer.nesterov">(),
          .momentum_correction = settings.get<"optimizer.momentum_correction">(),
          .spare_vectors = settings.get<"optimizer.spare_vectors">()};
}

ScheduleChoice schedule_choice_of(const Settings& settings) {
  return {.name = settings.get<"schedule.name">(),
          .length = settings.get<"schedule.length">(),
          .milestones = settings.get<"schedule.milestones">(),
          .warmup = settings.get<"schedule.warmup">(),
          .start = settings.get<"schedule.start">(),
          .end = settings.get<"schedule.end">(),
          .power = settings.get<"schedule.power">(),
          .factor = settings.get<"schedule.factor">(),
          .peak = settings.get<"schedule.peak">()};
}

CheckpointChoice checkpoint_of(const Settings& settings) {
  return {.best = settings.get<"checkpoint.best">(),
          .every = settings.get<"checkpoint.every">(),
          .resume = settings.get<"checkpoint.resume">(),
          .keep = settings.get<"checkpoint.keep">(),
          .mtbf = settings.get<"checkpoint.mtbf">(),
          .accept_differences = settings.get<"checkpoint.accept_differences">(),
          .background = settings.get<"checkpoint.background">(),
          .sharded = settings.get<"checkpoint.sharded">()};
}

DataChoice data_of(const Settings& settings) {
  return {.name = settings.get<"data.name">(),
          .path = settings.get<"data.path">(),
          .target = settings.get<"data.target">(),
          .split = settings.get<"data.split">(),
          .split_seed = static_cast<std::uint64_t>(settings.get<"data.split_seed">()),
          .samples = settings.get<"data.samples">(),
          .test_samples = settings.get<"data.test_samples">(),
          .shuffle = settings.get<"data.shuffle">(),
          .window = settings.get<"data.window">(),
          .augment = settings.get<"data.augment">(),
          .on_device = settings.get<"data.on_device">(),
          .mixup = settings.get<"data.mixup">()};
}

TraceChoice trace_of(const Settings& settings) {
  return {.roofline = settings.get<"trace.roofline">(),
          .gpu_steps = settings.get<"trace.gpu_steps">(),
          .gpu = settings.get<"trace.gpu">(),
          .modules = settings.get<"trace.modules">(),
          .operators = settings.get<"trace.operators">()};
}

}  // namespace

TrainingOptions training_options(const Settings& settings) {
  return {.model = model_of(settings),
          .optimizer = optimizer_of(settings),
          .schedule = schedule_choice_of(settings),
          .checkpoint = checkpoint_of(settings),
          .data = data_of(settings),
          .trace = trace_of(settings),
          .batch = settings.get<"train.batch">(),
          .epochs = settings.get<"train.epochs">(),
          .steps = settings.get<"train.steps">(),
          .accumulate = settings.get<"train.accumulate">(),
          .sync_every = settings.get<"train.sync_every">(),
          .noise_scale = settings.get<"train.noise_scale">(),
          .patience = settings.get<"train.patience">(),
          .ignore_index = settings.get<"train.ignore_index">(),
          .evaluate_every = settings.get<"train.evaluate_every">(),
          .seed = static_cast<std::uint64_t>(settings.get<"train.seed">()),
          .device = settings.get<"train.device">(),
          .precision = settings.get<"train.precision">(),
          .graph = settings.get<"train.graph">(),
          .loss = settings.get<"train.loss">(),
          .class_weights = settings.get<"train.class_weights">(),
          .reduce = settings.get<"train.reduce">(),
          .compression = settings.get<"train.compression">(),
          .deadline = settings.get<"train.deadline">(),
          .clip_norm = settings.get<"train.clip_norm">(),
          .clip_value = settings.get<"train.clip_value">(),
          .label_smoothing = settings.get<"train.label_smoothing">(),
          .loss_scale = settings.get<"train.loss_scale">(),
          .target_accuracy = settings.get<"train.target_accuracy">(),
          .ema = settings.get<"train.ema">(),
          .overlap = settings.get<"train.overlap">(),
          .deterministic = settings.get<"train.deterministic">(),
          .output = output_folder(settings),
          .log_level = parse_log_level(settings.get<"log.level">()),
          .job_deadline = settings.get<"launch.deadline">(),
          .grace = settings.get<"launch.grace">(),
          .arena = settings.get<"memory.arena">(),
          .memory_limit = settings.get<"memory.limit">(),
          .tf32 = settings.get<"device.tf32">(),
          .cudnn_autotune = settings.get<"device.cudnn_autotune">()};
}

}  // namespace ronde::train
