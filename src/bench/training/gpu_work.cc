#include "ronde/bench/training/gpu_work.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/bench/detail/lent.h"
#include "ronde/bench/training/gpu_bars.h"
#include "ronde/device/device.h"
#include "ronde/models/loss.h"
#include "ronde/models/model.h"
#include "ronde/train/gpu/step_graph.h"
#include "ronde/train/loop/learner.h"
#include "ronde/train/loop/training_stream.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/precision.h"
#include "ronde/train/session/hardware.h"

namespace ronde::bench::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kResolution = 224, kClasses = 1000;
constexpr double kLearningRate = 0.1;
constexpr int kWarmUps = 3;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// How long this process has been running, by the clock of the kernel.
double process_age_us() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));  // the name may have blanks in it
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;  // the 22nd is when it started, in ticks
  double up = 0;
  uptime >> up;
  return (up - std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK))) * 1e6;
}

Settings settings_for(const RankOptions& options) {
  Settings settings = options.settings;
  const auto set = [&](const char* key, const std::string& text) { settings.set(key, text, "bench"); };
  set("model.name", options.model);
  set("data.name", "random");
  set("data.channels", "3");
  set("data.resolution", std::to_string(kResolution));
  set("data.classes", std::to_string(kClasses));
  set("data.samples", std::to_string(options.batch));
  set("data.test_samples", "1");
  set("train.batch", std::to_string(options.batch));
  set("train.precision", "bf16");
  set("train.device", "cuda");
  set("train.graph", options.variant == "gpu_eager" ? "off" : "on");
  set("optimizer.lr", std::to_string(kLearningRate));
  set("optimizer.fused", "on");
  set("trace.gpu_steps", std::to_string(kKernelSteps));
  return settings;
}

train::StepBatch random_batch(std::int64_t samples, torch::Device device) {
  train::StepBatch batch;
  const auto on = torch::TensorOptions(device);
  batch.inputs = torch::randn({samples, 3, kResolution, kResolution}, on)
                     .to(torch::kBFloat16)
                     .contiguous(torch::MemoryFormat::ChannelsLast);
  batch.targets = batch.plain = torch::randint(kClasses, {samples}, on.dtype(torch::kLong));
  batch.facts.kind = {.channels = 3, .height = kResolution, .width = kResolution, .classes = kClasses};
  batch.facts.global = batch.facts.local = {0, samples};
  return batch;
}

}  // namespace

struct GpuWork::Steps {
  virtual ~Steps() = default;
  virtual void run() = 0;
  virtual void wait() = 0;
  virtual bool record(bool /*on*/) { return false; }
};

namespace {

// As anyone would write it, with no part of Ronde between ranks.
struct Alone : GpuWork::Steps {
  explicit Alone(const RankOptions& options)
      : stream(torch::Device(torch::kCUDA, 0)), batch(random_batch(options.batch, stream.device())) {
    torch::manual_seed(0);
    network =
        models::make_model({.name = options.model, .classes = kClasses, .height = kResolution, .width = kResolution});
    network->to(stream.device());
    models::to_channels_last(*network);
    sgd =
        std::make_unique<train::FusedSgd>(network->parameters(), torch::optim::SGDOptions(kLearningRate).momentum(0.9));
  }

  void step() {
    sgd->zero_grad();
    const auto output = train::forward_in(train::Precision::BF16, *network, batch.inputs);
    torch::nn::functional::cross_entropy(output, batch.targets).backward();
    sgd->step();
  }

  void run() override {
    if (taken < kWarmUps) {
      step();
    } else {
      if (taken == kWarmUps) {
        sgd->prepare_step();
        graph.record([&] { step(); });
        sgd->captured();
      }
      sgd->prepare_step();
      graph.launch();
      sgd->replayed();
    }
    ++taken;
  }
  void wait() override { stream.synchronize(); }

  train::TrainingStream stream;
  train::StepBatch batch;
  std::shared_ptr<models::Network> network;
  std::unique_ptr<train::FusedSgd> sgd;
  train::StepGraph graph;
  int taken = 0;
};

struct Ours : GpuWork::Steps {
  Ours(const RankOptions& options, const std::shared_ptr<comm::Bootstrap>& bootstrap)
      : folder(std::filesystem::temp_directory_path() / ("ronde-bench-" + std::to_string(::getpid()))),
        settings(options.variant == "gpu_traced" ? with_trace(settings_for(options)) : settings_for(options)),
        session(settings, std::make_unique<Lent>(bootstrap)),
        stream(session.device()),
        task(train::make_task(session)),
        learner(session, task),
        batch(random_batch(options.batch, session.device())) {
    record(false);
  }
  ~Ours() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  Settings with_trace(Settings with) const {
    with.set("trace.dir", folder.string(), "bench");
    return with;
  }

  void run() override {
    session.begin_step(taken + 1);
    learner.step(++taken, batch);
    learner.finished(1);
  }
  void wait() override {
    while (learner.finished()) {
    }
    stream.synchronize();
  }
  bool record(bool on) override {
    if (!session.recorder()) return false;
    on ? session.recorder()->start() : session.recorder()->stop();
    return true;
  }

  const std::filesystem::path folder;
  const Settings settings;
  Session session;
  train::TrainingStream stream;
  train::Task task;
  train::Learner learner;
  train::StepBatch batch;
  std::int64_t taken = 0;
};

std::unique_ptr<GpuWork::Steps> steps_for(const RankOptions& options,
                                          const std::shared_ptr<comm::Bootstrap>& bootstrap) {
  train::apply_device_settings(train::training_options(options.settings));
  if (options.variant == "gpu_alone") return std::make_unique<Alone>(options);
  if (options.variant == "gpu" || options.variant == "gpu_eager" || options.variant == "gpu_traced")
    return std::make_unique<Ours>(options, bootstrap);
  throw Error::bad_input("--variant {}: unknown variant of a training step on a GPU", options.variant);
}

}  // namespace

GpuWork::GpuWork(const RankOptions& options, std::shared_ptr<comm::Bootstrap> bootstrap) {
  device::require_gpu(0);
  steps_ = steps_for(options, bootstrap);
  steps_->run();
  steps_->wait();
  first_us_ = process_age_us();
  for (int i = 0; i < kWarmUps + 2; ++i) steps_->run();
  steps_->wait();
}

GpuWork::~GpuWork() = default;

double GpuWork::time(const Command& command) {
  for (int i = 0; i < command.warm_up; ++i) steps_->run();
  steps_->wait();
  std::vector<double> batches;
  for (int batch = 0; batch < command.batches; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < command.rounds; ++i) steps_->run();
    steps_->wait();
    batches.push_back(microseconds(Clock::now() - begin) / command.rounds);
  }
  return median(std::move(batches));
}

double GpuWork::answer(const Command& command) {
  if (command.what == "first") return first_us_;
  if (command.what == "step") return time(command);
  if (command.what != "recorded" || !steps_->record(true))
    throw Error::bad_input("a rank of 'ronde bench train --device cuda' cannot time '{}'", command.what);
  const double recorded = time(command);
  steps_->record(false);
  return recorded;
}

}  // namespace ronde::bench::detail
