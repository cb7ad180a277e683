// A small training with a fault put in on purpose, for tests of `ronde report`: report_fault KIND, under `ronde run`,
// with RONDE_TRACE_DIR set.
//   healthy      none
//   slow-rank    rank 1 computes four times as long
//   slow-input   the step `augment` of the input sleeps, much longer than a small network computes
//   slow-link    everything that the link does begins 5 ms later
//   rank0-eval   rank 0 evaluates alone, as long as ten steps compute, and the others wait
//   late-bucket  all gradients travel in one bucket, which is complete at the end of the backward pass
//   fails        rank 1 ends by an exception after 20 steps
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/engine/engine_hooks.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/random.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/trace/span.h"
#include "ronde/train/input/input.h"
#include "ronde/train/session.h"
#include "ronde/train/session/trace_facts.h"

namespace {

using namespace ronde;
using std::chrono::nanoseconds;

constexpr std::int64_t kSteps = 40, kClasses = 10, kWidth = 512;

// What is wrong, and where.
struct Fault {
  double longer = 0;                         // this rank computes so much longer, as a share
  nanoseconds per_sample{0};                 // that the input sleeps
  nanoseconds link{0};                       // that the link is late
  std::int64_t alone_every = 0;              // steps after which rank 0 evaluates; 0: never
  std::int64_t fails_after = 0;              // steps after which this rank throws; 0: never
  std::int64_t width = kWidth, batch = 256;  // of the network, and of all ranks
  std::vector<Settings::Flag> settings = {};
};

Fault fault_of(const std::string& kind, int rank) {
  using std::chrono::milliseconds;
  if (kind == "healthy") return {};
  if (kind == "slow-rank") return {.longer = rank == 1 ? 3.0 : 0};
  if (kind == "slow-input") return {.per_sample = std::chrono::microseconds(300), .width = 64};
  if (kind == "slow-link") return {.link = milliseconds(5)};
  if (kind == "rank0-eval") return {.alone_every = 10};
  if (kind == "fails") return {.fails_after = rank == 1 ? 20 : 0};
  if (kind == "late-bucket")
    return {
        .width = 2048, .batch = 32, .settings = {{"comm.first_bucket_bytes", "1GiB"}, {"comm.fusion_bytes", "1GiB"}}};
  throw Error::bad_input("report_fault {}: there is no such fault", kind);
}

Settings settings_of(const Fault& fault) {
  std::vector<Settings::Flag> flags = {{"model.name", "mlp"},
                                       {"data.name", "random"},
                                       {"data.threads", "1"},
                                       {"train.batch", std::to_string(fault.batch)}};
  flags.insert(flags.end(), fault.settings.begin(), fault.settings.end());
  return Settings::load(Environment::of_process(), flags);
}

struct NetImpl : torch::nn::Module {
  explicit NetImpl(std::int64_t width) {
    for (int i = 0; i < 4; ++i) {
      layers->push_back(torch::nn::Linear(width, width));
      layers->push_back(torch::nn::ReLU());
    }
    layers->push_back(torch::nn::Linear(width, kClasses));
    register_module("layers", layers);
  }
  torch::Tensor forward(const torch::Tensor& inputs) { return layers->forward(inputs); }
  torch::nn::Sequential layers;
};
TORCH_MODULE(Net);

// Noise, and a class that can be told from it.
data::Sample sample_of(std::int64_t index, std::int64_t width) {
  data::Array values(data::Type::F32, {width});
  const data::Random random(7, static_cast<std::uint64_t>(index));
  const std::int64_t label = index % kClasses;
  const std::span<float> all = values.values<float>();
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(random.at(i) >> 40U) * 0x1p-24F + (static_cast<std::int64_t>(i) == label ? 2.0F : 0.0F);
  data::Sample sample;
  sample.set("values", std::move(values));
  sample.set("class", data::Array::scalar<std::int64_t>(label));
  return sample;
}

data::Dataset samples_for(const Session& session, const Fault& fault) {
  const auto augment = [sleep = fault.per_sample](data::Sample sample) {
    if (sleep.count() > 0) std::this_thread::sleep_for(sleep);
    return sample;
  };
  return data::function(fault.batch * kSteps, [width = fault.width](std::int64_t i) { return sample_of(i, width); }) |
         data::global_batch(fault.batch) | data::shard(session.rank(), session.size()) |
         data::map(augment, {.name = "augment", .threads = 1}) | data::prefetch(2);
}

torch::Tensor tensor_of(const data::Sample& batch, const char* name, torch::ScalarType type) {
  const data::Array& array = batch.at(name);
  const std::vector<std::int64_t> shape(array.shape().begin(), array.shape().end());
  return torch::from_blob(const_cast<void*>(array.data()), shape, type);
}

void spin(nanoseconds time) {
  for (const auto until = monotonic_now() + time; monotonic_now() < until;) {
  }
}

// One rank's part of the training.
class Training {
 public:
  Training(const Session& session, const Fault& fault)
      : session_(session), fault_(fault), net_(fault.width), sgd_(net_->parameters(), torch::optim::SGDOptions(0.01)) {
    optimizer_.emplace(sgd_, parallel::named(*net_), session.world());
    broadcast_parameters(*net_, session.world());
  }

  void run() {
    trace::Recorder* recorder = session_.recorder();
    if (!recorder) throw Error::bad_input("report_fault: set RONDE_TRACE_DIR, or there is nothing to look at");
    data::Pipeline pipeline = samples_for(session_, fault_).open(train::pipeline_of(session_));
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      recorder->step(step);
      const auto batch = pipeline.next();
      if (!batch) throw Error(Error::Kind::Bug, "the samples have ended too early");
      learn(*batch);
      if (step == fault_.fails_after) throw std::runtime_error("report_fault: this rank was told to fail");
      if (fault_.alone_every > 0 && step % fault_.alone_every == 0) {
        recorder->end_step();
        evaluate_alone(*batch);
      }
    }
    recorder->end_step();
    train::trace_input(session_, pipeline.stages(), pipeline.skipped());
    if (session_.rank() == 0)
      recorder->set_metadata("job", train::job_text(session_.settings(), {.parameters = parameters(), .threads = 1}));
  }

 private:
  void learn(const data::Sample& batch) {
    const torch::Tensor inputs = tensor_of(batch, "values", torch::kFloat32);
    const torch::Tensor classes = tensor_of(batch, "class", torch::kInt64);
    optimizer_->zero_grad();
    torch::Tensor loss;
    const auto begin = monotonic_now();
    nanoseconds spun{0};
    {
      RONDE_SPAN("forward");
      loss = torch::cross_entropy_loss(net_->forward(inputs), classes);
      spun = nanoseconds(static_cast<std::int64_t>(fault_.longer * static_cast<double>(computing_.count())));
      spin(spun);
    }
    {
      RONDE_SPAN("backward");
      loss.backward();
    }
    computing_ = monotonic_now() - begin - spun;
    optimizer_->step();
  }

  void evaluate_alone(const data::Sample& batch) {
    if (session_.rank() == 0) {
      RONDE_SPAN("evaluate");
      const torch::NoGradGuard no_grad;
      const torch::Tensor inputs = tensor_of(batch, "values", torch::kFloat32);
      for (const auto until = monotonic_now() + 10 * computing_; monotonic_now() < until;) net_->forward(inputs);
    }
    session_.world().barrier().wait();
  }

  std::int64_t parameters() const {
    std::int64_t count = 0;
    for (const auto& parameter : net_->parameters()) count += parameter.numel();
    return count;
  }

  const Session& session_;
  const Fault fault_;
  Net net_;
  torch::optim::SGD sgd_;
  std::optional<DistributedOptimizer> optimizer_;
  nanoseconds computing_{0};  // in the step before, without what was spun
};

}  // namespace

int main(int count, char** words) try {
  const std::string kind = count == 2 ? words[1] : "";
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const Fault everywhere = fault_of(kind, 0);
  Session session(settings_of(everywhere), [&](auto bootstrap, auto options) {
    return comm::detail::make_engine(std::move(bootstrap), std::move(options), {.link_delay = everywhere.link});
  });
  Training(session, fault_of(kind, session.rank())).run();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
