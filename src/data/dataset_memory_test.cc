// Datasets inside of datasets keep to the memory of the pipeline around them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/data/dataset.h"
#include "ronde/data/testing/numbers.h"

namespace ronde::data {
namespace {

using namespace tests;

constexpr std::size_t kMemory = 8 << 20;

// Samples that tell how many of their bytes are there at a time, whoever holds them.
class Watched {
 public:
  Dataset of(std::int64_t samples, std::int64_t bytes, const std::string& name) {
    return function(samples, [this, bytes, name](std::int64_t index) {
      now_ += bytes;
      for (std::int64_t most = most_; now_ > most && !most_.compare_exchange_weak(most, now_);) continue;
      const auto memory =
          std::shared_ptr<void>(::operator new(static_cast<std::size_t>(bytes)), [this, bytes](void* at) {
            ::operator delete(at);
            now_ -= bytes;
          });
      Sample sample;
      sample.set(name, Array::view(Type::U8, {bytes}, memory.get(), memory));
      sample.set(name + "_x", Array::scalar<std::int64_t>(index));
      return sample;
    });
  }
  std::size_t most() const { return static_cast<std::size_t>(most_.load()); }

 private:
  std::atomic<std::int64_t> now_{0}, most_{0};
};

// Takes one after the other, slowly. Returns how many there were.
std::size_t take_slowly(Pipeline& pipeline) {
  std::size_t count = 0;
  while (auto one = pipeline.next()) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    ++count;
  }
  return count;
}

Sample same(Sample sample) {
  return sample;
}

void expect_inside(const Dataset& dataset, const Watched& watched, std::size_t count, std::size_t at_least = 150'000) {
  Pipeline pipeline = dataset.open({.threads = 4, .memory = kMemory});
  EXPECT_EQ(take_slowly(pipeline), count);
  EXPECT_LE(pipeline.peak_bytes(), kMemory);
  EXPECT_GT(pipeline.peak_bytes(), at_least);
  EXPECT_LE(watched.most(), kMemory);
  EXPECT_GT(watched.most(), at_least);
}

TEST(DatasetMemory, ZipOfDatasetsWithSteps) {
  Watched watched;
  const Dataset one = watched.of(200, 50'000, "a") | map(same) | shuffle(1);
  const Dataset other = watched.of(200, 70'000, "b") | map(same);
  expect_inside(zip(one, other) | map(same) | batch(4) | prefetch(50), watched, 50);
}

TEST(DatasetMemory, ZipOfBatches) {
  Watched watched;
  const Dataset one = watched.of(200, 20'000, "a") | map(same) | batch(10) | prefetch(50);
  const Dataset other = watched.of(200, 20'000, "b") | map(same) | batch(10) | prefetch(50);
  expect_inside(zip(one, other) | prefetch(50), watched, 20);
}

TEST(DatasetMemory, FlatMapAndInterleave) {
  Watched watched;
  const auto open = [&](const Sample&) { return watched.of(20, 50'000, "a") | map(same); };
  expect_inside(numbers(10) | flat_map(open) | map(same) | batch(4) | prefetch(50), watched, 50);
  expect_inside(numbers(10) | interleave(open, 3) | map(same) | batch(4) | prefetch(50), watched, 50);
}

TEST(DatasetMemory, DatasetsInsideOfDatasetsInside) {
  Watched watched;
  const auto inner = [&](const Sample&) { return watched.of(5, 4'000, "a") | map(same); };
  const auto outer = [&](const Sample&) { return numbers(4) | flat_map(inner) | shuffle_buffer(3, 1); };
  const Dataset pairs = zip(numbers(200), numbers(10) | interleave(outer, 2) | map(same));
  expect_inside(pairs | shuffle_buffer(5, 2) | batch(4) | prefetch(50), watched, 50, 50'000);
}

TEST(DatasetMemory, UnbatchAndGenerators) {
  Watched watched;
  expect_inside(watched.of(200, 50'000, "a") | map(same) | batch(4) | unbatch() | map(same) | batch(4), watched, 50);
  Watched again;
  const auto source = again.of(200, 50'000, "a").origin().records;
  const Dataset made = generator([source](std::int64_t) -> NextSample {
    return [source, next = std::int64_t{0}]() mutable -> std::optional<Sample> {
      if (next == source->size()) return {};
      return source->read(next++);
    };
  });
  expect_inside(made | map(same) | shuffle_buffer(8, 1) | map(same) | batch(4), again, 50);
}

TEST(DatasetMemory, WhatCannotBeGatheredIsAnErrorAndNotWaitedFor) {
  Watched watched;
  const auto open = [&](const Sample&) { return watched.of(100, 50'000, "a") | map(same); };
  const Dataset many = numbers(10) | flat_map(open);
  for (const Dataset& dataset : {many | batch(400), many | shuffle_buffer(400, 1) | batch(2),
                                 many | map(same) | shuffle_buffer(400, 1) | map(same) | batch(2),
                                 many | map(same) | batch(2) | unbatch() | batch(400)}) {
    const std::string error = message_of([&] {
      Pipeline pipeline = dataset.open({.threads = 3, .memory = kMemory});
      while (pipeline.next()) continue;
    });
    EXPECT_NE(error.find("of a batch or buffer need more than"), std::string::npos) << error;
  }
}

TEST(DatasetMemory, EvenWithNextToNothingItGoesOn) {
  Watched watched;
  const auto open = [&](const Sample&) { return watched.of(10, 50'000, "a") | map(same); };
  for (const Dataset& dataset :
       {numbers(4) | interleave(open, 2) | map(same) | map(same),
        numbers(4) | flat_map(open) | filter([](const Sample&) { return true; }) | map(same) | take(40),
        zip(watched.of(40, 50'000, "b") | map(same), numbers(4) | flat_map(open))}) {
    Pipeline pipeline = dataset.open({.threads = 3, .memory = 100'000});
    EXPECT_EQ(take_slowly(pipeline), 40u);
  }
}

TEST(DatasetMemory, MayBeLeftWhileSomeoneWaitsForRoom) {
  Watched watched;
  const auto open = [&](const Sample&) { return watched.of(100, 50'000, "a") | map(same); };
  for (int taken = 0; taken < 3; ++taken) {
    Pipeline pipeline = (zip(numbers(1000) | map(same), numbers(10) | flat_map(open)) | map(same) | batch(4))
                            .open({.threads = 3, .memory = kMemory});
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(pipeline.next());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace
}  // namespace ronde::data
