#include "ronde/train/gpu/graphed_step.h"

#include <sstream>

#include <ATen/cuda/Sleep.h>
#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"
#include "ronde/device/device.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/train/gpu/step_graph.h"
#include "ronde/train/loop/training_stream.h"

// What a GPU is needed for: steps that are recorded, alone and between ranks.
namespace ronde::train {
namespace {

const torch::Device kGpu(torch::kCUDA, 0);

class GpuGraphs : public testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
  }
};

// What a step is told, and what it may say against being recorded.
struct Hooked {
  GraphedStep::Hooks all() {
    return {.prepare = [] {},
            .recorded = [] {},
            .launched = [this] { ++launched; },
            .fix_exchange = [this](bool on) { fixed = on; },
            .why_not_fixed = [this] { return why_not; },
            .given_up = [this] { ++given_up; }};
  }
  std::string why_not = {};
  bool fixed = false;
  int launched = 0, given_up = 0;
  std::vector<bool> was_fixed = {};  // in each run of the work
};

StepBatch batch_of(double value) {
  StepBatch batch;
  batch.inputs = torch::full({4, 8}, value, kGpu);
  batch.targets = batch.plain = torch::zeros({4}, torch::device(kGpu).dtype(torch::kLong));
  batch.facts.global = batch.facts.local = {0, 4};
  return batch;
}

TEST_F(GpuGraphs, AreLaunchedWithTheBatchOfTheirStep) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    GraphedStep step(engine.world(), Log(), /*insists=*/true);
    Hooked hooked;
    const auto work = [&](const StepBatch& batch) {
      hooked.was_fixed.push_back(hooked.fixed);
      return batch.inputs.sum().to(torch::kFloat64).view({1});
    };
    for (int i = 1; i <= 8; ++i)
      EXPECT_EQ(step.run(batch_of(i), StepKind::Ordinary, work, hooked.all()).cpu().item<double>(), 32.0 * i)
          << "step " << i;
    EXPECT_EQ(hooked.was_fixed, (std::vector<bool>{false, false, true, true})) << "the last as it is, and the recorded";
    EXPECT_EQ(hooked.launched, 5);
    EXPECT_FALSE(hooked.fixed);
  });
}

// Steps 3, 6 ... measure: they give twice the sum, by memory that they need only while they run.
struct ByTurns {
  explicit ByTurns(comm::Engine& engine) : step(engine.world(), Log({.stream = &text}), /*insists=*/false) {}

  void run(int steps) {
    for (int i = 1; i <= steps; ++i) {
      const bool measured = i % 3 == 0;
      const auto work = [&](const StepBatch& batch) {
        hooked.was_fixed.push_back(hooked.fixed);
        const torch::Tensor large = batch.inputs.sum() * torch::ones({1 << 20}, kGpu) * (measured ? 2 : 1);
        if (measured && unrecordable) (void)large.sum().item<float>();
        return large.to(torch::kFloat64).mean().view({1});
      };
      const double found = step.run(batch_of(i), measured ? StepKind::Measured : StepKind::Ordinary, work, hooked.all())
                               .cpu()
                               .item<double>();
      EXPECT_EQ(found, 32.0 * i * (measured ? 2 : 1)) << "step " << i;
    }
  }

  std::ostringstream text;
  Hooked hooked;
  bool unrecordable = false;
  GraphedStep step;
};

TEST_F(GpuGraphs, HaveARecordingOfEachKindOfSteps) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    ByTurns turns(engine);
    turns.run(15);
    // 1, 2 and 3 as they are; 4 warms up, 5 is recorded; 6, which measures as 3 did, is recorded too.
    EXPECT_EQ(turns.hooked.was_fixed, (std::vector<bool>{false, false, false, true, true, true}));
    EXPECT_EQ(turns.hooked.launched, 11);
    EXPECT_EQ(turns.hooked.given_up, 0);
    EXPECT_EQ(turns.text.str(), "");
  });
}

TEST_F(GpuGraphs, StayWhereAnotherKindCannotBeRecorded) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    ByTurns turns(engine);
    turns.unrecordable = true;
    turns.run(15);
    EXPECT_EQ(turns.hooked.launched, 7) << "5, 7, 8, 10, 11, 13 and 14";
    EXPECT_EQ(turns.hooked.given_up, 0);
    EXPECT_NE(turns.text.str().find("measured steps are launched kernel by kernel"), std::string::npos)
        << turns.text.str();
  });
}

void expect_ordinary_steps(comm::Engine& engine, Hooked& hooked, bool reads, std::size_t runs, const std::string& why) {
  const TrainingStream stream(kGpu);
  std::ostringstream text;
  GraphedStep step(engine.world(), Log({.stream = &text}), /*insists=*/false);
  const auto work = [&](const StepBatch& batch) {
    const torch::Tensor sum = batch.inputs.sum();
    hooked.was_fixed.push_back(hooked.fixed);
    if (reads) (void)sum.item<float>();  // a recording does not bear that
    return sum.to(torch::kFloat64).view({1});
  };
  for (int i = 1; i <= 8; ++i)
    EXPECT_EQ(step.run(batch_of(i), StepKind::Ordinary, work, hooked.all()).cpu().item<double>(), 32.0 * i)
        << "step " << i;
  EXPECT_EQ(hooked.was_fixed.size(), runs);
  EXPECT_EQ(hooked.launched, 0);
  EXPECT_EQ(hooked.given_up, 1);
  EXPECT_FALSE(hooked.fixed);
  const std::string said = "steps are launched kernel by kernel, because a step cannot be recorded: " + why;
  EXPECT_EQ(text.str().find(said) != std::string::npos, engine.rank() == 0) << text.str();
}

TEST_F(GpuGraphs, WhereOneRankCannotRecordNoneDoes) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Hooked hooked;
    const bool reads = engine.rank() == 1;
    expect_ordinary_steps(engine, hooked, reads, 9, "rank 1: ");  // eight, and the attempt
  });
}

TEST_F(GpuGraphs, WhereOneRankCannotFixItsExchangeNoneDoes) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Hooked hooked;
    if (engine.rank() == 1) hooked.why_not = "'w' has no gradient";
    expect_ordinary_steps(engine, hooked, false, 8, "rank 1: 'w' has no gradient");
    EXPECT_EQ(hooked.was_fixed, std::vector<bool>(8, false));
  });
}

struct Learning {
  explicit Learning(const comm::Group& group)
      : network(torch::nn::Linear(8, 16), torch::nn::Tanh(), torch::nn::Linear(16, 3)) {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : network->parameters())
      parameter.copy_(torch::linspace(-0.2, 0.3, parameter.numel()).view(parameter.sizes()));
    network->to(kGpu);
    sgd = std::make_unique<torch::optim::SGD>(network->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    optimizer = std::make_unique<DistributedOptimizer>(*sgd, parallel::named(*network), group);
  }
  void step() {
    optimizer->zero_grad();
    network->forward(inputs).square().mean().backward();
    optimizer->clip_grad_norm_on_device(0.5);
    optimizer->step();
  }
  torch::nn::Sequential network;
  std::unique_ptr<torch::optim::SGD> sgd;
  std::unique_ptr<DistributedOptimizer> optimizer;
  torch::Tensor inputs = torch::linspace(-1, 1, 32).view({4, 8}).to(kGpu);
};

// Norms of gradients in a recorded step are those of one that is not, and its neighbour's work is left alone.
TEST_F(GpuGraphs, MeasureGradients) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    Learning usual(engine.world()), recorded(engine.world());
    StepGraph ordinary, measured;
    torch::Tensor norms;
    const auto measure = [](Learning& learning) {
      learning.optimizer->measure_gradients(true);
      learning.optimizer->zero_grad();
      learning.network->forward(learning.inputs).square().mean().backward();
      const torch::Tensor values = learning.optimizer->gradient_norm_values();
      learning.optimizer->step();
      learning.optimizer->measure_gradients(false);
      return values;
    };
    for (int i = 0; i < 12; ++i) {
      if (i % 3 != 2) {
        usual.step();
        if (i == 3) ordinary.record([&] { recorded.step(); });
        i < 3 ? recorded.step() : ordinary.launch();
        continue;
      }
      const torch::Tensor expected = measure(usual);
      if (i == 5) measured.record([&] { norms = measure(recorded); }, &ordinary);
      if (i < 5)
        norms = measure(recorded);
      else
        measured.launch();
      EXPECT_TRUE(torch::allclose(norms, expected, 1e-9)) << "step " << i << ": " << norms << expected;
      EXPECT_GT(norms[0].item<double>(), 0);
    }
    stream.synchronize();
    const auto expected = usual.network->parameters(), found = recorded.network->parameters();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], found[i])) << i;
  });
}

// A group that has met once.
comm::Group connected_group(comm::Engine& engine) {
  comm::Group group = engine.make_group({0});
  EXPECT_NE(group.why_not_nccl().find("no GPU buffer has been sent"), std::string::npos);
  const torch::Tensor one = torch::ones({1}, kGpu);
  comm::Request request{.name = "one"};
  request.input = parallel::buffer_of(one);
  request.stream = parallel::stream_of(one);
  group.run(std::move(request));
  return group;
}

comm::InStream averaged(std::size_t number, const std::vector<torch::Tensor>& tensors) {
  comm::InStream what{.number = number};
  what.op = comm::ReduceOp::Average;
  for (const torch::Tensor& tensor : tensors) what.buffers.push_back(parallel::buffer_of(tensor));
  return what;
}

// One rank, since there is one GPU: NCCL's part of it is recorded and launched all the same.
TEST_F(GpuGraphs, HaveTheExchangeOfGradientsInThem) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    const comm::Group group = connected_group(engine);
    if (!group.why_not_nccl().empty()) GTEST_SKIP() << group.why_not_nccl();
    Learning usual(group), recorded(group);
    group.reserve_in_stream({averaged(0, recorded.optimizer->buckets().at(0))});
    int exchanges = 0;
    const auto in_stream = [&](std::size_t number, const std::vector<torch::Tensor>& gradients,
                               const device::Event& made) {
      device::Event done(parallel::current_stream(kGpu));
      group.allreduce_in_stream(averaged(number, gradients), made, done);
      ++exchanges;
      return done;
    };
    {  // it begins after what makes its gradients, and no sooner ends
      const auto now = parallel::current_stream(kGpu);
      torch::Tensor late = torch::zeros({8}, kGpu);
      at::cuda::sleep(40'000'000);  // about 20 ms
      late.fill_(7);
      device::Event made(now);
      made.record(now);
      const device::Event done = in_stream(0, {late}, made);
      EXPECT_FALSE(done.ready());
      now.wait(done);
      EXPECT_EQ(late.sum().item<float>(), 56);
      EXPECT_TRUE(done.ready());
    }
    exchanges = 0;
    StepGraph graph;
    for (int i = 0; i < 8; ++i) {
      usual.step();
      if (i == 2) recorded.optimizer->reduce_by(in_stream);
      if (i == 4) graph.record([&] { recorded.step(); });
      i < 4 ? recorded.step() : graph.launch();
    }
    stream.synchronize();
    EXPECT_EQ(exchanges, 3) << "two as they are, one that is recorded";
    const auto expected = usual.network->parameters(), found = recorded.network->parameters();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], found[i])) << i;
    const torch::Tensor wrong = torch::ones({2}, torch::device(kGpu).dtype(torch::kInt16));
    const device::Event made(parallel::current_stream(kGpu));
    EXPECT_THROW(in_stream(0, {wrong}, made), Error) << "NCCL does not support i16";
    EXPECT_THROW(in_stream(0, {torch::ones({1000}, kGpu)}, made), Error) << "there is no room";
    EXPECT_THROW(in_stream(1, {torch::ones({1}, kGpu)}, made), Error) << "nobody has reserved it";
  });
}

// A member that does not come keeps a stream from getting any further; here, a kernel that sleeps does.
TEST_F(GpuGraphs, AreGivenUpWhenTheyGetNoFurther) {
  comm::EngineOptions options;
  options.stall_abort = std::chrono::milliseconds(500);
  const auto rank = [](comm::Engine& engine) {
    const TrainingStream stream(kGpu);
    const comm::Group group = connected_group(engine);
    if (!group.why_not_nccl().empty()) GTEST_SKIP() << group.why_not_nccl();
    const auto now = parallel::current_stream(kGpu);
    const auto launch = [&](double seconds) {
      at::cuda::sleep(static_cast<std::int64_t>(seconds * 2e9));  // about so long
      group.launched_in_stream(now);
    };
    for (int i = 0; i < 8; ++i) launch(0.1);  // longer together than may be waited for one
    now.synchronize();
    EXPECT_EQ(group.why_not_nccl(), "");
    launch(3);
    now.synchronize();
    EXPECT_NE(group.why_not_nccl().find("a launched step made no progress for"), std::string::npos)
        << group.why_not_nccl();
    group.launched_in_stream(now);  // changes nothing
  };
  comm::run_ranks(1, rank, options);
}

}  // namespace
}  // namespace ronde::train
