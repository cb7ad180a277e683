#include "ronde/train/loop/noise_scale.h"

#include <cmath>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"
#include "ronde/data/order/batch_plan.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"

namespace ronde::train {
namespace {

TEST(NoiseScale, IsExactForExpectedNorms) {
  // |G|^2 = 4, S = 600; parts of 8 and 24 samples.
  NoiseScale scale;
  EXPECT_FALSE(scale.value());
  scale.add({}, 32);
  EXPECT_FALSE(scale.value()) << "nothing was measured";
  for (int i = 0; i < 3; ++i) {
    scale.add(
        {.small = (4 + 600 / 8.0) + (4 + 600 / 24.0), .inverse = 1 / 8.0 + 1 / 24.0, .parts = 2, .big = 4 + 600 / 32.0},
        32);
    EXPECT_NEAR(*scale.value(), 150, 1e-9);
  }
  scale.add({.small = std::numeric_limits<double>::infinity(), .inverse = 1, .parts = 2, .big = 1}, 32);
  scale.add({.small = 1, .inverse = 1.0 / 32, .parts = 1, .big = 1}, 32);  // the part is the whole
  EXPECT_NEAR(*scale.value(), 150, 1e-9);
}

TEST(NoiseScale, SaysNothingWhileTheGradientIsLostInNoise) {
  NoiseScale scale;
  scale.add({.small = 20, .inverse = 1 / 8.0, .parts = 1, .big = 5}, 16);
  EXPECT_FALSE(scale.value());
}

TEST(NoiseScale, ForgetsWhatIsLongAgo) {
  NoiseScale scale;
  const auto add = [&](double noise, int times) {
    for (int i = 0; i < times; ++i)
      scale.add({.small = 1 + noise / 8, .inverse = 1 / 8.0, .parts = 1, .big = 1 + noise / 16}, 16);
  };
  add(100, 500);
  add(1000, 500);
  EXPECT_NEAR(*scale.value(), 1000, 10);
}

TEST(NoiseScale, HasAtMostTwoDigits) {
  EXPECT_EQ(noise_text(0), "batches up to about 1 would still train efficiently");
  EXPECT_EQ(noise_text(7.4), "batches up to about 7 would still train efficiently");
  EXPECT_EQ(noise_text(1234), "batches up to about 1,200 would still train efficiently");
  EXPECT_EQ(noise_text(98765), "batches up to about 99,000 would still train efficiently");
  EXPECT_EQ(noise_text(99999), "batches up to about 100,000 would still train efficiently");
}

TEST(NoiseScale, OfALossThatIsSummed) {
  // Six of 24 samples on one of three ranks: losses are multiplied by 3 / 24.
  const NoiseSums sums = noise_sums(/*local=*/5 * std::pow(6 * 3 / 24.0, 2), /*reduced=*/2, 6, 3 / 24.0);
  EXPECT_DOUBLE_EQ(sums.small, 5);
  EXPECT_DOUBLE_EQ(sums.inverse, 1 / 6.0);
  EXPECT_EQ(sums.big, 2);
  EXPECT_EQ(noise_sums(0, 2, 0, 1).parts, 0) << "a rank without samples";
}

// A quadratic with known noise: sample x, drawn around m with variance 1 in each of d dimensions, has the loss
// |w - x|^2 / 2. Its gradient has the mean w - m and the covariance 1, so the noise scale is d / |w - m|^2.
double measured(int ranks, std::int64_t batch, int passes, double truth) {
  constexpr std::int64_t kDimensions = 1000;
  NoiseScale scale;
  const double offset = std::sqrt(1 / truth);  // w - m, in each dimension
  comm::run_ranks(ranks, [&](comm::Engine& engine) {
    torch::Tensor w = torch::full({kDimensions}, offset, torch::kFloat64).requires_grad_();
    torch::optim::SGD sgd({w}, torch::optim::SGDOptions(0.0));
    DistributedOptimizer optimizer(sgd, {{"w", w}}, engine.world(), {.accumulate = passes});
    auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(engine.rank()));
    const data::Range share = data::share({0, batch}, engine.rank(), ranks);
    const double weight = ranks / static_cast<double>(batch);
    for (int step = 0; step < 200; ++step) {
      optimizer.zero_grad();
      optimizer.measure_gradients(true);
      std::int64_t first = 0;
      for (int pass = 0; pass < passes; ++pass) {
        const std::int64_t samples = data::share(share, pass, passes).size();
        if (pass == 0) first = samples;
        const auto x = torch::randn({samples, kDimensions}, generator, torch::kFloat64);
        ((w - x).square().sum() * (weight / 2)).backward();
      }
      const auto norms = optimizer.gradient_norms();
      const double size = static_cast<double>(ranks == 1 ? first : share.size());
      const NoiseSums mine = noise_sums(norms.local, norms.reduced, size, weight);
      const auto sums =
          parallel::average(torch::tensor({mine.small, mine.inverse, mine.parts, mine.big}, torch::kFloat64),
                            engine.world()) *
          ranks;
      if (engine.rank() == 0)
        scale.add({sums[0].item<double>(), sums[1].item<double>(), sums[2].item<double>(), sums[3].item<double>()},
                  static_cast<double>(batch));
      optimizer.step();
    }
  });
  return scale.value().value_or(0);
}

TEST(NoiseScale, OfAQuadraticWithKnownNoise) {
  torch::set_num_threads(1);
  EXPECT_NEAR(measured(2, 16, 1, 10), 10, 1);
  EXPECT_NEAR(measured(2, 16, 1, 50), 50, 5);
  EXPECT_NEAR(measured(3, 16, 1, 20), 20, 2);  // shares of 6, 5 and 5
  EXPECT_NEAR(measured(1, 16, 2, 20), 20, 2);  // the first of two passes stands for a part
}

}  // namespace
}  // namespace ronde::train
