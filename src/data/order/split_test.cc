#include "ronde/data/order/split.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/sample.h"

namespace ronde::data {
namespace {

TEST(Shares, AreRead) {
  EXPECT_EQ(parse_shares("60/20/20"), (Shares{60, 20, 20}));
  EXPECT_EQ(parse_shares(" 99.5 / 0.5 / 0 "), (Shares{99.5, 0.5, 0}));
}

TEST(Shares, ThatCannotBeAreRefused) {
  for (const char* text : {"60/20", "60/20/20/0", "60/20/30", "a/b/c", "60,20,20", "120/-20/0", "nan/0/0", "//", "100"})
    EXPECT_EQ(message_of([&] { (void)parse_shares(text); }),
              fmt::format("data.split must be the shares of training, validation and test in percent, for example "
                          "60/20/20, and add up to 100; got '{}'",
                          text));
  EXPECT_EQ(message_of([] { (void)parse_shares("0/50/50"); }),
            "data.split is '0/50/50', which leaves no samples for training");
}

TEST(Cut, PartsAreAllOfIt) {
  for (const std::int64_t samples : {5, 7, 100, 1001, 590326}) {
    const Cuts cuts = cut({60, 20, 20}, samples);
    EXPECT_EQ(cuts.train.begin, 0);
    EXPECT_EQ(cuts.train.end, cuts.validation.begin);
    EXPECT_EQ(cuts.validation.end, cuts.test.begin);
    EXPECT_EQ(cuts.test.end, samples);
    EXPECT_NEAR(static_cast<double>(cuts.train.size()), 0.6 * static_cast<double>(samples), 0.5);
  }
  EXPECT_EQ(cut({100, 0, 0}, 3).train, (Range{0, 3}));
  EXPECT_EQ(message_of([] { (void)cut({98, 1, 1}, 10); }),
            "data.split gives 1 % of 10 samples to validation: less than one sample");
}

// Which samples of the whole the parts hold, found by what they look like.
std::vector<std::set<std::vector<float>>> looks_of(const Parts& parts) {
  std::vector<std::set<std::vector<float>>> all;
  for (const Source* part : {parts.train.get(), parts.validation.get(), parts.test.get()}) {
    auto& looks = all.emplace_back();
    for (std::int64_t i = 0; i < part->size(); ++i) looks.insert(sample_of(*part, i).features);
    EXPECT_EQ(looks.size(), static_cast<std::size_t>(part->size()));
  }
  return all;
}

TEST(Parts, HoldEachSampleOnce) {
  const SourceOptions options{.samples = 100, .resolution = 6, .seed = 3};
  const auto looks = looks_of(open_parts(options, 0, "60/20/20"));
  EXPECT_EQ(looks[0].size(), 60u);
  EXPECT_EQ(looks[1].size(), 20u);
  EXPECT_EQ(looks[2].size(), 20u);
  std::set<std::vector<float>> joined, whole;
  for (const auto& part : looks) joined.insert(part.begin(), part.end());
  const auto source = open_source(options);
  for (std::int64_t i = 0; i < 100; ++i) whole.insert(sample_of(*source, i).features);
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(looks_of(open_parts(options, 0, "60/20/20")), looks) << "every time the same";
}

TEST(Parts, HaveASeedOfTheirOwn) {
  // Sample i is the same whatever the seed: only which part has it may change.
  const auto train = [](std::uint64_t split_seed) {
    const SourceOptions options{.samples = 100, .resolution = 6, .seed = 3};
    return looks_of(open_parts(options, 0, "60/20/20", split_seed))[0];
  };
  EXPECT_EQ(train(1), train(1));
  EXPECT_NE(train(1), train(2));
  const auto classes = [](std::uint64_t seed) {
    const Parts parts = open_parts({.samples = 100, .resolution = 6, .seed = seed}, 0, "50/25/25", 1);
    std::vector<std::int64_t> all;  // sample i of the whole is of class i mod 10
    for (std::int64_t i = 0; i < 50; ++i) all.push_back(sample_of(*parts.train, i).classes[0]);
    return all;
  };
  EXPECT_EQ(classes(1), classes(2)) << "train.seed moves no sample from one part to another";
}

TEST(Parts, AreChosenBySeedAndNotByPlace) {
  const Parts parts = open_parts({.samples = 100, .resolution = 6}, 0, "50/25/25");
  std::set<std::int64_t> classes;
  for (std::int64_t i = 0; i < 10; ++i) classes.insert(sample_of(*parts.train, i).classes[0]);
  EXPECT_GT(classes.size(), 3u);
  EXPECT_LT(classes.size(), 10u) << "sample i of the whole is of class i mod 10";
}

TEST(Parts, WithoutSharesAreAsTheyCome) {
  const Parts parts = open_parts({.samples = 30, .resolution = 6}, 7, "");
  EXPECT_EQ(parts.train->size(), 30);
  EXPECT_EQ(parts.validation, nullptr);
  EXPECT_EQ(parts.test->size(), 7);
  EXPECT_EQ(sample_of(*parts.train, 4), sample_of(*open_source({.samples = 30, .resolution = 6}), 4));
  const Parts held = open_parts({.samples = 30, .resolution = 6}, 7, "90/10/0");
  EXPECT_EQ(held.train->size(), 27);
  EXPECT_EQ(held.validation->size(), 3);
  EXPECT_EQ(sample_of(*held.test, 4), sample_of(*parts.test, 4)) << "no share for testing: as it comes";
}

TEST(Parts, OfWhatComesSplitTakeNothingForTesting) {
  EXPECT_EQ(
      message_of([] { (void)open_parts({.name = "mnist"}, 0, "60/20/20"); }),
      "data.split is '60/20/20', but 'mnist' has its own test samples: the share of test must be 0, as in 90/10/0");
}

TEST(Parts, OnlyThatForTrainingIsAugmented) {
  const Folder folder;
  std::vector<std::uint8_t> record(3073, 0);
  for (std::size_t i = 1; i < record.size(); ++i) record[i] = static_cast<std::uint8_t>(i % 251);
  std::vector<std::uint8_t> two = record;
  two.insert(two.end(), record.begin(), record.end());
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"})
    folder.write(name, two);
  const Parts parts = open_parts({.name = "cifar10", .path = folder.text(), .augment = true}, 0, "50/50/0");
  ASSERT_EQ(parts.train->size(), 5);
  int changes = 0;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    changes += sample_of(*parts.train, 0, epoch) != sample_of(*parts.train, 0, epoch + 1);
    EXPECT_EQ(sample_of(*parts.validation, 0, epoch), sample_of(*parts.validation, 0, epoch + 1));
  }
  EXPECT_GT(changes, 5);
  EXPECT_EQ(parts.test->size(), 2);
}

}  // namespace
}  // namespace ronde::data
