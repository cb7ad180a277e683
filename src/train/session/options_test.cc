#include "ronde/train/options.h"

#include <gtest/gtest.h>

#include "ronde/base/settings/settings.h"

namespace ronde::train {
namespace {

TEST(TrainingOptions, DefaultsAreThoseOfTheSettings) {
  EXPECT_EQ(training_options(Settings()), TrainingOptions{});
}

struct Case {
  const char *key, *text;
  void (*expected)(TrainingOptions&);
};

const Case kCases[] = {
    {"model.name", "lenet", [](auto& options) { options.model.name = "lenet"; }},
    {"model.norm", "sync", [](auto& options) { options.model.norm = "sync"; }},
    {"model.weights", "a file", [](auto& options) { options.model.weights = "a file"; }},
    {"model.freeze", "head.*", [](auto& options) { options.model.freeze = "head.*"; }},
    {"model.filters", "7", [](auto& options) { options.model.filters = 7; }},
    {"model.conv_bias", "true", [](auto& options) { options.model.conv_bias = true; }},
    {"model.channels_last", "false", [](auto& options) { options.model.channels_last = false; }},
    {"model.recompute", "true", [](auto& options) { options.model.recompute = true; }},
    {"optimizer.name", "adam", [](auto& options) { options.optimizer.name = "adam"; }},
    {"optimizer.fused", "on", [](auto& options) { options.optimizer.fused = "on"; }},
    {"optimizer.lr_scaling", "sqrt", [](auto& options) { options.optimizer.lr_scaling = "sqrt"; }},
    {"optimizer.lr_batch", "7", [](auto& options) { options.optimizer.lr_batch = 7; }},
    {"optimizer.lr", "0.7", [](auto& options) { options.optimizer.lr = 0.7; }},
    {"optimizer.momentum", "0.7", [](auto& options) { options.optimizer.momentum = 0.7; }},
    {"optimizer.beta2", "0.7", [](auto& options) { options.optimizer.beta2 = 0.7; }},
    {"optimizer.trust", "0.7", [](auto& options) { options.optimizer.trust = 0.7; }},
    {"optimizer.weight_decay", "0.7", [](auto& options) { options.optimizer.weight_decay = 0.7; }},
    {"optimizer.nesterov", "true", [](auto& options) { options.optimizer.nesterov = true; }},
    {"optimizer.momentum_correction", "false", [](auto& options) { options.optimizer.momentum_correction = false; }},
    {"optimizer.spare_vectors", "true", [](auto& options) { options.optimizer.spare_vectors = true; }},
    {"schedule.name", "step", [](auto& options) { options.schedule.name = "step"; }},
    {"schedule.length", "7", [](auto& options) { options.schedule.length = "7"; }},
    {"schedule.milestones", "7", [](auto& options) { options.schedule.milestones = "7"; }},
    {"schedule.warmup", "7", [](auto& options) { options.schedule.warmup = "7"; }},
    {"schedule.start", "0.7", [](auto& options) { options.schedule.start = 0.7; }},
    {"schedule.end", "0.7", [](auto& options) { options.schedule.end = 0.7; }},
    {"schedule.power", "0.7", [](auto& options) { options.schedule.power = 0.7; }},
    {"schedule.factor", "0.7", [](auto& options) { options.schedule.factor = 0.7; }},
    {"schedule.peak", "0.7", [](auto& options) { options.schedule.peak = 0.7; }},
    {"checkpoint.every", "7", [](auto& options) { options.checkpoint.every = "7"; }},
    {"checkpoint.resume", "none", [](auto& options) { options.checkpoint.resume = "none"; }},
    {"checkpoint.keep", "7", [](auto& options) { options.checkpoint.keep = 7; }},
    {"checkpoint.mtbf", "7s", [](auto& options) { options.checkpoint.mtbf = std::chrono::seconds(7); }},
    {"checkpoint.accept_differences", "true", [](auto& options) { options.checkpoint.accept_differences = true; }},
    {"checkpoint.background", "false", [](auto& options) { options.checkpoint.background = false; }},
    {"checkpoint.sharded", "true", [](auto& options) { options.checkpoint.sharded = true; }},
    {"data.name", "text", [](auto& options) { options.data.name = "text"; }},
    {"data.path", "a folder", [](auto& options) { options.data.path = "a folder"; }},
    {"data.target", "mask", [](auto& options) { options.data.target = "mask"; }},
    {"data.split", "60/20/20", [](auto& options) { options.data.split = "60/20/20"; }},
    {"data.split_seed", "7", [](auto& options) { options.data.split_seed = 7; }},
    {"data.samples", "7", [](auto& options) { options.data.samples = 7; }},
    {"data.test_samples", "7", [](auto& options) { options.data.test_samples = 7; }},
    {"data.shuffle", "off", [](auto& options) { options.data.shuffle = "off"; }},
    {"data.window", "7", [](auto& options) { options.data.window = 7; }},
    {"data.augment", "noise", [](auto& options) { options.data.augment = "noise"; }},
    {"data.on_device", "off", [](auto& options) { options.data.on_device = "off"; }},
    {"data.mixup", "0.7", [](auto& options) { options.data.mixup = 0.7; }},
    {"trace.roofline", "off", [](auto& options) { options.trace.roofline = "off"; }},
    {"trace.gpu_steps", "7", [](auto& options) { options.trace.gpu_steps = 7; }},
    {"trace.gpu", "false", [](auto& options) { options.trace.gpu = false; }},
    {"trace.modules", "true", [](auto& options) { options.trace.modules = true; }},
    {"trace.operators", "true", [](auto& options) { options.trace.operators = true; }},
    {"train.batch", "7", [](auto& options) { options.batch = 7; }},
    {"train.epochs", "7", [](auto& options) { options.epochs = 7; }},
    {"train.steps", "7", [](auto& options) { options.steps = 7; }},
    {"train.accumulate", "7", [](auto& options) { options.accumulate = 7; }},
    {"train.sync_every", "7", [](auto& options) { options.sync_every = 7; }},
    {"train.noise_scale", "7", [](auto& options) { options.noise_scale = 7; }},
    {"train.patience", "7", [](auto& options) { options.patience = 7; }},
    {"train.evaluate_every", "7", [](auto& options) { options.evaluate_every = 7; }},
    {"checkpoint.best", "loss", [](auto& options) { options.checkpoint.best = "loss"; }},
    {"train.ignore_index", "7", [](auto& options) { options.ignore_index = 7; }},
    {"train.class_weights", "1,2", [](auto& options) { options.class_weights = "1,2"; }},
    {"train.seed", "7", [](auto& options) { options.seed = 7; }},
    {"train.device", "cpu", [](auto& options) { options.device = "cpu"; }},
    {"train.precision", "bf16", [](auto& options) { options.precision = "bf16"; }},
    {"train.graph", "off", [](auto& options) { options.graph = "off"; }},
    {"train.loss", "mine", [](auto& options) { options.loss = "mine"; }},
    {"train.reduce", "adasum", [](auto& options) { options.reduce = "adasum"; }},
    {"train.compression", "f16", [](auto& options) { options.compression = "f16"; }},
    {"train.deadline", "2h", [](auto& options) { options.deadline = "2h"; }},
    {"train.clip_norm", "0.7", [](auto& options) { options.clip_norm = 0.7; }},
    {"train.clip_value", "0.7", [](auto& options) { options.clip_value = 0.7; }},
    {"train.label_smoothing", "0.7", [](auto& options) { options.label_smoothing = 0.7; }},
    {"train.loss_scale", "0.7", [](auto& options) { options.loss_scale = 0.7; }},
    {"train.target_accuracy", "0.7", [](auto& options) { options.target_accuracy = 0.7; }},
    {"train.ema", "0.7", [](auto& options) { options.ema = 0.7; }},
    {"train.overlap", "false", [](auto& options) { options.overlap = false; }},
    {"train.deterministic", "true", [](auto& options) { options.deterministic = true; }},
    {"output.dir", "here", [](auto& options) { options.output = "here"; }},
    {"log.level", "off", [](auto& options) { options.log_level = LogLevel::Off; }},
    {"launch.deadline", "7", [](auto& options) { options.job_deadline = 7; }},
    {"launch.grace", "7s", [](auto& options) { options.grace = std::chrono::seconds(7); }},
    {"memory.arena", "false", [](auto& options) { options.arena = false; }},
    {"memory.limit", "7B", [](auto& options) { options.memory_limit = 7; }},
    {"device.tf32", "false", [](auto& options) { options.tf32 = false; }},
    {"device.cudnn_autotune", "false", [](auto& options) { options.cudnn_autotune = false; }},
};

// Each setting, changed by itself, changes its own option and nothing else.
TEST(TrainingOptions, EachComesFromItsSetting) {
  for (const Case& one : kCases) {
    Settings settings;
    settings.set(one.key, one.text, "test");
    TrainingOptions expected;
    one.expected(expected);
    EXPECT_NE(expected, TrainingOptions{}) << one.key;
    EXPECT_EQ(training_options(settings), expected) << one.key;
  }
}

}  // namespace
}  // namespace ronde::train
