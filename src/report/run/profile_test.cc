#include "ronde/report/run/profile.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/steps/operators.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kSecond = 1'000'000'000;

// Rank r, two steps of 10 s from 0 to 20 s:
//   forward 0..4 (+10), with layer1 1..3 and its conv 1..2 inside; backward 4..(8 + r) (+10)
trace::Run two_ranks() {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 0; step < 2; ++step) {
      const auto at = [&](std::int64_t s) { return (10 * step + s) * kSecond; };
      make.step(rank, step, at(0), at(10));
      make.span(rank, "training", "forward", at(0), at(4));
      make.span(rank, "training", "layer1", at(1), at(3), "module");
      make.span(rank, "training", "layer1.conv", at(1), at(2), "module");
      make.span(rank, "training", "backward", at(4), at(8 + rank));
      make.span(rank, "move: world", "allreduce", at(5), at(6));
    }
  return make.take();
}

const PathTime& child(const std::vector<PathTime>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &PathTime::name);
  EXPECT_NE(found, all.end()) << name;
  return *found;
}

TEST(Profile, IsTheNestingOfSpansWithTimesOfEachRank) {
  const trace::Run run = two_ranks();
  const Profile profile = profile_of(run, window_of(run));
  ASSERT_EQ(profile.tree.size(), 2u);  // training, and the row that moves data
  const PathTime& training = profile.tree[0];
  // Each rank: 20 s; forward 8, backward 8 and 10. What is left, 4 and 2, is in no span.
  EXPECT_EQ(training.name, "training");
  EXPECT_EQ(training.visits, 2u);
  EXPECT_DOUBLE_EQ(training.inclusive, 40);
  EXPECT_DOUBLE_EQ(training.exclusive, 6);
  ASSERT_EQ(training.children.size(), 2u);
  const PathTime& forward = training.children[0];
  EXPECT_EQ(forward.name, "forward");
  EXPECT_EQ(forward.visits, 4u);
  EXPECT_DOUBLE_EQ(forward.inclusive, 16);
  EXPECT_DOUBLE_EQ(forward.exclusive, 8);  // 16 less layer1's 4 x 2
  const PathTime& layer = child(forward.children, "layer1");
  EXPECT_DOUBLE_EQ(layer.inclusive, 8);
  EXPECT_DOUBLE_EQ(layer.exclusive, 4);
  EXPECT_DOUBLE_EQ(child(layer.children, "layer1.conv").exclusive, 4);
  const PathTime& backward = training.children[1];
  EXPECT_EQ(backward.per_rank, (std::vector<double>{8, 10}));
  EXPECT_DOUBLE_EQ(backward.min(), 8);
  EXPECT_DOUBLE_EQ(backward.max(), 10);
  EXPECT_DOUBLE_EQ(backward.mean(), 9);
  EXPECT_EQ(profile.tree[1].name, "move: world");
  EXPECT_DOUBLE_EQ(profile.tree[1].inclusive, 4);
}

TEST(Profile, CountsOnlyWhatLiesInTheWindow) {
  const trace::Run run = two_ranks();
  Window window = window_of(run);
  window.ranks = {{2 * kSecond, 6 * kSecond}, {}};  // rank 1 has none
  const Profile profile = profile_of(run, window);
  const PathTime& training = profile.tree.at(0);
  EXPECT_DOUBLE_EQ(training.inclusive, 4);
  EXPECT_EQ(child(training.children, "forward").per_rank, (std::vector<double>{2, 0}));
  EXPECT_EQ(child(training.children, "forward").visits, 1u);
  EXPECT_DOUBLE_EQ(child(training.children, "backward").inclusive, 2);
}

TEST(Profile, ThreadsOfAStageAreOneAndSoAreStreamsOfDevices) {
  MakeRun make(2);
  make.step(0, 0, 0, 10);
  make.step(1, 0, 0, 10);
  make.span(0, "input decode", "decode", 0, 4);
  make.span(1, "input decode", "decode", 0, 6);
  make.span(0, "gpu 0 stream 7", "gemm", 0, 3, "kernel");
  make.span(1, "gpu 1 stream 7", "gemm", 0, 5, "kernel");
  const trace::Run run = make.take();
  const Profile profile = profile_of(run, window_of(run));
  ASSERT_EQ(profile.tree.size(), 2u);
  EXPECT_EQ(profile.tree[0].name, "input decode");
  EXPECT_DOUBLE_EQ(profile.tree[0].inclusive, 10e-9);
  EXPECT_EQ(profile.tree[1].name, "gpu stream 7");
  EXPECT_EQ(profile.tree[1].per_rank, (std::vector<double>{3e-9, 5e-9}));
}

TEST(Profile, StaysSmallWhateverSpansAreCalled) {
  MakeRun make(1);
  make.step(0, 0, 0, 1'000'000);
  for (std::int64_t i = 0; i < 3000; ++i) make.span(0, "training", "file" + std::to_string(i), 10 * i, 10 * i + 5);
  for (std::int64_t i = 0; i < 200; ++i) make.span(0, "training", "open", 500'000 + i, 600'000);  // ends are missing
  const trace::Run run = make.take();
  const Profile profile = profile_of(run, window_of(run));
  const PathTime& training = profile.tree.at(0);
  EXPECT_EQ(training.children.size(), 1001u);
  const PathTime& others = child(training.children, "(others)");
  EXPECT_EQ(others.visits, 2001u);  // 2000 files, and the outermost "open"
  int depth = 0;
  for (const PathTime* at = &others; !at->children.empty(); at = &at->children[0]) ++depth;
  EXPECT_EQ(depth, 63);  // down to 64: training is 0, others 1
}

TEST(Compare, IsSecondsAStepOfTheMeanRank) {
  const trace::Run run = two_ranks();
  const Profile first = profile_of(run, window_of(run));
  MakeRun make(1);
  make.step(0, 0, 0, 7 * kSecond);
  make.span(0, "training", "forward", 0, kSecond);
  make.span(0, "training", "optimizer", kSecond, 3 * kSecond);
  const trace::Run other = make.take();
  const Comparison comparison = compare(first, profile_of(other, window_of(other)));
  // first: training 10 s a step, backward (8 + 10) / 2 / 2 = 4.5, forward 4, layer1 2, its conv 1, moving 1
  // second: training 7, forward 1, optimizer 2
  ASSERT_EQ(comparison.paths.size(), 8u);
  EXPECT_EQ(comparison.paths[0].path, "training > backward");
  EXPECT_DOUBLE_EQ(comparison.paths[0].first, 4.5);
  EXPECT_DOUBLE_EQ(comparison.paths[0].second, 0);
  EXPECT_DOUBLE_EQ(comparison.paths[0].difference(), -4.5);
  EXPECT_EQ(comparison.paths[1].path, "training");  // -3, and so is forward: by name
  EXPECT_EQ(comparison.paths[2].path, "training > forward");
  EXPECT_DOUBLE_EQ(comparison.paths[2].first_own, 2);
  EXPECT_DOUBLE_EQ(comparison.paths[2].second_own, 1);
  EXPECT_EQ(comparison.paths[3].path, "training > forward > layer1");
  EXPECT_EQ(comparison.paths[4].path, "training > optimizer");
  EXPECT_EQ(to_json(comparison)["paths"][0]["difference"], -4.5);
  EXPECT_TRUE(compare({}, {}).paths.empty());
}

TEST(Operators, AreListedByTheTimeOfTheirOwn) {
  MakeRun make(1);
  make.step(0, 0, 0, 100);
  make.span(0, "training", "conv2d", 0, 40, "operator");
  make.span(0, "training", "convolution", 10, 40, "operator");
  make.span(0, "training", "convolution", 50, 60, "operator");
  make.span(0, "training", "layer1", 0, 45, "module");
  make.span(0, "training", "conv2d", 95, 120, "operator");  // 5 of it in the window's step, but the window goes on
  const trace::Run run = make.take();
  const auto operators = operators_of(run, window_of(run));
  ASSERT_EQ(operators.size(), 2u);
  EXPECT_EQ(operators[0].name, "convolution");
  EXPECT_DOUBLE_EQ(operators[0].seconds, 40e-9);
  EXPECT_DOUBLE_EQ(operators[0].share, 40.0 / 120);
  EXPECT_EQ(operators[1].visits, 2u);
  EXPECT_DOUBLE_EQ(operators[1].seconds, 35e-9);  // 40 - 30, and 25
  EXPECT_EQ(operators_of(run, window_of(run), 1).size(), 1u);
}

TEST(Operators, ModulesStandInForThem) {
  const trace::Run run = two_ranks();
  const auto operators = operators_of(run, window_of(run));
  ASSERT_EQ(operators.size(), 2u);
  EXPECT_EQ(operators[0].category, "module");
  EXPECT_DOUBLE_EQ(operators[0].seconds, 4);  // layer1 8 less conv's 4
  EXPECT_EQ(to_json(operators)[1]["name"], "layer1.conv");
}

TEST(Profile, JsonHasTheKeysOfTheDocument) {
  const trace::Run run = two_ranks();
  const auto json = to_json(profile_of(run, window_of(run)));
  EXPECT_EQ(json["ranks"], (std::vector<int>{0, 1}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["tree"][0].items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"name", "visits", "inclusive", "exclusive", "per_rank", "min", "max",
                                            "children"}));
}

TEST(Profile, ManyRanksAreNotListedOneByOne) {
  for (const int ranks : {64, 65}) {
    testing::MakeRun make(ranks);
    for (int rank = 0; rank < ranks; ++rank) make.span(rank, "training", "forward", 0, 100 + rank);
    const trace::Run run = make.take();
    const auto json = to_json(profile_of(run, window_of(run)))["tree"][0];
    EXPECT_EQ(json["per_rank"].size(), ranks == 64 ? 64u : 0u);
    EXPECT_DOUBLE_EQ(json["max"], (99 + ranks) * 1e-9);
  }
}

}  // namespace
}  // namespace ronde::report
