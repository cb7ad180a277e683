#include "ronde/train/limits/machine_rates.h"
#include "ronde/base/settings/settings.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/testing/folder.h"
#include "ronde/comm/thread_job.h"
#include "ronde/topology/affinity.h"
#include "ronde/train/limits/product_rates.h"

namespace ronde::train {
namespace {

using topology::CpuSet;

TEST(MachineRates, AreKeptByHardwareAndLibrary) {
  const RatedMachine cpu{.processor = "AMD EPYC", .cpus = 4, .torch = "2.13.0"};
  EXPECT_EQ(rates_key(cpu), "4 cpus of AMD EPYC, libtorch 2.13.0");
  for (const auto& other : {RatedMachine{.processor = "Intel", .cpus = 4, .torch = "2.13.0"},
                            RatedMachine{.processor = "AMD EPYC", .cpus = 8, .torch = "2.13.0"},
                            RatedMachine{.processor = "AMD EPYC", .cpus = 4, .torch = "2.14.0"},
                            RatedMachine{.processor = "AMD EPYC", .gpu = "H200", .cpus = 4, .torch = "2.13.0"}})
    EXPECT_NE(rates_key(other), rates_key(cpu));
  const RatedMachine gpu{.processor = "AMD EPYC", .gpu = "H200", .cpus = 8, .torch = "2.13.0"};
  EXPECT_EQ(rates_key(gpu), "H200 with AMD EPYC, libtorch 2.13.0") << "a GPU is as fast with any number of cores";
}

TEST(MachineRates, RanksOfANodeTellTheirCpus) {
  const std::vector<std::string> texts = {cpus_text(0, {0, 1}), cpus_text(0, {2, 3, 8}), cpus_text(1, {0, 5}), "x"};
  EXPECT_EQ(texts[1], "0 2-3,8");
  EXPECT_EQ(cpus_of_node(texts, 0), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(cpus_of_node(texts, 1), (CpuSet{0, 5}));
  EXPECT_TRUE(cpus_of_node(texts, 2).empty());
}

// Ranks as threads, each with a session, and a machine that is measured in no time.
class RatesOfThreads : public testing::Test {
 protected:
  void run(int ranks) {
    std::ostringstream lines;
    const Log log({.stream = &lines});
    comm::ThreadJob job(ranks);
    found_.assign(static_cast<std::size_t>(ranks), std::nullopt);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          Settings settings;
          settings.set("train.device", "cpu", "test");
          const Session session(job.engine(rank), settings);
          inside_ += 1;
          found_[static_cast<std::size_t>(rank)] =
              machine_rates(session, {.environment = environment_, .measure = measure_}, log);
          inside_ -= 1;
        });
    }
    log_ = lines.str();
  }

  const ronde::tests::Folder folder_;
  Environment environment_{{"XDG_CACHE_HOME", folder_.path().string()}};
  std::atomic<int> measured_{0}, inside_{0}, least_inside_{1000};
  MachineRates rates_{.name = "fake", .f32 = 1.5, .memory_gb_s = 20};
  std::function<MachineRates(const torch::Device&, const CpuSet&)> measure_ = [this](const torch::Device&,
                                                                                     const CpuSet& cpus) {
    EXPECT_EQ(cpus, topology::affinity_of_this_thread());
    ++measured_;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    least_inside_ = std::min(least_inside_.load(), inside_.load());
    return rates_;
  };
  std::vector<std::optional<MachineRates>> found_;
  std::string log_;
};

TEST_F(RatesOfThreads, OneRankMeasuresWhileTheOthersWait) {
  run(3);
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(least_inside_, 3) << "nobody goes on before it is done";
  EXPECT_EQ(found_[0], rates_);
  EXPECT_FALSE(found_[1]);
  EXPECT_EQ(std::ranges::count(log_, '\n'), 1) << log_;
  EXPECT_NE(log_.find("f32 1.5 TFLOP/s, memory 20 GB/s; measured for the report"), std::string::npos) << log_;
  EXPECT_NE(log_.find("saved in " + (folder_.path() / "ronde" / "rates-").string()), std::string::npos) << log_;
}

TEST_F(RatesOfThreads, TheSecondRunMeasuresNothingAndSaysNothing) {
  run(2);
  run(2);
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(found_[0], rates_);
  EXPECT_EQ(log_, "");
}

TEST_F(RatesOfThreads, ACacheThatCannotBeWrittenIsNoReasonToStop) {
  std::ofstream(folder_.path() / "ronde") << "a file where the folder should be";
  run(2);
  EXPECT_EQ(found_[0], rates_);
  EXPECT_NE(log_.find("not saved: cannot write"), std::string::npos) << log_;
  environment_ = Environment{};
  run(1);
  EXPECT_EQ(found_[0], rates_);
  EXPECT_NE(log_.find("no home folder"), std::string::npos) << log_;
  EXPECT_EQ(measured_, 2);
}

TEST_F(RatesOfThreads, AMachineThatCannotBeMeasuredIsNoReasonToStop) {
  measure_ = [](const torch::Device&, const CpuSet&) -> MachineRates { throw Error(Error::Kind::System, "no memory"); };
  run(2);
  EXPECT_FALSE(found_[0]);
  EXPECT_NE(log_.find("cannot be measured: no memory"), std::string::npos) << log_;
}

TEST(MachineRates, ThisMachineIsMeasuredAndTorchKeepsItsThreads) {
  const CpuSet before = topology::affinity_of_this_thread();
  const int threads = torch::get_num_threads();
  const MachineRates rates = measure_machine(torch::kCPU, before);
  EXPECT_EQ(rates.kind, Hardware::Kind::Cpu);
  EXPECT_GT(rates.f32, 1e-4);
  EXPECT_LT(rates.f32, 1e3);
  EXPECT_GT(rates.bf16, 0);
  EXPECT_GT(rates.memory_gb_s, 0.1);
  EXPECT_GT(rates.memory_gb, 0.1);
  EXPECT_EQ(torch::get_num_threads(), threads);
  EXPECT_EQ(topology::affinity_of_this_thread(), before);
}

TEST(MachineRates, AThreadThatCannotBeBoundFails) {
  EXPECT_THROW(measure_products(HostProducts{.threads = 2, .cpus = {CpuSet{1'000'000}}, .seconds = 0.01}), Error);
}

}  // namespace
}  // namespace ronde::train
