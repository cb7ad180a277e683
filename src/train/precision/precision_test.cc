#include "ronde/train/precision.h"
#include "ronde/base/settings/settings.h"

#include <cmath>
#include <set>

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/dataset.h"
#include "ronde/models/model.h"
#include "ronde/train/loop/learner.h"
#include "ronde/train/optim/finite.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using tests::distance;

TEST(Autocast, LeavesThingsAsTheyWere) {
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  {
    const Autocast autocast(Precision::BF16, torch::kCPU);
    EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_EQ(torch::ones({2, 2}).matmul(torch::ones({2, 2})).scalar_type(), torch::kBFloat16);
    const Autocast inner(Precision::F16, torch::kCPU);
    EXPECT_EQ(torch::ones({2, 2}).matmul(torch::ones({2, 2})).scalar_type(), torch::kFloat16);
  }
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  const Autocast none(Precision::F32, torch::kCPU);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

// Whatever a network is made of has a kernel for short types, forwards and backwards.
TEST(Precision, EveryKindOfNetworkRunsInIt) {
  torch::set_num_threads(1);
  for (const char* name : {"mlp", "lenet", "resnet20"})
    for (const Precision precision : {Precision::BF16, Precision::F16}) {
      torch::manual_seed(1);
      const auto network = models::make_model({.name = name, .classes = 10, .channels = 3});
      const auto inputs = torch::randn({2, 3, 32, 32});
      const auto outputs = forward_in(precision, *network, inputs);
      EXPECT_EQ(outputs.scalar_type(), torch::kFloat32) << "losses are computed in f32";
      const auto exact = network->forward(inputs);
      EXPECT_GT((outputs - exact).abs().max().item<double>(), 0) << "it was not computed in f32";
      EXPECT_LT((outputs - exact).abs().max().item<double>(), 0.15 * exact.abs().max().item<double>()) << name;
      outputs.sum().backward();
      for (const auto& item : network->named_parameters()) {
        EXPECT_EQ(item.value().scalar_type(), torch::kFloat32);
        EXPECT_EQ(item.value().grad().scalar_type(), torch::kFloat32) << "gradients travel, and add up, in f32";
      }
    }
}

// Samples that fit into f16, but for those in `beyond`.
class Spiked : public data::Source {
 public:
  explicit Spiked(std::set<std::int64_t> beyond, float spike = 1e9F) : beyond_(std::move(beyond)), spike_(spike) {}
  std::string name() const override { return "spiked"; }
  data::SampleKind kind() const override { return {.channels = 1, .height = 4, .width = 4, .classes = 2}; }
  std::int64_t size() const override { return 64; }
  void read(std::int64_t index, std::int64_t /*epoch*/, const data::SampleSpace& into) const override {
    for (std::size_t i = 0; i < into.features.size(); ++i)
      into.features[i] = std::sin(static_cast<float>(static_cast<std::size_t>(index) + i));
    if (beyond_.contains(index)) into.features[0] = spike_;
    into.classes[0] = index % 2;
  }

 private:
  const std::set<std::int64_t> beyond_;
  const float spike_;
};

struct Seen {
  std::vector<torch::Tensor> weights;  // of the first layer, after each step
  std::vector<double> scales;
  std::int64_t skipped = 0;
  std::int64_t samples = 0;  // that have a score
  bool buffers_finite = true;
};

// Learns without a shuffle, in batches of 8 on two ranks: of the first step, samples 0 to 3 are rank 0's and 4 to 7
// rank 1's, and so on.
//
// Where the optimizer is fused, overflows are decided where the gradients are, as on a GPU; otherwise by the host.
class ScaledLearning : public testing::TestWithParam<const char*> {
 protected:
  ScaledLearning() {
    set("optimizer.fused", GetParam());
    set("train.precision", "f16");
    set("memory.arena", "false");
    set("optimizer.lr", "0.01");
  }
  void set(std::string_view key, std::string_view text) { settings_.set(key, text, "test"); }

  // What each rank has seen. Throws what the lowest rank threw.
  std::vector<Seen> learn(const std::set<std::int64_t>& beyond, int steps) {
    std::vector<Seen> seen(2);
    comm::ThreadJob job(2);
    std::vector<std::exception_ptr> failures(2);
    {
      std::vector<std::jthread> ranks;
      for (std::size_t rank = 0; rank < 2; ++rank)
        ranks.emplace_back([&, rank] {
          try {
            const Session session(job.engine(static_cast<int>(rank), {.deterministic = true}), settings_);
            learn_on(session, beyond, steps, seen[rank]);
          } catch (...) {
            failures[rank] = std::current_exception();
          }
        });
    }
    for (const auto& failure : failures)
      if (failure) std::rethrow_exception(failure);
    return seen;
  }

  static void learn_on(const Session& session, const std::set<std::int64_t>& beyond, int steps, Seen& seen) {
    Task task;
    task.samples = std::make_unique<Spiked>(beyond);
    task.held_out = std::make_unique<Spiked>(beyond);
    task.network = std::make_shared<Small>();
    task.loss = task.plain_loss = models::make_loss({.sum = true});
    Learner learner(session, task);
    data::Pipeline batches =
        (data::from_source(*task.samples) | data::global_batch(8) | data::shard(session.rank(), 2) | data::repeat(100))
            .open();
    for (int step = 1; step <= steps; ++step) {
      learner.step(step, step_batch_of(std::move(*batches.next_batch()), task, session.device()));
      seen.samples += learner.finished()->score.samples;
      seen.weights.push_back(task.network->parameters().front().detach().clone());
      seen.scales.push_back(learner.scaler()->scale);
      seen.skipped = learner.scaler()->skipped;
    }
    for (const auto& buffer : task.network->buffers()) seen.buffers_finite = seen.buffers_finite && all_finite(buffer);
  }

  // A layer, a norm, a layer; the same weights every time.
  struct Small : models::Network {
    Small() {
      first = register_module("first", torch::nn::Linear(16, 8));
      norm = register_module("norm", torch::nn::BatchNorm1d(8));
      last = register_module("last", torch::nn::Linear(8, 2));
      const torch::NoGradGuard no_grad;
      double value = 0;
      for (auto& parameter : parameters())
        parameter.copy_(torch::linspace(-0.5, 0.5 + (value += 0.1), parameter.numel()).view(parameter.sizes()));
    }
    torch::Tensor forward(torch::Tensor input) override { return last(norm(first(input.flatten(1))).relu()); }
    torch::nn::Linear first{nullptr}, last{nullptr};
    torch::nn::BatchNorm1d norm{nullptr};
  };

  Settings settings_ = [] {
    Settings usual;
    usual.set("train.device", "cpu", "test");
    return usual;
  }();
};

bool same(const torch::Tensor& a, const torch::Tensor& b) {
  return torch::equal(a, b);
}

// Sample 12 is in the second batch, in the part of rank 1 alone.
TEST_P(ScaledLearning, AnOverflowOnOneRankIsSkippedOnAll) {
  const auto seen = learn({12}, 4);
  for (const Seen& mine : seen) {
    EXPECT_TRUE(same(mine.weights[1], mine.weights[0])) << "the second step is skipped";
    EXPECT_FALSE(same(mine.weights[2], mine.weights[1])) << "the third is not";
    EXPECT_EQ(mine.scales, (std::vector<double>{65536, 32768, 32768, 32768}));
    EXPECT_EQ(mine.skipped, 1);
    EXPECT_TRUE(mine.buffers_finite) << "running means know nothing of the skipped step";
  }
  for (int step = 0; step < 4; ++step)
    EXPECT_TRUE(same(seen[0].weights[static_cast<std::size_t>(step)], seen[1].weights[static_cast<std::size_t>(step)]))
        << step;
  EXPECT_EQ(seen[0].samples, 16);
  EXPECT_EQ(seen[1].samples, 12) << "what overflowed has no score";
}

TEST_P(ScaledLearning, IsSkippedOnAllHoweverGradientsTravel) {
  for (const char* compression : {"f16", "bf16"}) {
    set("train.compression", compression);
    set("train.accumulate", "2");
    set("train.clip_norm", "0.1");
    const auto seen = learn({12}, 3);
    for (std::size_t step = 0; step < 3; ++step) EXPECT_TRUE(same(seen[0].weights[step], seen[1].weights[step]));
    EXPECT_EQ(seen[0].scales, seen[1].scales);
    EXPECT_TRUE(same(seen[0].weights[1], seen[0].weights[0])) << compression;
  }
}

// With a power of two as scale nothing but the overflow differs: the same steps as with another one.
TEST_P(ScaledLearning, TheScaleDoesNotShow) {
  set("train.clip_norm", "0.5");
  set("train.loss_scale", "1024");
  const auto some = learn({}, 6);
  set("train.loss_scale", "4096");
  const auto more = learn({}, 6);
  EXPECT_EQ(more[0].scales.back(), 4096);
  EXPECT_LT((some[0].weights.back() - more[0].weights.back()).abs().max().item<double>(), 1e-5);
  EXPECT_GT((some[0].weights.back() - some[0].weights.front()).abs().max().item<double>(), 1e-3);
}

TEST_P(ScaledLearning, GivesUpWhenEveryStepOverflows) {
  std::set<std::int64_t> all;
  for (std::int64_t i = 0; i < 64; ++i) all.insert(i);
  try {
    learn(all, 40);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("gradients overflow in f16 in step 30, the last of 30 in a row"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find("the first tensor that is not finite is"), std::string::npos) << error.message();
  }
}

// The scale goes through a checkpoint, and so does how far it is to the next one.
class ScaledTrainings : public tests::Trainings, public testing::WithParamInterface<const char*> {};

TEST_P(ScaledTrainings, GoOnBitForBit) {
  set("optimizer.fused", GetParam());
  set("train.precision", "f16");
  set("train.loss_scale", "0");
  begin_again();
  train(2);
  const TensorMap expected = weights();
  const auto scale = [&] {
    return load_newest_checkpoint(folder_ / "out" / "checkpoints")->info.extra.at("loss_scale");
  };
  const std::string expected_scale = scale();
  begin_again();
  set("train.steps", "5");
  train(2);
  EXPECT_NE(scale(), expected_scale) << "it counts steps";
  set("train.steps", "0");
  train(2);
  EXPECT_EQ(scale(), expected_scale);
  EXPECT_EQ(distance(expected, weights()), 0);
}

TEST_P(ScaledTrainings, LearnAboutAsInF32) {
  set("optimizer.fused", GetParam());
  begin_again();
  const double exact = train(2).score.mean_loss();
  for (const char* precision : {"bf16", "f16"}) {
    set("train.precision", precision);
    if (precision == std::string_view("f16")) set("train.loss_scale", "64");  // small enough for all steps
    begin_again();
    EXPECT_NEAR(train(2).score.mean_loss(), exact, 0.02 * exact) << precision;
  }
}

std::string decided_by(const testing::TestParamInfo<const char*>& info) {
  return info.param == std::string_view("on") ? "Device" : "Host";
}
INSTANTIATE_TEST_SUITE_P(Decided, ScaledLearning, testing::Values("off", "on"), decided_by);
INSTANTIATE_TEST_SUITE_P(Decided, ScaledTrainings, testing::Values("off", "on"), decided_by);

}  // namespace
}  // namespace ronde::train
