#include "ronde/report/run/recording.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/report/analysis.h"
#include "ronde/report/report.h"
#include "ronde/report/rules/guide.h"
#include "ronde/report/testing/generate.h"
#include "ronde/report/testing/made_training.h"
#include "ronde/report/text/text.h"
#include "ronde/trace/recorder.h"
#include "ronde/trace/span.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;
using testing::MakeRun;

constexpr const char* kWell = "nothing needs to be changed";

Verdict verdict_of(const MadeEvidence& all) {
  return report::verdict_of(all.evidence(), all.advice());
}

MakeRun healthy(std::int64_t steps) {
  return made(2, steps, {.work = {92, 92}, .optimizer = 8});
}

TEST(Recording, TenWholeStepsAreNeededForAGrade) {
  const Verdict nine = verdict_of(MadeEvidence(healthy(9)));
  EXPECT_EQ(nine.state, Verdict::State::Unknown);
  EXPECT_EQ(nine.text, "Only 9 whole steps were recorded, at least 10 are needed for a grade.");
  const Verdict ten = verdict_of(MadeEvidence(healthy(10)));
  EXPECT_EQ(ten.state, Verdict::State::Good);
  EXPECT_NE(ten.text.find(kWell), std::string::npos) << ten.text;
}

TEST(Recording, WithoutStepsThereIsNoGrade) {
  MakeRun make(1);
  make.span(0, "training", "load", 0, 275'000);
  const Verdict verdict = verdict_of(MadeEvidence(make.take()));
  EXPECT_EQ(verdict.state, Verdict::State::Unknown);
  EXPECT_EQ(verdict.text, "No whole step was recorded, at least 10 are needed for a grade.");
}

TEST(Recording, AFailureComesFirst) {
  MakeRun make(1);
  make.span(0, "training", "load", 0, 275'000);
  make.metadata(0, "failure", "cannot read 'x.safetensors': no such file.");
  const Verdict verdict = verdict_of(MadeEvidence(make.take()));
  EXPECT_EQ(verdict.state, Verdict::State::Unknown);
  EXPECT_EQ(verdict.text, "The run failed after 275 us: cannot read 'x.safetensors': no such file.");
}

TEST(Recording, AnEarlyFailureGetsNoAdvice) {
  EXPECT_FALSE(MadeEvidence(made(2, 3, {.work = {100, 130}})).advice().empty());
  MakeRun make = made(2, 3, {.work = {100, 130}});
  make.metadata(1, "failure", "the loss is nan");
  EXPECT_TRUE(MadeEvidence(make.take()).advice().empty());
}

TEST(Recording, AFailureOfALongRunComesWithNumbersButNoGrade) {
  MakeRun make = healthy(100);
  make.metadata(0, "failure", "allreduce 'a': rank 1 on node0 has left: the loss is nan");
  make.metadata(1, "failure", "the loss is nan");
  const Verdict verdict = verdict_of(MadeEvidence(make.take()));
  EXPECT_EQ(verdict.state, Verdict::State::Unknown);
  EXPECT_EQ(verdict.text,
            "The run failed after 10 s: the loss is nan. In the 100 steps that were recorded as a whole, training "
            "reaches 100 % of what these 2 ranks could do.");
}

TEST(Recording, ARankThatBreaksOffLeavesNoGrade) {
  MakeRun make = healthy(30);
  make.cut(1, testing::ms(2950));
  MadeEvidence all(make.take());
  EXPECT_EQ(all.facts.cut_off, std::vector<int>{1});
  const Verdict verdict = verdict_of(all);
  EXPECT_EQ(verdict.state, Verdict::State::Unknown);
  EXPECT_TRUE(verdict.text.starts_with("The recording of rank 1 breaks off: ")) << verdict.text;
  EXPECT_NE(verdict.text.find("training reaches 100 % of what these 2 ranks could do."), std::string::npos)
      << verdict.text;
  EXPECT_EQ(verdict.text.find(kWell), std::string::npos) << verdict.text;
  all.facts.cut_off = {0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(verdict_of(all).text.starts_with("The recordings of ranks 0, 1, 2, 3 and 2 more break off: "));
}

TEST(Recording, StepsThatWereNotChosenAreNotMissing) {
  MadeEvidence all(healthy(30));
  all.window.steps = 3;
  EXPECT_EQ(verdict_of(all).text,
            "Only 3 of 30 recorded steps are in this report, at least 10 are needed for a grade.");
}

TEST(Recording, TheGuideSaysToRunAgain) {
  const MadeEvidence few(healthy(4));
  const auto stages = guide_of(few.evidence(), few.advice(), nullptr);
  EXPECT_EQ(name(stages.at(0).state), "here");
  EXPECT_TRUE(stages[0].text.ends_with("Run it again for at least 10 steps before tuning it.")) << stages[0].text;
}

TEST(Recording, DocumentAndTextOfAShortTraceSayNothingIsKnown) {
  const tests::Folder folder;
  testing::generate({.folder = folder.path(), .ranks = 2, .steps = 9});
  const auto report = analyse({folder.path()}, {});
  EXPECT_EQ(report->verdict.state, Verdict::State::Unknown);
  const std::string text = text_report(*report, false);
  EXPECT_TRUE(text.starts_with("UNKNOWN  Only 9 whole steps were recorded")) << text;
  EXPECT_EQ(text.find("Nothing: no rule found"), std::string::npos) << text;
  testing::generate({.folder = folder.path() / "ten", .ranks = 2, .steps = 10});
  EXPECT_EQ(analyse({folder.path() / "ten"}, {})->verdict.state, Verdict::State::Good);
}

TEST(Recording, ARunThatFailedBeforeItsFirstSpanIsReportedWithItsCause) {
  const tests::Folder folder;
  {
    trace::Recorder recorder({.folder = folder.path()});
    const trace::Scope scope(recorder, "training");
    recorder.set_metadata(trace::kFailure, "no data in 'pictures'");
  }
  try {
    analyse({folder.path()}, {});
    FAIL() << "there is nothing to report on";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("The run failed as it began: no data in 'pictures'."), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace ronde::report
