// Batches of a source as training takes them: Pipeline::next_batch().
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/dataset.h"
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
    if (index == bad) throw Error::bad_input("it is bad");
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

std::vector<Seen> all_of(const Dataset& dataset, std::optional<Position> start = {}) {
  std::vector<Seen> batches;
  Pipeline pipeline = dataset.open({}, start);
  while (auto batch = pipeline.next_batch())
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

TEST(Batches, GlobalBatchesHoldTheSameBytesForAnyNumberOfRanks) {
  const auto source = open_source({.name = "glyphs", .samples = 103, .resolution = 6});
  const Dataset batches = from_source(*source) | shuffle(9) | global_batch(10) | repeat(3);
  const auto alone = all_of(batches);
  ASSERT_EQ(alone.size(), 33u);
  for (const int ranks : {2, 3, 4, 13}) {
    std::vector<Seen> joined(alone.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto part = all_of(batches | shard(rank, ranks));
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

TEST(Batches, TargetsOfAnyShapeComeWithTheirSamples) {
  for (const Target target : {Target::Class, Target::Labels, Target::Mask, Target::Input}) {
    const auto source = open_source({.samples = 20, .classes = 3, .resolution = 6, .target = target});
    Seen joined, expected;
    for (int rank = 0; rank < 3; ++rank)
      for (const Seen& part : all_of(from_source(*source) | shuffle(0) | global_batch(20) | shard(rank, 3)))
        append(joined, part);
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

TEST(Batches, EveryEpochHasEverySampleOnceInAnOrderOfItsOwn) {
  const Numbers source(50);
  const auto batches = all_of(from_source(source) | shuffle(0) | batch(8) | repeat(2));
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

TEST(Batches, ResumingGivesExactlyTheRest) {
  const Numbers source(23);
  const Dataset batches = from_source(source) | shuffle(3) | batch(5) | repeat(3);
  const auto all = all_of(batches);
  for (std::size_t done = 0; done < all.size(); ++done) {
    const auto rest = all_of(batches, parse_position(to_text(all[done].facts.after)));
    ASSERT_EQ(rest.size(), all.size() - done - 1);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      EXPECT_EQ(rest[i].features, all[done + 1 + i].features);
      EXPECT_EQ(rest[i].facts.index, all[done + 1 + i].facts.index);
    }
  }
}

TEST(Batches, AnotherBatchSizeGoesOnWithTheSamplesThatAreLeft) {
  const Numbers source(20);
  const Dataset ordered = from_source(source) | shuffle(0);
  Seen used, rest;
  Position at;
  {
    Pipeline pipeline = (ordered | batch(6)).open();
    const auto first = pipeline.next_batch();
    used.features.assign(first->features().begin(), first->features().end());
    at = first->facts().after;
    EXPECT_EQ(pipeline.position(), at);
  }
  for (const Seen& seen : all_of(ordered | batch(4), at)) append(used, seen);
  for (const Seen& seen : all_of(ordered | batch(20))) append(rest, seen);
  EXPECT_EQ(used.features, rest.features);
}

TEST(Batches, EvaluationGoesThroughTheSourceAsItIs) {
  const Numbers source(7);
  const auto batches = all_of(from_source(source) | batch(4));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].labels, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(batches[1].labels, (std::vector<std::int64_t>{4, 5, 6}));
  const auto dropped = all_of(from_source(source) | batch(4, steps::Last::Drop));
  EXPECT_EQ(dropped.size(), 1u);
}

TEST(Batches, MemoryIsAlignedUsedAgainAndMayOutliveThePipeline) {
  const Numbers source(1000);
  std::optional<Batch> kept;
  std::vector<const float*> places;
  {
    Pipeline pipeline = (from_source(source) | batch(10)).open({.ahead = 2});
    kept = pipeline.next_batch();
    while (auto batch = pipeline.next_batch()) {
      const float* place = batch->features().data();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0u);
      if (std::ranges::find(places, place) == places.end()) places.push_back(place);
    }
  }
  EXPECT_LE(places.size(), 5u) << "two ahead, one being filled, one in use, one on its way back";
  EXPECT_EQ(kept->classes()[3], 3);
  EXPECT_EQ(kept->features()[6], 3.0f);
}

TEST(Batches, WhoeverKeepsAllBatchesIsNotStuck) {
  const Numbers source(100);
  Pipeline pipeline = (from_source(source) | batch(10)).open({.ahead = 1});
  std::vector<Batch> all;
  while (auto batch = pipeline.next_batch()) all.push_back(std::move(*batch));
  ASSERT_EQ(all.size(), 10u);
  for (std::size_t b = 0; b < 10; ++b) EXPECT_EQ(all[b].features()[0], static_cast<float>(10 * b));
}

TEST(Batches, ErrorsOfTheSourceArriveAfterTheBatchesBefore) {
  Numbers source(10);
  source.bad = 7;
  Pipeline pipeline = (from_source(source) | batch(3)).open();
  EXPECT_TRUE(pipeline.next_batch());
  EXPECT_TRUE(pipeline.next_batch());
  const std::string expected = "numbers, sample 7: it is bad (set data.on_error=skip to leave out such samples)";
  EXPECT_EQ(message_of([&] { pipeline.next_batch(); }), expected);
  EXPECT_EQ(message_of([&] { pipeline.next_batch(); }), expected) << "also when asked again";
}

TEST(Batches, MayGoWhileItsThreadIsBlockedOrAtWork) {
  Numbers source(1'000'000);
  { const Pipeline unused = (from_source(source) | shuffle(0) | batch(1)).open(); }
  {
    Pipeline full = (from_source(source) | shuffle(0) | batch(1)).open();
    EXPECT_TRUE(full.next_batch());
    std::this_thread::sleep_for(5ms);  // its thread waits for room
  }
  source.pause = 1ms;
  const auto before = std::chrono::steady_clock::now();
  { const Pipeline busy = (from_source(source) | shuffle(0) | batch(100'000)).open(); }
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s) << "one batch would take more than 100 s";
}

TEST(Batches, CountsTheTimeThatIsWaitedForInput) {
  Numbers slow(4);
  slow.pause = 20ms;
  Pipeline pipeline = (from_source(slow) | batch(1)).open();
  while (pipeline.next_batch()) {
  }
  EXPECT_GE(pipeline.waited(), 60ms);
}

TEST(Batches, WhatIsFilledOnceIsNotFilledAgain) {
  Numbers source(1000);
  source.once = true;
  Pipeline pipeline = (from_source(source) | shuffle(0) | batch(10)).open({.ahead = 2});
  int batches = 0;
  while (auto batch = pipeline.next_batch()) {
    ++batches;
    EXPECT_EQ(batch->classes()[5], static_cast<std::int64_t>(batch->features()[10]) % 7);
  }
  EXPECT_EQ(batches, 100);
  EXPECT_LE(source.reads, 50);
}

TEST(Batches, AnOrderThatIsNotShuffledKeepsTheSeedOfItsPosition) {
  const Numbers source(6);
  const auto rest = all_of(from_source(source) | batch(2), Position{.position = 4, .seed = 12});
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].labels, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(rest[0].facts.after.seed, 12u);
}

TEST(Batches, RanksWithoutAnySampleStillGetTheirBatches) {
  const Numbers source(2);
  const auto batches = all_of(from_source(source) | batch(2) | shard(3, 4) | repeat(2));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].facts.local.size(), 0);
  EXPECT_EQ(batches[0].facts.global.size(), 2);
  const Numbers none(0);
  EXPECT_TRUE(all_of(from_source(none) | batch(2)).empty());
}

TEST(Batches, RefusesWhatCannotBe) {
  const Numbers source(10);
  const Dataset numbers = from_source(source);
  EXPECT_EQ(message_of([&] { (numbers | batch(2)).open({}, Position{.position = 11}); }),
            "'numbers' with 10 samples cannot continue from epoch=0 position=11 seed=0");
  EXPECT_EQ(message_of([&] { (numbers | batch(11, steps::Last::Drop)).open(); }),
            "'numbers' has 10 samples, fewer than one batch of 11");
  const auto same = [](Sample sample) { return sample; };
  for (const Dataset& other : {numbers, numbers | map(same) | batch(2), numbers | batch(2) | map_batch(same)})
    EXPECT_NE(message_of([&] { other.open().next_batch(); }).find("needs batches that a decoder fills"),
              std::string::npos);
}

TEST(Batches, RecordsItsWork) {
  const Folder folder;
  const auto file = folder.path() / "trace";
  {
    trace::Recorder recorder({.file = file});
    const Numbers source(10);
    const trace::Scope scope(recorder, "training");
    Pipeline pipeline = (from_source(source) | batch(5)).open({.recorder = &recorder});
    while (pipeline.next_batch()) {
    }
  }
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(content.find("wait for input"), std::string::npos);
  EXPECT_NE(content.find("samples"), std::string::npos);
}

}  // namespace
}  // namespace ronde::data
