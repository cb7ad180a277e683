// What goes wrong, what is too large, and what is left early.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/data/dataset.h"
#include "ronde/data/testing/numbers.h"

namespace ronde::data {
namespace {

using namespace tests;

TEST(Dataset, ErrorsOfStepsComeAtTheirPlaceAndStay) {
  const auto fail = [](Sample sample) {
    if (values(sample)[0] == 5) throw Error::bad_input("five is right out");
    return sample;
  };
  Pipeline pipeline = (numbers(20) | map(fail)).open({.threads = 4});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pipeline.next());
  EXPECT_THROW(pipeline.next(), Error);
  EXPECT_THROW(pipeline.next(), Error);
}

TEST(Dataset, BadSamplesAreReplacedCountedAndNamed) {
  const auto source = function(
      200,
      [](std::int64_t index) {
        if (index % 50 == 3) throw Error::bad_input("no picture");
        return numbered(index);
      },
      "set");
  std::vector<std::string> said;
  std::mutex mutex;
  const PipelineOptions options{.skip_bad = true, .say = [&](const std::string& text) {
                                  std::lock_guard lock(mutex);
                                  said.push_back(text);
                                }};
  Pipeline pipeline = (source | shuffle(4) | batch(10) | repeat(2) | prefetch()).open(options);
  std::size_t count = 0;
  while (auto one = pipeline.next()) count += values(*one).size();
  EXPECT_EQ(count, 400u);
  EXPECT_EQ(pipeline.skipped(), 4);
  EXPECT_EQ(said.size(), 4u);
  EXPECT_TRUE(std::ranges::find(said, "skipped: set, sample 53: no picture") != said.end());
  EXPECT_NE(message_of([&] { batches_of(source | batch(10)); }).find("set, sample 3: no picture"), std::string::npos);

  const auto hopeless = function(200, [](std::int64_t) -> Sample { throw Error::bad_input("no picture"); });
  EXPECT_NE(
      message_of([&] { batches_of(hopeless | batch(10), options); }).find("of 200 cannot be read; the last error: "),
      std::string::npos);
}

TEST(Dataset, MemoryStaysInsideItsBudgetUnderASlowConsumer) {
  constexpr std::size_t kBudget = 4 << 20;
  const auto large = function(64, [](std::int64_t index) {
    Sample sample;
    Array bytes(Type::U8, {100'000 + 3000 * (index % 7)});
    std::ranges::fill(bytes.values<std::uint8_t>(), std::uint8_t{1});
    sample.set("image", std::move(bytes));
    return sample;
  });
  const auto cut = [](Sample sample) {
    Array bytes(Type::U8, {90'000});
    std::ranges::copy_n(sample.at("image").values<std::uint8_t>().begin(), 90'000,
                        bytes.values<std::uint8_t>().begin());
    sample.set("image", std::move(bytes));
    return sample;
  };
  Pipeline pipeline = (large | map(cut) | batch(4) | prefetch(30) | repeat(2)).open({.threads = 4, .memory = kBudget});
  std::size_t count = 0;
  while (auto one = pipeline.next()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++count;
  }
  EXPECT_EQ(count, 32u);
  EXPECT_LE(pipeline.peak_bytes(), kBudget);
  EXPECT_GT(pipeline.peak_bytes(), kBudget / 4);
}

TEST(Dataset, MayBeLeftAtAnyTime) {
  for (int taken = 0; taken < 4; ++taken) {
    Pipeline pipeline =
        (numbers(1000) | map([](Sample s) { return s; }) | batch(10) | prefetch(3) | repeat()).open({.threads = 3});
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(pipeline.next());
  }
}

Dataset endless() {
  return generator([](std::int64_t) -> NextSample {
    return [next = std::int64_t{0}]() mutable -> std::optional<Sample> { return numbered(next++); };
  });
}

TEST(Dataset, TakeEndsAStreamThatNeverEnds) {
  EXPECT_EQ(all_of(endless() | take(3)), (List{0, 1, 2}));
  EXPECT_EQ(batches_of(endless() | map([](Sample s) { return s; }) | take(4) | batch(3)), (Lists{{0, 1, 2}, {3}}));
}

TEST(Dataset, WhatIsLeftEarlyLeavesNoEmptySampleInACache) {
  const ronde::tests::Folder folder;
  const auto slow = function(200, [](std::int64_t index) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    return numbered(index);
  });
  const Dataset dataset = slow | cache(std::filesystem::path(folder.path()) / "cache", 1 << 20) | batch(4);
  for (int round = 0; round < 5; ++round) {
    Pipeline pipeline = dataset.open({.threads = 4});
    for (int i = 0; i <= round; ++i) ASSERT_TRUE(pipeline.next());
  }
  std::size_t count = 0;
  for (const auto& one : batches_of(dataset)) count += one.size();
  EXPECT_EQ(count, 200u);
}

// A sample of a given size, which counts.
Dataset large(std::int64_t count, std::int64_t bytes) {
  return function(count, [bytes](std::int64_t index) {
    Sample sample = numbered(index);
    Array memory(Type::U8, {bytes});
    std::ranges::fill(memory.values<std::uint8_t>(), std::uint8_t{1});
    sample.set("memory", std::move(memory));
    return sample;
  });
}

TEST(Dataset, BatchesThatMemoryCannotHoldAreRefusedRatherThanWaitedFor) {
  const auto same = [](Sample sample) { return sample; };
  const std::string text =
      message_of([&] { batches_of(large(64, 100'000) | map(same) | batch(64), {.threads = 16, .memory = 4 << 20}); });
  EXPECT_NE(text.find("the samples of a batch need more than"), std::string::npos) << text;
  // Behind a step that makes a stream, the number of samples is the limit, and nobody waits for bytes.
  const auto all = [](const Sample&) { return true; };
  EXPECT_EQ(
      batches_of(large(64, 100'000) | map(same) | filter(all) | batch(32), {.threads = 16, .memory = 4 << 20}).size(),
      2u);
}

TEST(Dataset, AViewOfNothingButBadSamplesEnds) {
  const auto bad = function(5000, [](std::int64_t) -> Sample { throw Error::bad_input("no picture"); });
  const std::string text = message_of([&] { batches_of(bad | take(4) | batch(2), {.skip_bad = true}); });
  EXPECT_NE(text.find("none of the 4 samples can be read"), std::string::npos) << text;
}

TEST(Dataset, RanksWithoutASampleGetArraysWithoutRows) {
  Pipeline pipeline = (numbers(11) | global_batch(8) | shard(3, 4) | map([](Sample s) { return s; })).open();
  EXPECT_EQ(pipeline.next()->at("x").shape(), (Shape{2}));
  EXPECT_EQ(pipeline.next()->at("x").shape(), (Shape{0}));
}

}  // namespace
}  // namespace ronde::data
