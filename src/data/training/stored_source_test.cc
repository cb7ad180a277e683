#include "ronde/data/stored_source.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/split.h"
#include "ronde/data/picture/decoder.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Records whose sample i is {i}; "large" ones say that they take that much to be decoded.
class Numbered : public Records {
 public:
  explicit Numbered(std::int64_t samples) : samples_(samples) {}
  std::string name() const override { return "numbered"; }
  std::int64_t size() const override { return samples_; }
  std::size_t bytes(std::int64_t) const override { return 50'000; }
  std::string where(std::int64_t index) const override { return fmt::format("numbered at {}", index); }
  std::string key(std::int64_t index) const override { return fmt::format("key-{}", index); }
  Sample read(std::int64_t index) const override {
    Sample sample;
    Array memory(Type::U8, {50'000});
    std::ranges::fill(memory.values<std::uint8_t>(), std::uint8_t{1});
    sample.set("image", std::move(memory));
    sample.set("number", Array::scalar(index));
    return sample;
  }

 private:
  const std::int64_t samples_;
};

// Counts how much is being decoded at a time.
class Counting : public Decoder {
 public:
  explicit Counting(std::size_t scratch, std::int64_t huge = -1) : scratch_(scratch), huge_(huge) {}
  SampleKind kind() const override { return {.channels = 1, .height = 100, .width = 100, .classes = 10}; }
  std::size_t scratch_bytes(const Sample& stored, const Draw&) const override {
    return stored.at("number").number() == static_cast<double>(huge_) ? std::size_t{1} << 40 : scratch_;
  }
  void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const override {
    const std::size_t now = in_use_.fetch_add(scratch_) + scratch_;
    for (std::size_t before = most_.load(); before < now && !most_.compare_exchange_weak(before, now);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::ranges::fill(into.features, static_cast<float>(draw.index));
    into.classes[0] = static_cast<std::int64_t>(stored.at("number").number()) % 10;
    in_use_ -= scratch_;
  }
  std::size_t most() const { return most_; }

 private:
  const std::size_t scratch_;
  const std::int64_t huge_;
  mutable std::atomic<std::size_t> in_use_ = 0, most_ = 0;
};

TEST(StoredSource, MemoryStaysInsideItsBudgetForLargePicturesAndASlowConsumer) {
  constexpr std::size_t kMemory = 8 << 20;
  const auto decoder = std::make_shared<Counting>(900'000);
  const StoredSource source({std::make_shared<Numbered>(300), decoder, 1}, 0);
  Pipeline pipeline =
      (from_source(source) | shuffle(0) | batch(16)).open({.threads = 8, .memory = kMemory, .ahead = 50});
  std::set<float> seen;
  while (const auto batch = pipeline.next_batch()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    for (std::int64_t i = 0; i < batch->size(); ++i) seen.insert(batch->sample(i).features[0]);
  }
  EXPECT_EQ(seen.size(), 300u);
  EXPECT_LE(decoder->most(), kMemory / 4);
  EXPECT_GT(decoder->most(), 900'000u);  // several at a time
  EXPECT_LE(pipeline.peak_bytes(), kMemory);
  EXPECT_GT(pipeline.peak_bytes(), kMemory / 3);
}

TEST(StoredSource, PictureThatMemoryCannotHoldIsNamed) {
  const StoredSource source({std::make_shared<Numbered>(40), std::make_shared<Counting>(1000, 7), 1}, 0);
  const Dataset batches = from_source(source) | shuffle(0) | batch(8);
  const std::string stopped = message_of([&] {
    Pipeline pipeline = batches.open();
    while (pipeline.next_batch()) {
    }
  });
  EXPECT_NE(stopped.find("numbered at 7: needs 1 TiB to decode"), std::string::npos) << stopped;
  Pipeline pipeline = batches.open({.skip_bad = true});
  std::int64_t count = 0;
  while (const auto batch = pipeline.next_batch()) count += batch->size();
  EXPECT_EQ(count, 40);
  EXPECT_EQ(pipeline.skipped(), 1);
}

TEST(StoredSource, BatchThatMemoryCannotHoldIsRefusedAtOnce) {
  const StoredSource source({std::make_shared<Numbered>(400), std::make_shared<Counting>(1000), 1}, 0);
  const std::string text = message_of([&] { (from_source(source) | batch(400)).open({.memory = 4 << 20}); });
  EXPECT_NE(text.find("a batch needs 15 MiB, but data.memory leaves 3 MiB"), std::string::npos) << text;
}

TEST(StoredSource, SameSamplesForAnyNumberOfThreadsAndRanks) {
  const StoredSource source({std::make_shared<Numbered>(100), std::make_shared<Counting>(10), 1}, 0);
  const auto all = [&](int ranks, int threads) {
    std::vector<std::vector<float>> batches;
    for (int rank = 0; rank < ranks; ++rank) {
      Pipeline pipeline =
          (from_source(source) | shuffle(0) | global_batch(12) | shard(rank, ranks)).open({.threads = threads});
      for (std::size_t i = 0; const auto batch = pipeline.next_batch(); ++i) {
        batches.resize(std::max(batches.size(), i + 1));
        const auto features = batch->features();
        batches[i].insert(batches[i].end(), features.begin(), features.end());
      }
    }
    return batches;
  };
  const auto reference = all(1, 1);
  for (const int ranks : {1, 2, 4})
    for (const int threads : {1, 2, 8}) EXPECT_EQ(all(ranks, threads), reference) << ranks << " " << threads;
}

// The order in which an epoch reads a part of records that lie in chunks of ten.
std::vector<std::int64_t> order_of_part(std::int64_t window) {
  class Chunked : public Numbered {
   public:
    using Numbered::Numbered;
    std::vector<Range> chunks() const override {
      std::vector<Range> all;
      for (std::int64_t begin = 0; begin < size(); begin += 10) all.push_back({begin, begin + 10});
      return all;
    }
  };
  class EveryThird : public StoredSource {  // as a part of a split: some of the samples, in their order
   public:
    using StoredSource::StoredSource;
    std::int64_t size() const override { return StoredSource::size() / 3; }
    std::int64_t stored_index(std::int64_t index) const override { return 3 * index; }
  };
  const EveryThird source({std::make_shared<Chunked>(300), std::make_shared<Counting>(10), 1}, 0);
  Pipeline pipeline = (from_source(source) | (window > 0 ? shuffle_chunks(0, window) : shuffle(0)) | batch(10)).open();
  std::vector<std::int64_t> order;
  while (const auto batch = pipeline.next_batch())
    for (std::int64_t i = 0; i < batch->size(); ++i)
      order.push_back(static_cast<std::int64_t>(batch->sample(i).features[0]));
  return order;
}

TEST(StoredSource, PartsOfASplitAreShuffledByChunksToo) {
  const auto jumps = [](const std::vector<std::int64_t>& order) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < order.size(); ++i) count += order[i] / 10 != order[i - 1] / 10;
    return count;
  };
  const auto order = order_of_part(1);
  EXPECT_EQ(jumps(order), 29u) << "each of the 30 chunks is read to its end before the next";
  EXPECT_FALSE(std::ranges::is_sorted(order));
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 100u);
  EXPECT_GT(jumps(order_of_part(0)), 60u);
}

// Some of whose samples cannot be read.
class Holey : public Numbered {
 public:
  Holey(std::int64_t samples, std::set<std::int64_t> holes) : Numbered(samples), holes_(std::move(holes)) {}
  Sample read(std::int64_t index) const override {
    if (holes_.contains(index)) throw Error::bad_input("a hole");
    return Numbered::read(index);
  }

 private:
  const std::set<std::int64_t> holes_;
};

// Evaluations leave them out: every sample that can be read is there once that does not stand in for another.
TEST(StoredSource, SamplesThatStandInForOthersAreMarked) {
  const std::set<std::int64_t> holes{0, 5, 6, 41, 99};
  const StoredSource source({std::make_shared<Holey>(100, holes), std::make_shared<Counting>(10, 70), 1}, 0);
  std::multiset<float> expected;
  for (int i = 0; i < 100; ++i)
    if (!holes.contains(i) && i != 70) expected.insert(static_cast<float>(i));
  for (const int ranks : {1, 2, 3, 7})
    for (const int threads : {1, 4}) {
      std::multiset<float> counted;
      for (int rank = 0; rank < ranks; ++rank) {
        Pipeline pipeline =
            (from_source(source) | global_batch(33) | shard(rank, ranks)).open({.threads = threads, .skip_bad = true});
        while (const auto batch = pipeline.next_batch()) {
          const auto& stand_ins = batch->facts().stand_ins;
          EXPECT_TRUE(std::ranges::is_sorted(stand_ins));
          for (std::int64_t i = 0; i < batch->size(); ++i)
            if (!std::ranges::binary_search(stand_ins, i)) counted.insert(batch->sample(i).features[0]);
        }
      }
      EXPECT_EQ(counted, expected) << ranks << " ranks, " << threads << " threads";
    }
}

TEST(StoredSource, WhatBecomesOfSamplesIsSeenFromTheFirst) {
  EXPECT_EQ(stored_preparation(Holey(5, {0, 1})), Preparation::Pictures);
  const auto pixels = std::make_shared<Numbered>(3);
  const StoredSource source({pixels, std::make_shared<Counting>(1), 1}, 0);
  EXPECT_EQ(preparation_of("pack", source), Preparation::Pictures);
}

TEST(StoredSource, CachedRecordsAreReadOnce) {
  class Counted : public Numbered {
   public:
    using Numbered::Numbered;
    Sample read(std::int64_t index) const override {
      ++reads;
      return Numbered::read(index);
    }
    mutable std::atomic<int> reads = 0;
  };
  const tests::Folder folder;
  const auto records = std::make_shared<Counted>(20);
  const auto kept = cached(records, (fs::path(folder.path()) / "cache").string());
  for (int round = 0; round < 3; ++round)
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(kept->read(i).at("number").number(), static_cast<double>(i));
  EXPECT_EQ(records->reads, 20);
}

TEST(StoredSource, TestSamplesAreWhereOneWouldLook) {
  const tests::Folder folder;
  const fs::path root = folder.path();
  const auto path = [&](Split split, const std::string& test = "") {
    return stored_path({.name = "images", .path = root.string(), .split = split, .test_path = test});
  };
  EXPECT_EQ(path(Split::Train), root);
  EXPECT_EQ(path(Split::Test), fs::path());
  EXPECT_EQ(path(Split::Test, "/elsewhere"), fs::path("/elsewhere"));
  fs::create_directories(root / "train");
  fs::create_directories(root / "val");
  EXPECT_EQ(path(Split::Train), root / "train");
  EXPECT_EQ(path(Split::Test), root / "val");
  EXPECT_NE(message_of([] { stored_path({.name = "images"}); }).find("set data.path"), std::string::npos);
}

TEST(StoredSource, PartsOfASplitShareTheFiles) {
  const ronde::tests::Folder folder;
  std::ofstream table(fs::path(folder.path()) / "a.csv");
  table << "x,class\n";
  for (int i = 0; i < 100; ++i) table << i << "," << i % 2 << "\n";
  table.close();
  const Parts parts = open_parts({.name = "csv", .path = (fs::path(folder.path()) / "a.csv").string()}, 0, "60/20/20");
  EXPECT_EQ(parts.train->size() + parts.validation->size() + parts.test->size(), 100);
  EXPECT_EQ(parts.train->stored()->records, parts.validation->stored()->records);
  EXPECT_EQ(parts.train->stored()->records, parts.test->stored()->records);
}

TEST(StoredSource, NumbersAreTakenAsTheyAre) {
  Sample first;
  Array row(Type::I16, {3});
  row.values<std::int16_t>()[1] = -5;
  first.set("image", row);
  first.set("class", Array::scalar<std::int64_t>(2));
  const auto decoder = make_array_decoder(first, Target::Class, 3);
  EXPECT_EQ(decoder->kind().width, 3);
  std::vector<float> features(3);
  std::vector<std::int64_t> classes(1);
  decoder->decode(first, {}, {.features = features, .classes = classes});
  EXPECT_EQ(features[1], -5.0f);
  EXPECT_EQ(classes[0], 2);
  first.set("class", Array::scalar<std::int64_t>(3));
  EXPECT_NE(message_of([&] {
              decoder->decode(first, {}, {.features = features, .classes = classes});
            }).find("its class is 3, but data.classes is 3"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::data
