#include "ronde/report/export/step_filter.h"

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"

namespace ronde::report::exporting {
namespace {

using trace::ReadEvent;

class Told final : public trace::TraceVisitor {
 public:
  void event(const ReadEvent& event) override {
    text += fmt::format("{}{}@{}", "+-!#"[static_cast<int>(event.type)], event.name, event.time);
    for (const trace::ReadArg& arg : event.args) text += fmt::format(" {}", arg.key);
    text += "; ";
  }
  std::string text;
};

class StepFilterTest : public ::testing::Test {
 protected:
  void begin(std::uint64_t row, const char* name, std::int64_t at, int rank = 0) {
    const trace::ReadArg arg{.key = "k", .value = std::string_view("v")};
    filter.event(
        {.type = ReadEvent::Type::Begin, .rank = rank, .track = row, .time = at, .name = name, .args = {&arg, 1}});
  }
  void end(std::uint64_t row, std::int64_t at) {
    filter.event({.type = ReadEvent::Type::End, .track = row, .time = at});
  }
  void moment(ReadEvent::Type type, std::uint64_t row, std::int64_t at) {
    filter.event({.type = type, .track = row, .time = at, .name = "x"});
  }

  Told told;
  StepFilter filter{{{0, {100, 200}}}, told};
};

TEST_F(StepFilterTest, LetsThroughWhatIsInside) {
  begin(1, "before", 10);
  end(1, 20);
  begin(1, "up to it", 20);
  end(1, 100);
  begin(1, "inside", 110);
  end(1, 120);
  begin(1, "out", 190);
  end(1, 250);
  begin(1, "after", 260);
  end(1, 270);
  end(1, 280);  // of nothing
  EXPECT_EQ(told.text, "+inside@110 k; -@120; +out@190 k; -@250; ");
}

TEST_F(StepFilterTest, WhatWasGoingOnBeginsWithTheSteps) {
  begin(1, "outer", 10);
  begin(1, "gone", 20);
  end(1, 30);
  begin(1, "inner", 90);
  end(1, 110);
  end(1, 300);
  EXPECT_EQ(told.text, "+outer@100 k; +inner@100 k; -@110; -@300; ");
}

TEST_F(StepFilterTest, MomentsAndCountersAreInOrOut) {
  for (const std::int64_t at : {50, 150, 200}) moment(ReadEvent::Type::Instant, 1, at);
  for (const std::int64_t at : {50, 150, 200}) moment(ReadEvent::Type::Counter, 1, at);
  moment(ReadEvent::Type::Instant, 0, 50);  // metadata
  EXPECT_EQ(told.text, "!x@150; #x@150; !x@50; ");
}

TEST_F(StepFilterTest, RanksWithoutTheStepsHaveNothing) {
  begin(1, "other", 150, 1);
  EXPECT_EQ(told.text, "");
}

}  // namespace
}  // namespace ronde::report::exporting
