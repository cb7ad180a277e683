#include <gtest/gtest.h>

#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;
using testing::MakeRun;
using testing::ms;

MadeEvidence in_f32(MachineRates rates) {
  MadeEvidence all(made(1, 10, {.work = {85}, .optimizer = 15}));
  all.facts.precision = "f32";
  all.rates = std::move(rates);
  return all;
}

TEST(PrecisionRule, WinsAsMuchAsTheMachineIsFaster) {
  const Advice advice = in_f32({.name = "made", .f32 = 1, .bf16 = 4}).only();
  EXPECT_EQ(advice.rule, "precision");
  EXPECT_EQ(advice.setting, "train.precision=bf16");
  EXPECT_NEAR(advice.gain, 0.85 * (1 - 1.0 / 4), 1e-9);
}

TEST(PrecisionRule, WinsOnlyWhatTheArithmeticNeeds) {
  MadeEvidence all = in_f32({.name = "made", .f32 = 1, .bf16 = 4});
  all.efficiency.computation = Factor{.key = "computation", .value = 0.4};
  const Advice advice = all.only();
  EXPECT_NEAR(advice.gain, 0.85 * 0.4 * (1 - 1.0 / 4), 1e-9);
  EXPECT_NE(advice.evidence.find("40 % of that is what its arithmetic needs"), std::string::npos) << advice.evidence;
}

TEST(PrecisionRule, SaysNothingWithoutAMachineThatIsFaster) {
  EXPECT_TRUE(in_f32({.name = "made", .f32 = 1, .bf16 = 1.19}).advice().empty());
  EXPECT_TRUE(in_f32({.name = "made", .f32 = 1, .bf16 = 0}).advice().empty());
  MadeEvidence all = in_f32({.name = "made", .f32 = 1, .bf16 = 4});
  all.facts.precision = "bf16";
  EXPECT_TRUE(all.advice().empty());
}

TEST(PrecisionRule, CountsTF32WhereItIsOn) {
  const MachineRates gpu{.name = "gpu", .kind = Hardware::Kind::Gpu, .f32 = 1, .tf32 = 3.5, .bf16 = 4};
  MadeEvidence all = in_f32(gpu);
  EXPECT_TRUE(all.advice().empty());
  all.facts.settings["device.tf32"] = "false";
  EXPECT_NEAR(all.only().gain, 0.85 * 0.75, 1e-9);
}

MadeEvidence with_optimizer(double optimizer) {
  MadeEvidence all(made(1, 10, {.work = {100 - optimizer}, .optimizer = optimizer}));
  all.facts.batch = 64;
  return all;
}

TEST(BatchRule, HalvesWhatAStepCostsOnce) {
  MadeEvidence all = with_optimizer(25);
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "batch");
  EXPECT_EQ(advice.setting, "train.batch=128");
  EXPECT_NEAR(advice.gain, 0.125, 1e-9);
  all.facts.memory_bytes = 51;
  all.facts.memory_limit_bytes = 100;
  EXPECT_TRUE(all.advice().empty()) << "it would not fit";
  EXPECT_TRUE(with_optimizer(19).advice().empty());
}

TEST(BatchRule, FindsADeviceThatHasNothingToDo) {
  const auto with_kernels = [](double busy) {
    MakeRun make = made(1, 10, {.work = {100}});
    for (int step = 0; step < 10; ++step)
      make.span(0, "gpu 0 stream 7", "gemm", ms(100 * step), ms(100 * step + busy), "kernel");
    MadeEvidence all(make.take());
    all.facts.batch = 64;
    return all;
  };
  const Advice advice = with_kernels(50).only();
  EXPECT_EQ(advice.rule, "batch");
  EXPECT_NEAR(advice.gain, 0.25, 1e-9);
  EXPECT_NE(advice.evidence.find("500 ms of 1 s"), std::string::npos) << advice.evidence;
  EXPECT_TRUE(with_kernels(81).advice().empty());
}

}  // namespace
}  // namespace ronde::report
