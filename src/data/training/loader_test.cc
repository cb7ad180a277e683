#include "ronde/data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/order/order.h"
#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/sample.h"
#include "ronde/trace/span.h"

namespace ronde::data {
namespace {

using namespace std::chrono_literals;

// Sample i of epoch e is {i, e}, of class i mod 7. Fails or dawdles on request.
class Numbers : public Source {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}
  std::string name() const override { return "numbers"; }
  SampleKind kind() const override { return {.channels = 1, .height = 1, .width = 2, .classes = 7}; }
  std::int64_t size() const override { return size_; }
  bool filled_once() const override { return once; }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    ++reads;
    if (index == bad) throw Error::bad_input("numbers: sample {} is bad", index);
    if (pause > 0ns) std::this_thread::sleep_for(pause);
    into.features[0] = static_cast<float>(index);
    into.features[1] = static_cast<float>(epoch);
    into.classes[0] = index % 7;
  }
  std::int64_t bad = -1;
  std::chrono::nanoseconds pause{0};
  bool once = false;
  mutable std::atomic<int> reads{0};

 private:
  const std::int64_t size_;
};

struct Seen {
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  std::vector<float> flags;
  Batch::Facts facts;
};

std::vector<Seen> all_of(const Source& source, const LoaderOptions& options) {
  std::vector<Seen> batches;
  Loader loader(source, options);
  while (auto batch = loader.next())
    batches.push_back({{batch->features().begin(), batch->features().end()},
                       {batch->classes().begin(), batch->classes().end()},
                       {batch->flags().begin(), batch->flags().end()},
                       batch->facts()});
  return batches;
}

void append(Seen& to, const Seen& from) {
  to.features.insert(to.features.end(), from.features.begin(), from.features.end());
  to.labels.insert(to.labels.end(), from.labels.begin(), from.labels.end());
  to.flags.insert(to.flags.end(), from.flags.begin(), from.flags.end());
}

TEST(Loader, GlobalBatchesHoldTheSameBytesForAnyNumberOfRanks) {
  const auto source = open_source({.name = "glyphs", .samples = 103, .resolution = 6});
  const LoaderOptions options{.batch = 10, .start = {.seed = 9}, .end_epoch = 3};
  const auto alone = all_of(*source, options);
  ASSERT_EQ(alone.size(), 33u);
  for (const int ranks : {2, 3, 4, 13}) {
    std::vector<Seen> joined(alone.size());
    for (int rank = 0; rank < ranks; ++rank) {
      LoaderOptions mine = options;
      mine.rank = rank;
      mine.ranks = ranks;
      const auto part = all_of(*source, mine);
      ASSERT_EQ(part.size(), alone.size()) << "ranks must take the same number of steps";
      for (std::size_t i = 0; i < part.size(); ++i) {
        append(joined[i], part[i]);
        EXPECT_EQ(part[i].facts.global, alone[i].facts.global);
        EXPECT_EQ(part[i].facts.after, alone[i].facts.after);
      }
    }
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(joined[i].features, alone[i].features) << ranks << " ranks, batch " << i;
      EXPECT_EQ(joined[i].labels, alone[i].labels);
    }
  }
}

TEST(Loader, TargetsOfAnyShapeComeWithTheirSamples) {
  for (const Target target : {Target::Class, Target::Labels, Target::Mask, Target::Input}) {
    const auto source = open_source({.samples = 20, .classes = 3, .resolution = 6, .target = target});
    Seen joined, expected;
    for (int rank = 0; rank < 3; ++rank)
      for (const Seen& part : all_of(*source, {.batch = 20, .rank = rank, .ranks = 3})) append(joined, part);
    const Order order(20, 0, 0);
    for (std::int64_t place = 0; place < 20; ++place) {
      const FilledSample sample = sample_of(*source, order[place]);
      append(expected, {sample.features, sample.classes, sample.flags, {}});
    }
    EXPECT_EQ(joined.features, expected.features) << name(target);
    EXPECT_EQ(joined.labels, expected.labels) << name(target);
    EXPECT_EQ(joined.flags, expected.flags) << name(target);
    const std::size_t classes[] = {20, 0, 20 * 36, 0}, flags[] = {0, 20 * 3, 0, 0};
    EXPECT_EQ(joined.labels.size(), classes[static_cast<std::size_t>(target)]);
    EXPECT_EQ(joined.flags.size(), flags[static_cast<std::size_t>(target)]);
  }
}

TEST(Loader, EveryEpochHasEverySampleOnceInAnOrderOfItsOwn) {
  const Numbers source(50);
  const auto batches = all_of(source, {.batch = 8, .end_epoch = 2});
  ASSERT_EQ(batches.size(), 14u);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    const Order order(50, 0, epoch);
    std::int64_t place = 0;
    for (std::size_t b = 0; b < 7; ++b) {
      const Seen& batch = batches[static_cast<std::size_t>(7 * epoch) + b];
      EXPECT_EQ(batch.facts.epoch, epoch);
      EXPECT_EQ(batch.facts.index, static_cast<std::int64_t>(b));
      EXPECT_EQ(batch.facts.ends_epoch, b == 6);
      for (std::size_t i = 0; i < batch.labels.size(); ++i, ++place) {
        EXPECT_EQ(batch.features[2 * i], static_cast<float>(order[place]));
        EXPECT_EQ(batch.features[2 * i + 1], static_cast<float>(epoch));
        EXPECT_EQ(batch.labels[i], order[place] % 7);
      }
    }
    EXPECT_EQ(place, 50);
  }
}

TEST(Loader, ResumingGivesExactlyTheRest) {
  const Numbers source(23);
  LoaderOptions options{.batch = 5, .start = {.seed = 3}, .end_epoch = 3};
  const auto all = all_of(source, options);
  for (std::size_t done = 0; done < all.size(); ++done) {
    options.start = parse_position(to_text(all[done].facts.after));
    const auto rest = all_of(source, options);
    ASSERT_EQ(rest.size(), all.size() - done - 1);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      EXPECT_EQ(rest[i].features, all[done + 1 + i].features);
      EXPECT_EQ(rest[i].facts.index, all[done + 1 + i].facts.index);
    }
  }
}

TEST(Loader, AnotherBatchSizeGoesOnWithTheSamplesThatAreLeft) {
  const Numbers source(20);
  Seen used, rest;
  Position at;
  {
    Loader loader(source, {.batch = 6});
    const auto first = loader.next();
    used.features.assign(first->features().begin(), first->features().end());
    at = first->facts().after;
  }
  for (const Seen& batch : all_of(source, {.batch = 4, .start = at})) append(used, batch);
  for (const Seen& batch : all_of(source, {.batch = 20})) append(rest, batch);
  EXPECT_EQ(used.features, rest.features);
}

TEST(Loader, EvaluationGoesThroughTheSourceAsItIs) {
  const Numbers source(7);
  const auto batches = all_of(source, {.batch = 4, .shuffle = false});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].labels, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(batches[1].labels, (std::vector<std::int64_t>{4, 5, 6}));
  const auto dropped = all_of(source, {.batch = 4, .shuffle = false, .keep_short = false});
  EXPECT_EQ(dropped.size(), 1u);
}

TEST(Loader, MemoryIsAlignedUsedAgainAndMayOutliveTheLoader) {
  const Numbers source(1000);
  std::optional<Batch> kept;
  std::vector<const float*> places;
  {
    Loader loader(source, {.batch = 10, .shuffle = false, .pipeline = {.ahead = 2}});
    kept = loader.next();
    while (auto batch = loader.next()) {
      const float* place = batch->features().data();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0u);
      if (std::ranges::find(places, place) == places.end()) places.push_back(place);
    }
  }
  EXPECT_LE(places.size(), 5u) << "two ahead, one being filled, one in use, one on its way back";
  EXPECT_EQ(kept->classes()[3], 3);
  EXPECT_EQ(kept->features()[6], 3.0f);
}

TEST(Loader, WhoeverKeepsAllBatchesIsNotStuck) {
  const Numbers source(100);
  Loader loader(source, {.batch = 10, .shuffle = false, .pipeline = {.ahead = 1}});
  std::vector<Batch> all;
  while (auto batch = loader.next()) all.push_back(std::move(*batch));
  ASSERT_EQ(all.size(), 10u);
  for (std::size_t b = 0; b < 10; ++b) EXPECT_EQ(all[b].features()[0], static_cast<float>(10 * b));
}

TEST(Loader, ErrorsOfTheSourceArriveAfterTheBatchesBefore) {
  Numbers source(10);
  source.bad = 7;
  Loader loader(source, {.batch = 3, .shuffle = false});
  EXPECT_TRUE(loader.next());
  EXPECT_TRUE(loader.next());
  EXPECT_EQ(message_of([&] { loader.next(); }), "numbers: sample 7 is bad");
  EXPECT_EQ(message_of([&] { loader.next(); }), "numbers: sample 7 is bad") << "also when asked again";
}

TEST(Loader, MayGoWhileItsThreadIsBlockedOrAtWork) {
  Numbers source(1'000'000);
  { Loader unused(source, {.batch = 1}); }
  {
    Loader full(source, {.batch = 1});
    EXPECT_TRUE(full.next());
    std::this_thread::sleep_for(5ms);  // its thread waits for room
  }
  source.pause = 1ms;
  const auto before = std::chrono::steady_clock::now();
  { Loader busy(source, {.batch = 100'000}); }
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s) << "one batch would take more than 100 s";
}

TEST(Loader, CountsTheTimeThatIsWaitedForInput) {
  Numbers slow(4);
  slow.pause = 20ms;
  Loader loader(slow, {.batch = 1});
  while (loader.next()) {
  }
  EXPECT_GE(loader.waited(), 60ms);
}

TEST(Loader, WhatIsFilledOnceIsNotFilledAgain) {
  Numbers source(1000);
  source.once = true;
  Loader loader(source, {.batch = 10, .pipeline = {.ahead = 2}});
  int batches = 0;
  while (auto batch = loader.next()) {
    ++batches;
    EXPECT_EQ(batch->classes()[5], static_cast<std::int64_t>(batch->features()[10]) % 7);
  }
  EXPECT_EQ(batches, 100);
  EXPECT_LE(source.reads, 50);
}

TEST(Loader, RanksWithoutAnySampleStillGetTheirBatches) {
  const Numbers source(2);
  const auto batches = all_of(source, {.batch = 2, .rank = 3, .ranks = 4, .end_epoch = 2});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].facts.local.size(), 0);
  EXPECT_EQ(batches[0].facts.global.size(), 2);
  EXPECT_TRUE(all_of(Numbers(0), {.batch = 2}).empty());
}

TEST(Loader, RefusesWhatCannotBe) {
  const Numbers source(10);
  EXPECT_EQ(message_of([&] { Loader(source, {.batch = 0}); }), "batch size must be at least 1, got 0");
  EXPECT_EQ(message_of([&] { Loader(source, {.rank = 2, .ranks = 2}); }), "rank 2 is out of range for 2 ranks");
  EXPECT_EQ(message_of([&] { Loader(source, {.start = {.position = 11}}); }),
            "'numbers' with 10 samples cannot continue from epoch=0 position=11 seed=0");
  EXPECT_EQ(message_of([&] { Loader(source, {.batch = 11, .keep_short = false}); }),
            "'numbers' has 10 samples, fewer than one batch of 11");
}

TEST(Loader, RecordsItsWork) {
  const Folder folder;
  const auto file = folder.path() / "trace";
  {
    trace::Recorder recorder({.file = file});
    const Numbers source(10);
    const trace::Scope scope(recorder, "training");
    Loader loader(source, {.batch = 5, .pipeline = {.recorder = &recorder}});
    while (loader.next()) {
    }
  }
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(content.find("wait for input"), std::string::npos);
  EXPECT_NE(content.find("samples"), std::string::npos);
}

}  // namespace
}  // namespace ronde::data
