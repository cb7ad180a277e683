#include "ronde/report/rules/python_program.h"

#include <gtest/gtest.h>

#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;

MadeEvidence program(MadeEvidence all) {
  all.facts.settings["program"] = "train.py";
  all.facts.cores = 8;
  return all;
}

// What is advised has the names of PyTorch, which are no settings of ours.
Advice only(const MadeEvidence& all) {
  const std::vector<Advice> found = advise(all.evidence());
  EXPECT_EQ(found.size(), 1U);
  if (found.empty()) return {};
  EXPECT_EQ(flag_of(found.front().setting), "");
  return found.front();
}

// 20 of 100 ms a step are waits for input.
Advice waiting(std::map<std::string, std::string> settings, const char* device = "cpu") {
  MadeEvidence all = program(MadeEvidence(made(2, 10, {.work = {70, 70}, .input = 20, .optimizer = 10})));
  all.facts.settings.merge(settings);
  all.facts.device = device;
  return only(all);
}

TEST(PythonProgram, OnlyOneThatSaysSoIsOne) {
  JobFacts facts;
  EXPECT_FALSE(rules::is_python_program(facts));
  facts.settings["program"] = "train.py";
  EXPECT_TRUE(rules::is_python_program(facts));
}

TEST(PythonProgram, InputIsAMatterOfWorkers) {
  const Advice none = waiting({{"DataLoader.num_workers", "0"}});
  EXPECT_EQ(none.rule, "input");
  EXPECT_EQ(none.setting, "num_workers=4") << "8 cores for 2 ranks";
  EXPECT_NE(none.change.find("num_workers=0"), std::string::npos) << none.change;
  EXPECT_EQ(waiting({{"DataLoader.num_workers", "2"}}).setting, "num_workers=4");
  EXPECT_EQ(waiting({{"DataLoader.num_workers", "4"}}).setting, "");
  EXPECT_EQ(waiting({{"DataLoader.num_workers", "4"}, {"DataLoader.persistent_workers", "False"}}).setting,
            "persistent_workers=True");
  EXPECT_EQ(waiting({{"DataLoader.num_workers", "4"}, {"DataLoader.pin_memory", "False"}}, "NVIDIA H200").setting,
            "pin_memory=True");
  EXPECT_EQ(waiting({{"DataLoader.num_workers", "4"}, {"DataLoader.pin_memory", "False"}}).setting, "")
      << "there is no GPU to copy to";
  EXPECT_EQ(waiting({}).setting, "") << "a program without DataLoader";
}

TEST(PythonProgram, PrecisionIsThatOfAutocast) {
  MadeEvidence slow = program(MadeEvidence(made(1, 10, {.work = {80}, .optimizer = 20})));
  slow.facts.precision = "f32";
  slow.rates = MachineRates{.name = "made", .f32 = 1, .bf16 = 4};
  EXPECT_EQ(only(slow).setting, "torch.autocast(\"cpu\", dtype=torch.bfloat16)");
}

TEST(PythonProgram, ItsBatchIsThatOfOneRank) {
  MadeEvidence small = program(MadeEvidence(made(2, 10, {.work = {40, 40}, .optimizer = 60})));
  small.facts.batch = 64;
  small.facts.memory_bytes = 1;
  small.facts.memory_limit_bytes = 100;
  const Advice advice = only(small);
  EXPECT_EQ(advice.rule, "batch");
  EXPECT_EQ(advice.setting, "batch_size=64");
  EXPECT_EQ(advice.change.find("optimizer.lr_scaling"), std::string::npos) << advice.change;
}

Advice said(const char* parallel, const char* before) {
  MadeEvidence all = program(MadeEvidence(made(2, 10, {.work = {70, 70}})));
  if (*parallel) all.facts.settings["parallel"] = parallel;
  Advice advice{.rule = "communication", .change = "as for 'ronde train'", .setting = before};
  rules::say_for_python(all.evidence(), advice);
  return advice;
}

TEST(PythonProgram, CommunicationIsThatOfWhatItUses) {
  EXPECT_EQ(said("DistributedDataParallel", "comm.autotune=true").setting, "bucket_cap_mb=100");
  EXPECT_EQ(said("DistributedDataParallel", "train.compression=bf16").setting,
            "register_comm_hook(None, bf16_compress_hook)");
  EXPECT_EQ(said("DistributedOptimizer", "comm.autotune=true").setting, "RONDE_COMM_AUTOTUNE=true");
  EXPECT_EQ(said("DistributedOptimizer", "train.compression=bf16").setting,
            "DistributedOptimizer(compression=hvd.Compression.fp16)");
  EXPECT_EQ(said("DistributedOptimizer", "train.batch=128").setting, "batch_size=64");
  EXPECT_EQ(said("", "comm.autotune=true").setting, "");
}

TEST(PythonProgram, ThreadsAreTorchs) {
  MadeEvidence all = program(MadeEvidence(made(2, 10, {.work = {70, 70}})));
  all.facts.threads = 1;
  Advice advice{.rule = "computation", .setting = "train.batch=128"};
  rules::say_for_python(all.evidence(), advice);
  EXPECT_EQ(advice.setting, "torch.set_num_threads(4)");
  all.facts.threads = 4;
  advice.setting = "train.batch=128";
  rules::say_for_python(all.evidence(), advice);
  EXPECT_EQ(advice.setting, "batch_size=64");
}

}  // namespace
}  // namespace ronde::report
