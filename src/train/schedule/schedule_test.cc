#include "ronde/train/schedule.h"
#include "ronde/base/settings/settings.h"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

TrainingOptions with(const std::map<std::string, std::string>& changes) {
  Settings settings;
  settings.set("train.epochs", "90", "test");
  for (const auto& [key, text] : changes) settings.set(key, text, "test");
  return training_options(settings);
}

std::string complaint(const std::map<std::string, std::string>& changes, std::int64_t steps_per_epoch = 100) {
  try {
    schedule_of(with(changes), steps_per_epoch);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(Place, IsGivenInEpochsOrSteps) {
  EXPECT_EQ(parse_place("x", "5"), (Place{5, false}));
  EXPECT_EQ(parse_place("x", " 2.5 epochs"), (Place{2.5, false}));
  EXPECT_EQ(parse_place("x", "1epoch"), (Place{1, false}));
  EXPECT_EQ(parse_place("x", "500steps"), (Place{500, true}));
  EXPECT_EQ(parse_place("x", "1 step"), (Place{1, true}));
  EXPECT_EQ(parse_place("x", "5").steps(312), 5 * 312);
  EXPECT_EQ(parse_place("x", "500steps").steps(312), 500);
  EXPECT_EQ(parse_places("x", "30, 60,1000steps"), (std::vector<Place>{{30, false}, {60, false}, {1000, true}}));
  EXPECT_TRUE(parse_places("x", " ").empty());
}

TEST(Place, GarbageIsRefused) {
  for (const char* wrong : {"", "soon", "5 min", "-1", "1.5steps", "steps", "nan", "inf", "1e999", "5,", "3 4"}) {
    try {
      parse_place("schedule.warmup", wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(),
                fmt::format("schedule.warmup is '{}': write epochs (5, 0.5) or steps (500steps)", wrong));
    }
  }
  EXPECT_THROW(parse_places("x", "30,,60"), Error);
}

TEST(Schedule, WarmsUpEvenly) {
  const Schedule schedule{.rate = 0.4, .warmup = 200, .length = 1000};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0);
  EXPECT_DOUBLE_EQ(schedule.at(50), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(200), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(990), 0.4);
  const Schedule from{.rate = 0.4, .warmup = 200, .start = 0.25, .length = 1000};
  EXPECT_DOUBLE_EQ(from.at(0), 0.1);
  EXPECT_DOUBLE_EQ(from.at(100), 0.25);
}

TEST(Schedule, CosineGoesToItsEnd) {
  const Schedule schedule{.decline = Decline::Cosine, .rate = 0.4, .warmup = 100, .length = 500};
  EXPECT_DOUBLE_EQ(schedule.at(100), 0.4);
  EXPECT_NEAR(schedule.at(300), 0.2, 1e-12);
  EXPECT_NEAR(schedule.at(500), 0, 1e-12);
  EXPECT_NEAR(schedule.at(600), 0, 1e-12);
  const Schedule higher{.decline = Decline::Cosine, .rate = 0.4, .length = 400, .end = 0.1};
  EXPECT_NEAR(higher.at(200), 0.22, 1e-12);
  EXPECT_NEAR(higher.at(400), 0.04, 1e-12);
}

TEST(Schedule, StepDropsAtMilestones) {
  const Schedule schedule{
      .decline = Decline::Step, .rate = 0.4, .warmup = 10, .length = 90, .milestones = {30, 60, 80}, .factor = 0.5};
  EXPECT_DOUBLE_EQ(schedule.at(5), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(29), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(30), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(60), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(1e9), 0.05);
}

TEST(Schedule, PolynomialOfSomePower) {
  const Schedule square{.decline = Decline::Polynomial, .rate = 8, .warmup = 100, .length = 300};
  EXPECT_DOUBLE_EQ(square.at(100), 8);
  EXPECT_DOUBLE_EQ(square.at(200), 2);
  EXPECT_DOUBLE_EQ(square.at(300), 0);
  const Schedule line{.decline = Decline::Polynomial, .rate = 8, .length = 100, .end = 0.5, .power = 1};
  EXPECT_DOUBLE_EQ(line.at(50), 6);
  EXPECT_DOUBLE_EQ(line.at(200), 4);
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const Schedule schedule{
      .decline = Decline::OneCycle, .rate = 1, .start = 0.04, .length = 100, .end = 0.001, .peak = 0.3};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.04);
  EXPECT_DOUBLE_EQ(schedule.at(15), 0.52);
  EXPECT_DOUBLE_EQ(schedule.at(30), 1);
  EXPECT_NEAR(schedule.at(65), 0.5005, 1e-12);
  EXPECT_DOUBLE_EQ(schedule.at(100), 0.001);
  for (const double peak : {0.0, 1.0}) {
    const Schedule edge{.decline = Decline::OneCycle, .rate = 1, .length = 100, .peak = peak};
    for (int step = 0; step <= 100; ++step) EXPECT_TRUE(std::isfinite(edge.at(step))) << peak << " " << step;
  }
}

TEST(Schedule, EpochsAndStepsMeanTheSamePlaces) {
  const auto in_epochs = schedule_of(
      with({{"schedule.name", "step"}, {"schedule.warmup", "5"}, {"schedule.milestones", "30,60,80"}}), 312);
  const auto in_steps = schedule_of(with({{"schedule.name", "step"},
                                          {"schedule.warmup", "1560steps"},
                                          {"schedule.milestones", "9360steps,60,24960steps"}}),
                                    312);
  for (int step = 0; step < 90 * 312; ++step) ASSERT_EQ(in_epochs.at(step), in_steps.at(step)) << step;
  EXPECT_LT(in_epochs.at(1559), in_epochs.at(1560));
  EXPECT_EQ(in_epochs.at(1560), in_epochs.at(9359));
  EXPECT_GT(in_epochs.at(9359), in_epochs.at(9360)) << "the drop is in the first step of epoch 30";
}

TEST(Schedule, EndsWhereTheTrainingDoesOrEarlier) {
  EXPECT_EQ(schedule_of(with({{"schedule.name", "cosine"}}), 100).length, 9000);
  EXPECT_EQ(schedule_of(with({{"schedule.length", "80"}}), 100).length, 8000);
  EXPECT_EQ(schedule_of(with({{"schedule.length", "5000steps"}}), 100).length, 5000);
  // A training that is stopped may go on: its schedule is that of the whole.
  EXPECT_EQ(schedule_of(with({{"train.steps", "10"}, {"schedule.warmup", "5"}}), 100).length, 9000);
}

TEST(Schedule, TheRateGrowsWithTheBatch) {
  const std::map<std::string, std::string> goyal{
      {"optimizer.lr", "0.1"}, {"train.batch", "8192"}, {"optimizer.lr_scaling", "linear"}};
  EXPECT_DOUBLE_EQ(schedule_of(with(goyal), 100).rate, 3.2);
  auto changed = goyal;
  changed["optimizer.lr_scaling"] = "sqrt";
  changed["optimizer.lr_batch"] = "512";
  EXPECT_DOUBLE_EQ(schedule_of(with(changed), 100).rate, 0.4);
  changed["optimizer.lr_scaling"] = "none";
  EXPECT_DOUBLE_EQ(schedule_of(with(changed), 100).rate, 0.1);
}

TEST(Schedule, WhatCannotBeIsRefused) {
  EXPECT_EQ(
      complaint({{"schedule.length", "100"}}),
      "schedule.length is '100', but the training ends after 90 epochs (9000 steps): the schedule would be longer "
      "than the run");
  EXPECT_EQ(complaint({{"schedule.length", "0"}}), "schedule.length is '0': it must be above 0");
  EXPECT_EQ(
      complaint({{"schedule.warmup", "9001steps"}}),
      "schedule.warmup is '9001steps', but the training ends after 90 epochs (9000 steps): the warm-up would never "
      "end");
  EXPECT_EQ(complaint({{"schedule.warmup", "6"}, {"schedule.length", "5"}}),
            "schedule.warmup is '6', but the schedule ends after schedule.length = '5': the warm-up would never end");
  EXPECT_EQ(complaint({{"schedule.name", "step"}, {"schedule.milestones", "60,30"}}),
            "schedule.milestones is '60,30': milestones must increase");
  EXPECT_EQ(complaint({{"schedule.name", "step"}, {"schedule.milestones", "30,90"}}),
            "schedule.milestones is '30,90', but the training ends after 90 epochs (9000 steps): the last drop would "
            "never happen");
  EXPECT_EQ(complaint({{"schedule.name", "step"}, {"schedule.milestones", "3,60"}, {"schedule.warmup", "5"}}),
            "schedule.milestones is '3,60', but schedule.warmup is '5': the first drop must come after the warm-up");
  EXPECT_EQ(complaint({{"schedule.name", "step"}}),
            "schedule.name is 'step': set schedule.milestones to the places where the rate drops");
  EXPECT_EQ(complaint({{"schedule.milestones", "30;60"}}),
            "schedule.milestones is '30;60': write epochs (5, 0.5) or steps (500steps)");
  EXPECT_NE(complaint({{"schedule.name", "onecycle"}, {"schedule.warmup", "5"}}).find("has its own warm-up"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::train
