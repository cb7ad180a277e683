#include "ronde/parallel/memory_watch.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ronde/parallel/arena.h"

namespace ronde::parallel {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class Watching : public testing::Test {
 protected:
  Watching() { install_arena(); }
  ~Watching() override { uninstall_arena(); }
};

torch::Tensor mebibytes(std::int64_t count) {
  return torch::empty({count * kMiB}, torch::kUInt8);
}

std::uint64_t most(const std::vector<MemoryMark>& marks) {
  return std::ranges::max(marks, {}, &MemoryMark::peak).peak;
}

TEST_F(Watching, SeesWhatOperationsTakeAndGiveBack) {
  const std::uint64_t before = arena_statistics().in_use;
  MemoryWatch watch;
  torch::Tensor kept = mebibytes(3);
  { const torch::Tensor passing = mebibytes(5); }
  const auto marks = watch.take();
  ASSERT_GE(marks.size(), 2u);
  EXPECT_GE(most(marks), before + 8 * kMiB);
  EXPECT_LT(most(marks), before + 9 * kMiB);
  EXPECT_GE(marks.back().in_use, before + 3 * kMiB);
  EXPECT_LT(marks.back().in_use, before + 4 * kMiB);
  mebibytes(1);
  EXPECT_LT(most(watch.take()), before + 5 * kMiB);  // what went before is forgotten
}

TEST_F(Watching, SeesTheBackwardPass) {
  torch::Tensor weight = torch::ones({kMiB}).requires_grad_();  // 4 MiB
  const torch::Tensor loss = (weight * 2).exp().sum();
  const std::uint64_t before = arena_statistics().in_use;
  MemoryWatch watch;
  loss.backward();
  const auto marks = watch.take();
  EXPECT_GT(marks.size(), 3u);
  EXPECT_GE(most(marks), before + 4 * kMiB);      // a gradient while exp() still keeps its result,
  EXPECT_LT(marks.back().in_use, before + kMiB);  // which goes; the gradient stays
  EXPECT_GT(marks.back().in_use, before - kMiB);
}

TEST_F(Watching, ThePeakOfTheProcessSurvives) {
  const std::uint64_t before = arena_statistics().peak;
  {
    MemoryWatch watch;
    const torch::Tensor large = torch::empty({static_cast<std::int64_t>(before) + kMiB}, torch::kUInt8);
  }
  EXPECT_GT(arena_statistics().peak, before);
  const std::uint64_t higher = arena_statistics().peak;
  { MemoryWatch watch; }
  EXPECT_EQ(arena_statistics().peak, higher);
}

}  // namespace
}  // namespace ronde::parallel
