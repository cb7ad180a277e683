#include "ronde/train/meter.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"

namespace ronde::train {
namespace {

TEST(Score, MeansAreOverSamplesNotBatches) {
  Score score{.loss = 2.0 * 3, .samples = 3, .top1 = 3, .top5 = 3};
  score += {.loss = 1.0 * 1, .samples = 1, .top1 = 0, .top5 = 1};
  EXPECT_DOUBLE_EQ(score.mean_loss(), 7.0 / 4);
  EXPECT_DOUBLE_EQ(score.accuracy(), 0.75);
  EXPECT_DOUBLE_EQ(score.accuracy5(), 1.0);
  EXPECT_EQ(Score{}.mean_loss(), 0) << "of nothing";
}

TEST(Score, CountsTheLikeliestAndTheFiveLikeliest) {
  const auto outputs = torch::arange(7, torch::kFloat32).repeat({7, 1});  // class 6 is the likeliest
  const Score score = score_of(outputs, torch::arange(7, torch::kInt64), 0.5);
  EXPECT_EQ(score, (Score{.loss = 3.5, .samples = 7, .top1 = 1, .top5 = 5}));
}

TEST(Score, FewerThanFiveClassesAreAllAmongTheFive) {
  const Score score = score_of(torch::tensor({{1.0, 2.0}, {1.0, 2.0}}), torch::tensor({0, 1}, torch::kInt64), 1);
  EXPECT_EQ(score, (Score{.loss = 2, .samples = 2, .top1 = 1, .top5 = 2}));
}

TEST(Score, TiesAndWhatIsNoNumberAreWrong) {
  const auto labels = torch::zeros({4}, torch::kInt64);
  EXPECT_EQ(score_of(torch::zeros({4, 10}), labels, 1).top1, 0);
  EXPECT_EQ(score_of(torch::full({4, 10}, std::nan("")), labels, 1).top5, 0);
}

TEST(Score, OfAnEmptyBatchIsNothing) {
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(score_of(torch::zeros({0, 10}), torch::zeros({0}, torch::kInt64), no_number), Score{});
}

TEST(SumOver, IsExactForShardsOfAnySize) {
  for (const int ranks : {1, 2, 3, 4}) {
    comm::run_ranks(ranks, [](comm::Engine& engine) {
      const std::int64_t mine = engine.rank() * 1'000'000'000'001;  // rank 0 has nothing
      const Score sum = sum_over(engine.world(), "test score",
                                 {.loss = 0.5 * engine.rank(), .samples = mine, .top1 = mine / 2, .top5 = mine});
      std::int64_t samples = 0, top1 = 0;
      double loss = 0;
      for (int rank = 0; rank < engine.size(); ++rank) {
        samples += rank * 1'000'000'000'001;
        top1 += rank * 1'000'000'000'001 / 2;
        loss += 0.5 * rank;
      }
      EXPECT_EQ(sum, (Score{.loss = loss, .samples = samples, .top1 = top1, .top5 = samples}));
    });
  }
}

}  // namespace
}  // namespace ronde::train
