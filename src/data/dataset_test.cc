#include "ronde/data/dataset.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/data/order/random.h"
#include "ronde/data/testing/numbers.h"

namespace ronde::data {
namespace {

using namespace tests;

TEST(Dataset, GivesSamplesInOrderWithoutAnyStep) {
  EXPECT_EQ(all_of(numbers(7)), counting(7));
  EXPECT_EQ(all_of(numbers(0)), List{});
}

TEST(Dataset, ShuffleVisitsEverySampleOnceInAnotherOrderEveryEpoch) {
  const auto epochs = all_of(numbers(100) | shuffle(3) | repeat(2));
  ASSERT_EQ(epochs.size(), 200u);
  const List first(epochs.begin(), epochs.begin() + 100), second(epochs.begin() + 100, epochs.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 100u);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 100u);
}

TEST(Dataset, StepsOnTheOrderMeanTheSameBeforeAndAfterMap) {
  const auto twice = [](Sample sample) {
    Sample result;
    result.set("x", Array::scalar(2 * sample.at("x").values<std::int64_t>()[0]));
    return result;
  };
  const auto before = all_of(numbers(50) | shuffle(1) | skip(5) | take(20) | shard(1, 3) | map(twice));
  const auto after = all_of(numbers(50) | map(twice) | shuffle(1) | skip(5) | take(20) | shard(1, 3));
  EXPECT_EQ(before, after);
  EXPECT_EQ(before.size(), 7u);
}

TEST(Dataset, SelectNamesSamplesAsTheyAreStored) {
  const auto backwards = numbers(10) | select(5, [](std::int64_t place) { return 9 - 2 * place; });
  EXPECT_EQ(all_of(backwards), (List{9, 7, 5, 3, 1}));
  EXPECT_EQ(all_of(backwards | skip(1) | take(2)), (List{7, 5}));
  // Its samples lie nowhere together, so chunks are no matter.
  const auto mixed = all_of(backwards | shuffle_chunks(4, 1));
  EXPECT_EQ(mixed, all_of(backwards | shuffle(4)));
  EXPECT_EQ(std::set(mixed.begin(), mixed.end()).size(), 5u);
}

TEST(Dataset, GlobalBatchesAreTheSameForAnyNumberOfRanksAndThreads) {
  const auto batches = [](int ranks, int threads) {
    Lists whole;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto mine = batches_of(numbers(103) | shuffle(9) | global_batch(16) | shard(rank, ranks) |
                                       map([](Sample sample) { return sample; }) | prefetch() | repeat(2),
                                   {.threads = threads});
      whole.resize(mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) whole[i].insert(whole[i].end(), mine[i].begin(), mine[i].end());
    }
    return whole;
  };
  const Lists reference = batches(1, 1);
  EXPECT_EQ(reference.size(), 14u);
  for (const int ranks : {1, 2, 4})
    for (const int threads : {1, 2, 8}) EXPECT_EQ(batches(ranks, threads), reference) << ranks << " " << threads;
}

TEST(Dataset, RandomSeedIsForDrawsAndLeavesTheOrder) {
  const auto draw = [](Sample sample, const Draw& at) {
    sample.set("seed", Array::scalar(static_cast<std::int64_t>(at.seed)));
    return sample;
  };
  const auto seeds = [](const Dataset& dataset) {
    List found;
    for (const Sample& sample : dataset) found.push_back(sample.at("seed").values<std::int64_t>()[0]);
    return found;
  };
  const Dataset drawn = numbers(3) | shuffle(5) | map(draw, {.random = true});
  EXPECT_EQ(seeds(drawn), (List{5, 5, 5}));
  EXPECT_EQ(seeds(drawn | random_seed(8)), (List{8, 8, 8}));
  EXPECT_EQ(all_of(drawn | random_seed(8)), all_of(drawn));
}

TEST(Dataset, WhatIsDrawnDependsOnSeedEpochAndSampleAlone) {
  const auto drawn = [](int threads, bool batched) {
    std::map<std::int64_t, std::int64_t> first;
    const auto draw = [](Sample sample, const Draw& at) {
      Random random(at.seed, static_cast<std::uint64_t>(at.epoch), static_cast<std::uint64_t>(at.index));
      sample.set("drawn", Array::scalar(static_cast<std::int64_t>(random.next() >> 1)));
      return sample;
    };
    Dataset dataset = numbers(40) | shuffle(5) | map(draw, {.random = true});
    if (batched) dataset = dataset | batch(8);
    Pipeline pipeline = dataset.open({.threads = threads});
    while (auto sample = pipeline.next()) {
      const auto keys = sample->at("x").values<std::int64_t>(), found = sample->at("drawn").values<std::int64_t>();
      for (std::size_t i = 0; i < keys.size(); ++i) first[keys[i]] = found[i];
    }
    return first;
  };
  const auto reference = drawn(1, false);
  EXPECT_EQ(reference.size(), 40u);
  EXPECT_EQ(drawn(4, false), reference);
  EXPECT_EQ(drawn(4, true), reference);
}

TEST(Dataset, ResumesInTheMiddleOfAnEpochWithAnyNumberOfRanks) {
  const Dataset dataset = numbers(50) | shuffle(2) | global_batch(8) | repeat(3) | prefetch();
  const Lists all = batches_of(dataset);
  Pipeline pipeline = dataset.open();
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(pipeline.next());
  const Position position = parse_position(to_text(pipeline.position()));
  const Lists rest = batches_of(dataset, {.threads = 3}, position);
  EXPECT_EQ(rest, Lists(all.begin() + 9, all.end()));

  Lists of_two(rest.size());
  for (int rank = 0; rank < 2; ++rank) {
    const auto mine = batches_of(dataset | shard(rank, 2), {}, position);
    ASSERT_EQ(mine.size(), rest.size());
    for (std::size_t i = 0; i < mine.size(); ++i) of_two[i].insert(of_two[i].end(), mine[i].begin(), mine[i].end());
  }
  EXPECT_EQ(of_two, rest);
}

TEST(Dataset, ResumesStreamsToo) {
  const Dataset dataset = numbers(50) | shuffle(2) | filter([](const Sample& s) { return values(s)[0] % 3 != 0; }) |
                          shuffle_buffer(7, 5) | batch(4) | repeat(2);
  const Lists all = batches_of(dataset);
  ASSERT_GT(all.size(), 12u);
  for (const std::size_t used : {1u, 5u, 10u}) {
    Pipeline pipeline = dataset.open();
    for (std::size_t i = 0; i < used; ++i) ASSERT_TRUE(pipeline.next());
    EXPECT_EQ(batches_of(dataset, {}, pipeline.position()),
              Lists(all.begin() + static_cast<std::ptrdiff_t>(used), all.end()));
  }
  const Dataset samples = numbers(30) | filter([](const Sample& s) { return values(s)[0] % 2 == 0; });
  Pipeline pipeline = samples.open();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pipeline.next());
  const Lists rest = batches_of(samples, {}, pipeline.position());
  EXPECT_EQ(rest.front(), List{8});
  EXPECT_EQ(rest.size(), 11u);
}

TEST(Dataset, RefusesAPositionOfAnotherOrder) {
  EXPECT_NE(
      message_of([] { (numbers(5) | shuffle(1)).open({}, Position{0, 2, 7}); }).find("the seed of this order is 1"),
      std::string::npos);
}

TEST(Dataset, LastBatchIsKeptDroppedOrShort) {
  EXPECT_EQ(batches_of(numbers(5) | batch(2)), (Lists{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(batches_of(numbers(5) | batch(2, steps::Last::Drop)), (Lists{{0, 1}, {2, 3}}));
  EXPECT_EQ(batches_of(numbers(5) | batch(2) | take(1)), (Lists{{0, 1}}));
  EXPECT_EQ(batches_of(numbers(5) | batch(2) | skip(1)), (Lists{{2, 3}, {4}}));
}

TEST(Dataset, BatchPadsWhenAskedTo) {
  const auto ragged = [](Sample sample) {
    const auto n = values(sample)[0] + 1;
    Array row(Type::F32, {n, 2});
    std::ranges::fill(row.values<float>(), static_cast<float>(n));
    Sample result;
    result.set("row", std::move(row));
    return result;
  };
  Pipeline pipeline = (numbers(3) | map(ragged) | batch(3, steps::Last::Keep, /*pad=*/true)).open();
  const auto padded = pipeline.next();
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->at("row").shape(), (Shape{3, 3, 2}));
  const auto found = padded->at("row").values<float>();
  EXPECT_EQ(std::vector(found.begin(), found.end()),
            (std::vector<float>{1, 1, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 3, 3, 3, 3, 3, 3}));
  EXPECT_NE(message_of([&] { batches_of(numbers(3) | map(ragged) | batch(3)); }).find("let batch pad them"),
            std::string::npos);
}

TEST(Dataset, StreamStepsMeanWhatTfDataMeans) {
  const auto even = filter([](const Sample& sample) { return values(sample)[0] % 2 == 0; });
  EXPECT_EQ(all_of(numbers(9) | even), (List{0, 2, 4, 6, 8}));
  EXPECT_EQ(all_of(numbers(9) | even | skip(1) | take(2)), (List{2, 4}));
  EXPECT_EQ(all_of(numbers(9) | even | shard(1, 2)), (List{2, 6}));
  EXPECT_EQ(batches_of(numbers(9) | even | batch(2)), (Lists{{0, 2}, {4, 6}, {8}}));
  EXPECT_EQ(batches_of(numbers(9) | even | batch(4) | shard(1, 2)), (Lists{{4, 6}, {}}));
  EXPECT_EQ(all_of(numbers(6) | batch(4) | unbatch()), counting(6));
  const auto several = [](const Sample& sample) { return numbers(values(sample)[0]); };
  EXPECT_EQ(all_of(numbers(4) | flat_map(several)), (List{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(all_of(numbers(4) | interleave(several, 3)), (List{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(all_of(numbers(3) | even | repeat(2)), (List{0, 2, 0, 2}));
}

TEST(Dataset, BufferedShuffleIsAPermutationThatDependsOnTheSeed) {
  auto found = all_of(numbers(100) | shuffle_buffer(10, 4));
  EXPECT_NE(found, counting(100));
  EXPECT_NE(found, all_of(numbers(100) | shuffle_buffer(10, 5)));
  EXPECT_EQ(found, all_of(numbers(100) | shuffle_buffer(10, 4)));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LT(found[i], static_cast<std::int64_t>(i) + 10);
  std::ranges::sort(found);
  EXPECT_EQ(found, counting(100));
}

TEST(Dataset, MapBatchSeesWholeBatches) {
  const auto sum = [](Sample batch) {
    const auto all = values(batch);
    Sample result;
    result.set("x", Array::scalar(std::accumulate(all.begin(), all.end(), std::int64_t{0})));
    return result;
  };
  EXPECT_EQ(all_of(numbers(6) | batch(3) | map_batch(sum)), (List{3, 12}));
  const Dataset dataset = numbers(12) | batch(3) | map_batch(sum);
  Pipeline pipeline = dataset.open();
  pipeline.next();
  EXPECT_EQ(batches_of(dataset, {}, pipeline.position()), (Lists{{12}, {21}, {30}}));
}

TEST(Dataset, SplitIsExactAndStableWhenSamplesAreAdded) {
  const auto part = [](std::int64_t samples, double from, double to) {
    const auto found = all_of(numbers(samples) | data::split(from, to, 3));
    return std::set(found.begin(), found.end());
  };
  const auto train = part(1000, 0, 80), validation = part(1000, 80, 90), test = part(1000, 90, 100);
  EXPECT_EQ(train.size() + validation.size() + test.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(train.size()), 800, 40);
  const auto later = part(2000, 0, 80);
  for (const std::int64_t sample : train) EXPECT_TRUE(later.contains(sample));
  for (const std::int64_t sample : test) EXPECT_FALSE(later.contains(sample));
}

TEST(Dataset, ZipPutsArraysSideBySide) {
  const auto other = [](std::int64_t count) {
    return function(count, [](std::int64_t index) {
      Sample sample;
      sample.set("y", Array::scalar(static_cast<double>(index) / 2));
      return sample;
    });
  };
  for (const Dataset& dataset : {zip(numbers(5), other(3)),
                                 zip(numbers(5) | map([](Sample s) { return s; }), other(3) | shuffle_buffer(1, 1))}) {
    std::int64_t count = 0;
    for (const Sample& sample : dataset) {
      EXPECT_EQ(sample.at("y").number(), static_cast<double>(values(sample)[0]) / 2);
      ++count;
    }
    EXPECT_EQ(count, 3);
  }
  EXPECT_NE(message_of([] { all_of(zip(numbers(2), numbers(2))); }).find("both datasets have an array 'x'"),
            std::string::npos);
}

TEST(Dataset, GeneratorStartsAnewEveryEpoch) {
  const auto restart = [](std::int64_t epoch) -> NextSample {
    return [epoch, next = std::int64_t{0}]() mutable -> std::optional<Sample> {
      if (next == 3) return {};
      return numbered(10 * epoch + next++);
    };
  };
  EXPECT_EQ(all_of(generator(restart) | repeat(2)), (List{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(batches_of(generator(restart) | map([](Sample s) { return s; }) | batch(2) | prefetch()),
            (Lists{{0, 1}, {2}}));
  const Dataset dataset = generator(restart) | repeat(2);
  Pipeline pipeline = dataset.open();
  for (int i = 0; i < 4; ++i) pipeline.next();
  EXPECT_EQ(batches_of(dataset, {}, pipeline.position()), (Lists{{11}, {12}}));
}

TEST(Dataset, KnownSetsComeAsBatchesWrittenInPlace) {
  const Dataset dataset = known({.name = "glyphs", .samples = 20, .classes = 5, .resolution = 12}) | shuffle(1) |
                          global_batch(8) | prefetch();
  Pipeline pipeline = dataset.open();
  std::int64_t count = 0;
  while (auto batch = pipeline.next()) {
    EXPECT_EQ(batch->at("image").shape().size(), 4u);
    EXPECT_EQ(batch->at("class").shape().front(), batch->at("image").shape().front());
    count += batch->at("class").shape().front();
  }
  EXPECT_EQ(count, 20);
}

TEST(Dataset, CacheReadsEverySampleOnce) {
  for (const bool in_folder : {false, true}) {
    const ronde::tests::Folder folder;
    std::atomic<int> reads = 0;
    const auto counted = function(30, [&](std::int64_t index) {
      ++reads;
      return numbered(index);
    });
    const std::filesystem::path kept = in_folder ? std::filesystem::path(folder.path()) / "cache" : "";
    const Dataset dataset = counted | shuffle(1) | cache(kept, 1 << 20) | batch(7) | repeat(3);
    auto all = batches_of(dataset);
    EXPECT_EQ(reads, 30);
    std::multiset<std::int64_t> found;
    for (const auto& one : all) found.insert(one.begin(), one.end());
    EXPECT_EQ(found.size(), 90u);
    EXPECT_EQ(found.count(17), 3u);
    if (in_folder) {  // it serves the next job
      EXPECT_EQ(batches_of(dataset), all);
      EXPECT_EQ(reads, 30);
      EXPECT_NE(message_of([&] { batches_of(numbers(31) | cache(kept)); }).find("cache of other samples"),
                std::string::npos);
    }
  }
}

TEST(Dataset, ACacheThatIsFullKeepsWhatItHas) {
  std::atomic<int> reads = 0;
  const auto counted = function(30, [&](std::int64_t index) {
    ++reads;
    return numbered(index);
  });
  // So little memory that no epoch is read before the first samples of the one before are in the cache.
  batches_of(counted | shuffle(1) | cache({}, 10 * sizeof(std::int64_t)) | repeat(4), {.memory = 64});
  EXPECT_EQ(reads, 30 + 3 * 20);
}

TEST(Dataset, RefusesStepsThatCannotBeWhereTheyAre) {
  const auto wrong = [](const Dataset& dataset, std::string_view part) {
    EXPECT_NE(message_of([&] { dataset.open(); }).find(part), std::string::npos) << part;
  };
  wrong(numbers(3) | batch(2) | shuffle(1), "put it before batch");
  wrong(numbers(3) | batch(2) | batch(2), "batch occurs twice");
  wrong(numbers(3) | filter([](const Sample&) { return true; }) | shuffle(1), "use shuffle_buffer");
  wrong(numbers(3) | unbatch(), "unbatch needs batches");
  wrong(numbers(3) | batch(0), "size must be at least 1");
  wrong(numbers(3) | shard(2, 2), "rank 2 is out of range for 2 ranks");
  wrong(numbers(3) | shuffle(1) | shuffle_chunks(1), "must come before");
  wrong(numbers(3) | shuffle(1) | select(1, [](std::int64_t place) { return place; }), "select must come before");
  wrong(numbers(3) | select(-1, [](std::int64_t place) { return place; }), "must not be negative");
  wrong(numbers(3) | shuffle(1) | data::split(0, 50), "split must come before");
  wrong(numbers(3) | data::split(50, 20), "percentages");
  wrong(numbers(3) | to_device(0), "to_device needs batches");
}

TEST(Dataset, StagesReportWhatTheyDid) {
  Pipeline pipeline = (numbers(100) | map([](Sample s) { return s; }, {.name = "nothing"}) | batch(10)).open();
  while (pipeline.next()) {
  }
  const auto stages = pipeline.stages();
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].name, "read");
  EXPECT_EQ(stages[1].name, "nothing");
  EXPECT_EQ(stages[1].samples, 100);
  EXPECT_EQ(stages[1].bytes, 800);
  EXPECT_EQ(stages[2].name, "batch");
  EXPECT_NE(to_text(stages, std::chrono::seconds(1)).find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace ronde::data
