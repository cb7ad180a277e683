#include "ronde/tune/run/runner.h"

#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/tune/run/worker.h"

namespace ronde::tune {
namespace {

// Learns 1 - exp(-work * rate); its only weight is the work that it has done. Some configurations misbehave.
class Learner : public Trainable {
 public:
  void setup(const Json& config) override { config_ = config; }
  Json step() override {
    const std::string fault = config_.value("fault", "");
    if (fault == "throw") throw Error::bad_input("the loss is not a number");
    if (fault == "kill") ::raise(SIGKILL);
    if (fault == "silent") std::this_thread::sleep_for(std::chrono::hours(1));
    if (fault == "once" && !std::filesystem::exists(config_["mark"].get<std::string>())) {
      std::ofstream(config_["mark"].get<std::string>()) << "x";
      ::raise(SIGKILL);
    }
    if (config_.contains("meet")) meet(config_["meet"].get<std::string>(), ++steps_);
    work_ += config_.value("lr", 0.1);
    return {{"score", 1 - std::exp(-work_)}, {"work", work_}};
  }
  void save(const std::filesystem::path& folder) override {
    std::ofstream(folder / "work") << work_;
    if (config_.contains("meet")) std::ofstream(config_["meet"].get<std::string>() + "/saved") << "x";
  }
  void load(const std::filesystem::path& folder) override {
    std::ifstream(folder / "work") >> work_;
    if (config_.contains("meet")) std::ofstream(config_["meet"].get<std::string>() + "/taken") << "x";
  }
  bool reset(const Json& config) override {
    config_ = config;
    work_ = 0;
    return true;
  }

 private:
  // So that it does not matter how quick each process is: after two steps all four wait for each other, after four
  // for somebody's checkpoint, and none is done before a checkpoint was taken over.
  static void meet(const std::filesystem::path& place, int step) {
    if (step == 3) std::ofstream(place / fmt::format("process {}", ::getpid())) << "x";
    const auto may_go_on = [&] {
      const auto files = std::distance(std::filesystem::directory_iterator(place), {});
      if (step >= 20) return std::filesystem::exists(place / "taken");
      return step < 3 || (step < 5 ? files >= 4 : std::filesystem::exists(place / "saved"));
    };
    for (int i = 0; i < 10'000 && !may_go_on(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  Json config_;
  double work_ = 0;
  int steps_ = 0;
};

class RunnerDeathTest : public ::testing::Test {  // forks
 protected:
  SearchOptions search_options(Json space, int samples) const {
    SearchOptions options;
    options.space = std::move(space);
    options.metric = "score";
    options.samples = samples;
    options.slots = 2;
    options.stop = {{"training_iteration", 6}};
    return options;
  }
  RunOptions run_options() {
    RunOptions options;
    options.folder = folder_.path();
    options.slots = 2;
    options.start_worker = [](int) { return fork_worker([] { return std::make_unique<Learner>(); }); };
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return options;
  }
  RunEnd run(const SearchOptions& wanted, const RunOptions& options) {
    search_.emplace(folder_.path() / "journal.jsonl", wanted);
    return run_search(*search_, options);
  }
  const std::vector<Trial>& trials() const { return search_->search().trials(); }

  tests::Folder folder_;
  std::optional<RecordedSearch> search_;
  std::vector<std::string> warnings_;
};

TEST_F(RunnerDeathTest, RunsEveryTrialToItsEnd) {
  ASSERT_EQ(run(search_options({{"lr", {{"uniform", {0.1, 1}}}}}, 5), run_options()), RunEnd::Finished);
  ASSERT_EQ(trials().size(), 5u);
  for (const Trial& trial : trials()) {
    EXPECT_EQ(trial.state, TrialState::Terminated);
    EXPECT_EQ(trial.reports, 6);
    EXPECT_NEAR(trial.last_result["work"].get<double>(), 6 * trial.config["lr"].get<double>(), 1e-12)
        << "reset: nothing is left of the trial before";
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RunnerDeathTest, WhatATrialDoesToItsProcessCostsThatTrialAlone) {
  RunOptions options = run_options();
  options.trial_timeout = std::chrono::milliseconds(300);
  ASSERT_EQ(run(search_options({{"fault", {{"grid_search", {"", "throw", "kill", "silent", ""}}}}}, 1), options),
            RunEnd::Finished);
  const auto error = [&](std::size_t i) { return trials()[i].error; };
  EXPECT_EQ(trials()[0].state, TrialState::Terminated);
  EXPECT_EQ(trials()[4].state, TrialState::Terminated);
  for (const std::size_t failed : {1u, 2u, 3u}) EXPECT_EQ(trials()[failed].state, TrialState::Error);
  EXPECT_NE(error(1).find("the loss is not a number"), std::string::npos) << error(1);
  EXPECT_NE(error(2).find("signal 9 (killed)"), std::string::npos) << error(2);
  EXPECT_NE(error(3).find("no report for 0.3 s"), std::string::npos) << error(3);
  EXPECT_EQ(warnings_.size(), 3u);
}

TEST_F(RunnerDeathTest, AFailedTrialIsTriedAgain) {
  SearchOptions wanted = search_options({{"fault", "once"}, {"mark", (folder_.path() / "mark").string()}}, 1);
  wanted.max_failures = 1;
  ASSERT_EQ(run(wanted, run_options()), RunEnd::Finished);
  EXPECT_EQ(trials()[0].state, TrialState::Terminated);
  EXPECT_EQ(trials()[0].failures, 1);
}

TEST_F(RunnerDeathTest, PausedTrialsGoOnFromTheirCheckpoints) {
  SearchOptions wanted = search_options({{"lr", {{"grid_search", {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}}}}}, 1);
  wanted.scheduler = "asha_promotion";
  wanted.scheduler_options = {{"max_t", 4}, {"reduction_factor", 2}};
  ASSERT_EQ(run(wanted, run_options()), RunEnd::Finished);
  int whole = 0;
  for (const Trial& trial : trials()) {
    EXPECT_NEAR(trial.last_result["work"].get<double>(), trial.reports * trial.config["lr"].get<double>(), 1e-5)
        << "trial " << trial.number << " lost its weights";
    whole += trial.reports == 4;
  }
  EXPECT_GE(whole, 1);
}

TEST_F(RunnerDeathTest, ExploitingTakesOverTheWeights) {
  const auto meeting = folder_.path() / "meeting";
  std::filesystem::create_directories(meeting);
  SearchOptions wanted =
      search_options({{"lr", {{"grid_search", {0.001, 0.01, 0.02, 0.8}}}}, {"meet", meeting.string()}}, 1);
  wanted.stop = {{"training_iteration", 30}};
  wanted.slots = 4;
  wanted.scheduler = "pbt";
  wanted.scheduler_options = {{"perturbation_interval", 2}, {"hyperparam_mutations", {{"lr", {0.01}}}}};
  wanted.time_attribute = "training_iteration";
  RunOptions options = run_options();
  options.slots = 4;
  ASSERT_EQ(run(wanted, options), RunEnd::Finished);
  // The first is the worst at each of its reports. All mutations are slow: what is beyond 30 slow steps came with the
  // weights of the fast one.
  int above = 0;
  for (const Trial& trial : trials()) above += trial.number < 3 && trial.last_result["work"].get<double>() > 1;
  EXPECT_GE(above, 1);
}

TEST_F(RunnerDeathTest, ASearchThatIsInterruptedGoesOnLater) {
  const SearchOptions wanted = search_options({{"lr", {{"uniform", {0.1, 1}}}}}, 8);
  RunOptions options = run_options();
  options.interrupted = [this] { return search_->search().trials().size() > 3; };
  ASSERT_EQ(run(wanted, options), RunEnd::ToContinue);
  const auto before = trials();
  search_.reset();
  ASSERT_EQ(run(wanted, run_options()), RunEnd::Finished);
  ASSERT_EQ(trials().size(), 8u);
  for (const Trial& trial : trials()) EXPECT_EQ(trial.state, TrialState::Terminated);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(trials()[i].config, before[i].config);
}

TEST_F(RunnerDeathTest, TheTimeBudgetEndsWhatRuns) {
  RunOptions options = run_options();
  options.time_budget = std::chrono::milliseconds(300);
  SearchOptions wanted = search_options({{"lr", 0.1}}, -1);
  wanted.stop = Json::object();
  ASSERT_EQ(run(wanted, options), RunEnd::TimeIsOver);
  for (const Trial& trial : trials()) EXPECT_EQ(trial.state, TrialState::Terminated);
}

}  // namespace
}  // namespace ronde::tune
