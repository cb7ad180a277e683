#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "ronde/base/log.h"

namespace ronde {
class Settings;
}

// What a training is asked to do. A session fills it once from its settings; parts of a training read it here and never
// see the list of settings. Members have the names of their settings, except where a comment says otherwise.
namespace ronde::train {

struct ModelChoice {  // model.*
  std::string name = "resnet20";
  std::string norm = "batch";
  std::string weights = {};
  std::string freeze = {};
  std::int64_t filters = 0;
  bool conv_bias = false;
  bool channels_last = true;
  bool recompute = false;
  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

struct OptimizerChoice {  // optimizer.*
  std::string name = "sgd";
  std::string fused = "auto";
  std::string lr_scaling = "none";
  std::int64_t lr_batch = 256;
  double lr = 0.1;
  double momentum = 0.9;
  double beta2 = 0.999;
  double trust = 0.001;
  double weight_decay = 0;
  bool nesterov = false;
  bool momentum_correction = true;
  bool spare_vectors = false;
  friend bool operator==(const OptimizerChoice&, const OptimizerChoice&) = default;
};

struct ScheduleChoice {  // schedule.*
  std::string name = "constant";
  std::string length = {};
  std::string milestones = {};
  std::string warmup = "0";
  double start = 0;
  double end = 0;
  double power = 2;
  double factor = 0.1;
  double peak = 0.3;
  friend bool operator==(const ScheduleChoice&, const ScheduleChoice&) = default;
};

struct CheckpointChoice {  // checkpoint.*
  std::string best = {};
  std::string every = "10min";
  std::string resume = "auto";
  std::int64_t keep = 3;
  std::chrono::nanoseconds mtbf = std::chrono::hours(720);
  bool accept_differences = false;
  bool background = true;
  bool sharded = false;
  friend bool operator==(const CheckpointChoice&, const CheckpointChoice&) = default;
};

// data.*, besides what data::source_options() and data::pipeline_options() read.
struct DataChoice {
  std::string name = "glyphs";
  std::string path = {};
  std::string target = "class";
  std::string split = {};
  std::uint64_t split_seed = 0;
  std::int64_t samples = 0;
  std::int64_t test_samples = 0;
  std::string shuffle = "full";
  std::int64_t window = 16;
  std::string augment = {};
  std::string on_device = "auto";
  double mixup = 0;
  friend bool operator==(const DataChoice&, const DataChoice&) = default;
};

struct TraceChoice {  // trace.*, besides what trace::options_from() reads
  std::string roofline = "auto";
  std::int64_t gpu_steps = 50;
  bool gpu = true;
  bool modules = false;
  bool operators = false;
  friend bool operator==(const TraceChoice&, const TraceChoice&) = default;
};

struct TrainingOptions {
  ModelChoice model = {};
  OptimizerChoice optimizer = {};
  ScheduleChoice schedule = {};
  CheckpointChoice checkpoint = {};
  DataChoice data = {};
  TraceChoice trace = {};

  // train.*
  std::int64_t batch = 64;
  std::int64_t epochs = 1;
  std::int64_t steps = 0;
  std::int64_t accumulate = 1;
  std::int64_t sync_every = 1;
  std::int64_t noise_scale = 10;
  std::int64_t patience = 0;
  std::int64_t ignore_index = -1;
  std::int64_t evaluate_every = 0;
  std::uint64_t seed = 0;
  std::string device = "auto";
  std::string precision = "f32";
  std::string graph = "auto";
  std::string loss = {};
  std::string class_weights = {};
  std::string reduce = "average";
  std::string compression = "none";
  std::string deadline = {};
  double clip_norm = 0;
  double clip_value = 0;
  double label_smoothing = 0;
  double loss_scale = 0;
  double target_accuracy = 0;
  double ema = 0;
  bool overlap = true;
  bool deterministic = false;

  std::filesystem::path output = "ronde-output";              // output_folder()
  LogLevel log_level = LogLevel::Info;                        // log.level
  std::int64_t job_deadline = 0;                              // launch.deadline
  std::chrono::nanoseconds grace = std::chrono::seconds(10);  // launch.grace
  bool arena = true;                                          // memory.arena
  std::uint64_t memory_limit = 0;                             // memory.limit
  bool tf32 = true;                                           // device.tf32
  bool cudnn_autotune = true;                                 // device.cudnn_autotune

  friend bool operator==(const TrainingOptions&, const TrainingOptions&) = default;
};

// Each value was checked when it was set; whether they go together is for the parts to say.
TrainingOptions training_options(const Settings& settings);

}  // namespace ronde::train
