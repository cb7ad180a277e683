#include <gtest/gtest.h>

#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;

// 20 of 100 ms a step are waits for input.
MadeEvidence waiting(const InputStage& stage) {
  MadeEvidence all(made(2, 10, {.work = {70, 70}, .input = 20, .optimizer = 10}));
  all.input = InputLimit{.limit = stage.name, .stages = {stage}};
  all.facts.data = "images";
  all.facts.settings["data.path"] = "pictures";
  all.facts.cores = 8;
  return all;
}

TEST(InputRule, NamesTheStageAndTheCeiling) {
  MadeEvidence all = waiting({.name = "decode", .threads = 2});
  all.facts.settings["data.threads"] = "2";
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "input");
  EXPECT_NEAR(advice.gain, 0.2, 1e-9);
  EXPECT_EQ(advice.setting, "data.threads=4") << "8 cores for 2 ranks";
  EXPECT_NE(advice.evidence.find("200 ms of 1 s for input (20 %)"), std::string::npos) << advice.evidence;
  EXPECT_NE(advice.evidence.find("'decode' (2 threads per rank)"), std::string::npos) << advice.evidence;
  ASSERT_TRUE(advice.at);
  EXPECT_EQ(advice.at->step, 0);
  EXPECT_NEAR(advice.at->end, 0.02, 1e-9);
}

TEST(InputRule, PreprocessesOfflineWhereAllCoresDecodeAlready) {
  const Advice advice = waiting({.name = "decode", .threads = 4}).only();
  EXPECT_EQ(advice.setting, "data.name=pack");
  EXPECT_NE(advice.change.find("ronde data pack pictures PACK --shuffle --short-side"), std::string::npos);
  EXPECT_EQ(waiting({.name = "tokenize", .threads = 4}).only().setting, "") << "no setting makes a function cheaper";
}

TEST(InputRule, APackIsNotToldToBePacked) {
  MadeEvidence decoding = waiting({.name = "decode", .threads = 4});
  decoding.facts.data = "pack";
  const Advice decode = decoding.only();
  EXPECT_EQ(decode.setting, "");
  EXPECT_EQ(decode.change.find("data pack"), std::string::npos) << decode.change;
  EXPECT_NE(decode.change.find("fewer augmentations"), std::string::npos) << decode.change;
  MadeEvidence reading = waiting({.name = "read", .item_bytes = 1e6});
  reading.facts.settings["data.cache"] = "ram";
  EXPECT_NE(reading.only().change.find("'ronde data pack'"), std::string::npos) << "files of pictures may be packed";
  reading.facts.data = "pack";
  EXPECT_EQ(reading.only().change,
            "Copy the files to a disk of the node before training: 'ronde run --stage pictures'.");
}

TEST(InputRule, PacksSmallFilesAndCachesLargeOnes) {
  const Advice small = waiting({.name = "read", .item_bytes = 100e3}).only();
  EXPECT_EQ(small.rule, "small_files");
  EXPECT_EQ(small.setting, "data.name=pack");
  EXPECT_NEAR(small.gain, 0.2, 1e-9);
  const Advice large = waiting({.name = "read", .item_bytes = 1e6}).only();
  EXPECT_EQ(large.rule, "input");
  EXPECT_EQ(large.setting, "data.cache=ram");
  MadeEvidence packed = waiting({.name = "read", .item_bytes = 100e3});
  packed.facts.data = "pack";
  EXPECT_EQ(packed.only().rule, "input") << "small samples in large files are no small files";
  packed.facts.settings["data.cache"] = "ram";
  EXPECT_EQ(packed.only().setting, "");
}

TEST(InputRule, EvensOutWavesWhereNoStageLimits) {
  MadeEvidence all = waiting({});
  all.facts.settings["data.prefetch"] = "1";
  EXPECT_EQ(all.only().setting, "data.prefetch=0");
}

TEST(InputRule, SaysNothingBelowItsThreshold) {
  // 1.9 of 100 ms.
  MadeEvidence all(made(2, 10, {.work = {88.1, 88.1}, .input = 1.9, .optimizer = 10}));
  all.input = InputLimit{.limit = "decode"};
  EXPECT_TRUE(all.advice().empty());
}

}  // namespace
}  // namespace ronde::report
