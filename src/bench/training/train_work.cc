#include "ronde/bench/training/train_work.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/bench/detail/lent.h"
#include "ronde/bench/detail/serve.h"
#include "ronde/bench/machine/pss.h"
#include "ronde/parallel/arena.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span_names.h"

namespace ronde::bench::detail {
namespace {

constexpr double kLearningRate = 0.01;
constexpr int kWatchedSteps = 5;  // the first ones still find their memory

}  // namespace

TrainWork::TrainWork(const RankOptions& options, std::shared_ptr<comm::Bootstrap> bootstrap)
    : bootstrap_(std::move(bootstrap)),
      fusion_bytes_(static_cast<double>(options.settings.get<"comm.fusion_bytes">())),
      traced_(options.variant == "traced") {
  const bool ours = options.variant == "ours" || options.variant == "ours_after" || traced_;
  if (!ours && options.variant != "alone" && options.variant != "alone_arena")
    throw Error::bad_input("--variant {}: unknown variant of a training step", options.variant);
  at::set_num_threads(1);
  if (options.variant != "alone") parallel::install_arena(parallel::arena_options(options.settings));
  if (traced_) start_recorder();
  if (ours) {
    comm::EngineOptions engine_options = bench_engine_options(options.settings);
    engine_options.recorder = recorder_.get();
    engine_ = std::make_unique<comm::Engine>(std::make_unique<Lent>(bootstrap_), std::move(engine_options));
  }
  work_ = workload_of(options, bootstrap_->rank());
  sgd_ = std::make_unique<torch::optim::SGD>(work_.network->parameters(), kLearningRate);
  if (!ours) return;
  memory_ = std::make_unique<parallel::GradientMemory>(
      *engine_, parallel::GradientMemoryOptions{.sizes = parallel::sizes_of(work_.network->parameters())});
  optimizer_ = std::make_unique<parallel::DistributedOptimizer>(
      *sgd_, parallel::named(*work_.network), engine_->world(),
      parallel::DistributedOptions{.overlap = options.variant != "ours_after"});
}

TrainWork::~TrainWork() {
  optimizer_.reset();
  memory_.reset();
  engine_.reset();  // its thread records until it ends
  scope_.reset();
  recorder_.reset();
  std::error_code ignored;
  if (traced_) std::filesystem::remove(trace_, ignored);
}

void TrainWork::start_recorder() {
  trace_ = std::filesystem::temp_directory_path() / fmt::format("ronde-bench-{}.perfetto-trace", getpid());
  recorder_ = std::make_unique<trace::Recorder>(
      trace::RecorderOptions{.file = trace_, .rank = bootstrap_->rank(), .started = false});
  scope_.emplace(*recorder_, "training");
}

double TrainWork::answer(const Command& command) {
  if (command.what == "fusion_bytes") return fusion_bytes_;
  if (command.what == "pss") {
    const PssPeak peak;
    for (int i = 0; i < kWatchedSteps; ++i) step();
    return worst(static_cast<double>(peak.bytes()));
  }
  const bool recorded = command.what == "recorded";
  if (recorded && !traced_) throw Error(Error::Kind::Bug, "only a traced variant can be recorded");
  if (recorded) recorder_->start();
  const double time = time_rounds(command, [this] { step(); });
  if (recorded) recorder_->stop();
  if (optimizer_) check_weights();
  return worst(time);
}

// With the spans that `ronde train` has.
void TrainWork::step() {
  if (recorder_) recorder_->step(++steps_);
  if (optimizer_) {
    optimizer_->zero_grad();
  } else {
    sgd_->zero_grad();
  }
  torch::Tensor loss;
  {
    RONDE_SPAN(trace::span_names::kForward);
    loss = work_.loss(work_.network->forward(work_.inputs), work_.targets);
  }
  {
    RONDE_SPAN(trace::span_names::kBackward);
    const parallel::GradientScope scope(memory_.get());
    loss.backward();
  }
  if (optimizer_) {
    optimizer_->step();
  } else {
    sgd_->step();
  }
}

double TrainWork::worst(double mine) {
  for (const std::string& theirs : bootstrap_->exchange(fmt::format("{}", mine), Deadline()))
    mine = std::max(mine, parse_number<double>(theirs).value_or(0.0));
  return mine;
}

// Ranks that have seen different data agree only if they have exchanged all gradients.
void TrainWork::check_weights() {
  const torch::NoGradGuard no_grad;
  double sum = 0.0;
  for (const torch::Tensor& weights :
       work_.network->parameters()) {  // in place: tensors of its own would count as memory
    const auto* values = weights.const_data_ptr<float>();
    for (std::int64_t i = 0; i < weights.numel(); ++i) sum += std::abs(static_cast<double>(values[i]));
  }
  for (const std::string& theirs : bootstrap_->exchange(fmt::format("{}", sum), Deadline()))
    if (theirs != fmt::format("{}", sum))
      throw Error(Error::Kind::Bug, "ranks that train the same network have different weights");
}

}  // namespace ronde::bench::detail
