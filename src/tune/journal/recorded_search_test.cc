#include "ronde/tune/journal/recorded_search.h"

#include <cmath>
#include <deque>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::tune {
namespace {

const Json kSpace = {{"lr", {{"loguniform", {1e-4, 1.0}}}}, {"width", {{"choice", {8, 16, 32}}}}};

// Better with more iterations, and with a rate near 0.1.
double objective(const Json& config, double iteration) {
  const double distance = std::log10(config.value("lr", 0.1)) + 1;
  return 1 - std::exp(-iteration / 10) - 0.1 * distance * distance;
}

SearchOptions options(const std::string& scheduler, Json scheduler_options, int samples = 20) {
  SearchOptions options;
  options.space = kSpace;
  options.metric = "score";
  options.seed = 3;
  options.samples = samples;
  options.slots = 3;
  options.scheduler = scheduler;
  options.scheduler_options = std::move(scheduler_options);
  options.time_attribute = "training_iteration";
  options.stop = {{"training_iteration", 27}};
  return options;
}

// Runs trials as slots would, one report of each in turn, for at most `reports` reports. What happened, as text.
std::vector<std::string> run(RecordedSearch& search, int slots, int reports = 1 << 30) {
  std::vector<std::string> events;
  std::deque<int> running;
  for (const Trial& trial : search.search().trials())
    if (search.is_mine(trial.number)) running.push_back(trial.number);
  for (;;) {
    while (static_cast<int>(running.size()) < slots) {
      const Search::Next next = search.next();
      if (next.trial < 0) break;
      events.push_back(fmt::format("start {}", next.trial));
      running.push_back(next.trial);
    }
    if (running.empty() || reports-- == 0) return events;
    const int number = running.front();
    running.pop_front();
    const Trial& trial = search.search().trials()[static_cast<std::size_t>(number)];
    Json result = {{"score", objective(trial.config, trial.reports + 1)}};
    const Decision decision = search.report(number, result, 0.5 * trial.reports);
    events.push_back(fmt::format("{} at {} {}", number, trial.reports, name(decision.kind)));
    search.saved(number, fmt::format("checkpoint {}", trial.reports));
    if (decision.kind == Decision::Kind::Stop) search.ended(number);
    if (decision.kind == Decision::Kind::Pause) search.paused(number);
    if (decision.kind == Decision::Kind::Continue || decision.kind == Decision::Kind::Exploit)
      running.push_back(number);
    for (const auto& change : search.changes())
      events.push_back(fmt::format("{} {}", change.trial, name(change.decision.kind)));
  }
}

class SearchFile : public ::testing::Test {
 protected:
  tests::Folder folder_;
  const std::filesystem::path file_ = folder_.path() / "journal.jsonl";
};

std::vector<SearchOptions> kinds() {
  const Json mutations = {{"lr", {{"loguniform", {1e-4, 1.0}}}}};
  return {options("fifo", Json::object()),
          options("asha", {{"max_t", 27}, {"reduction_factor", 3}}),
          options("asha_promotion", {{"max_t", 27}, {"reduction_factor", 3}}),
          options("hyperband", {{"max_t", 27}}),
          options("bohb", {{"max_t", 27}}),
          options("median_stopping_rule", {{"grace_period", 3}}),
          options("pbt", {{"perturbation_interval", 3}, {"hyperparam_mutations", mutations}}, 6)};
}

TEST_F(SearchFile, EverySchedulerComesToAnEnd) {
  for (const SearchOptions& each : kinds()) {
    std::filesystem::remove(file_);
    RecordedSearch search(file_, each);
    const auto events = run(search, 3);
    EXPECT_EQ(search.search().trials().size(), static_cast<std::size_t>(each.samples)) << each.scheduler;
    for (const Trial& trial : search.search().trials())
      EXPECT_EQ(trial.state, TrialState::Terminated) << each.scheduler << " " << trial.number;
    EXPECT_EQ(search.next().kind, Search::Next::Kind::Finished);
    ASSERT_TRUE(search.search().best());
  }
}

TEST_F(SearchFile, GoesOnAfterAnyStepAsIfNothingHadHappened) {
  for (const SearchOptions& each : kinds()) {
    std::filesystem::remove(file_);
    std::vector<std::string> whole;
    {
      RecordedSearch search(file_, each);
      whole = run(search, 1);
    }
    for (const int reports : {1, 7, 40}) {
      std::filesystem::remove(file_);
      std::vector<std::string> parts;
      {
        RecordedSearch search(file_, each);
        parts = run(search, 1, reports);
      }
      // One slot: the trial that ran when the job ended is the one that goes on.
      RecordedSearch again(file_, each);
      const auto rest = run(again, 1);
      ASSERT_FALSE(rest.empty()) << each.scheduler;
      parts.insert(parts.end(), rest.begin() + (rest[0].starts_with("start ") ? 1 : 0), rest.end());
      EXPECT_EQ(parts, whole) << each.scheduler << " ended after " << reports << " reports";
    }
  }
}

TEST_F(SearchFile, MayBeLookedAtWhileItRuns) {
  EXPECT_THROW(read_search(file_), Error);
  RecordedSearch search(file_, options("asha", {{"max_t", 27}}));
  run(search, 3, 20);
  std::ofstream(file_, std::ios::app) << "0123 a line that is being written";
  const auto size = std::filesystem::file_size(file_);
  const Search seen = read_search(file_);
  EXPECT_EQ(std::filesystem::file_size(file_), size);
  EXPECT_EQ(seen.counts(), search.search().counts());
  EXPECT_EQ(seen.best(), search.search().best());
  ASSERT_EQ(seen.trials().size(), search.search().trials().size());
  for (std::size_t i = 0; i < seen.trials().size(); ++i)
    EXPECT_EQ(to_json(seen.trials()[i]), to_json(search.search().trials()[i]));
}

TEST_F(SearchFile, FailedTrialsAreTriedAgainAndThenGivenUp) {
  SearchOptions wanted = options("fifo", Json::object(), 1);
  wanted.max_failures = 1;
  RecordedSearch search(file_, wanted);
  ASSERT_EQ(search.next().kind, Search::Next::Kind::Start);
  EXPECT_TRUE(search.failed(0, "out of memory"));
  ASSERT_EQ(search.next().trial, 0);
  EXPECT_FALSE(search.failed(0, "out of memory"));
  EXPECT_EQ(search.next().kind, Search::Next::Kind::Finished);
  EXPECT_EQ(search.search().trials()[0].state, TrialState::Error);
  EXPECT_EQ(search.search().trials()[0].error, "out of memory");
}

TEST_F(SearchFile, ASearchThatDiffersIsRefusedAndALongerOneIsNot) {
  {
    RecordedSearch search(file_, options("fifo", Json::object(), 2));
    run(search, 1);
  }
  SearchOptions other = options("fifo", Json::object(), 2);
  other.seed = 4;
  try {
    RecordedSearch search(file_, other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("holds another search: seed differ"), std::string::npos) << error.message();
  }
  RecordedSearch longer(file_, options("fifo", Json::object(), 4));
  EXPECT_EQ(longer.resumed_trials(), 2u);
  run(longer, 1);
  EXPECT_EQ(longer.search().trials().size(), 4u);
  RecordedSearch again(file_, options("fifo", Json::object(), 4));
  EXPECT_EQ(again.next().kind, Search::Next::Kind::Finished);
}

TEST_F(SearchFile, PointsComeFirstAndReplaceSamples) {
  SearchOptions wanted = options("fifo", Json::object(), 3);
  wanted.space["depth"] = {{"grid_search", {1, 2}}};
  wanted.points = {{{"lr", 0.25}, {"depth", 7}}};
  RecordedSearch search(file_, wanted);
  EXPECT_EQ(search.search().planned(), 5u);
  run(search, 1);
  const auto& trials = search.search().trials();
  ASSERT_EQ(trials.size(), 5u);
  EXPECT_EQ(trials[0].config["lr"], 0.25);
  EXPECT_EQ(trials[0].config["depth"], 7);
  EXPECT_EQ(trials[1].config["depth"], 1);
  EXPECT_EQ(trials[2].config["depth"], 2);
  EXPECT_NE(trials[1].config["lr"], trials[2].config["lr"]) << "drawn afresh for each point of the grid";
}

}  // namespace
}  // namespace ronde::tune
