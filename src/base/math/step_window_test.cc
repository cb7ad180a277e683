#include "ronde/base/math/step_window.h"

#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

TEST(StepWindow, HoldsBothEnds) {
  const StepWindow window = parse_step_window("100..120");
  EXPECT_FALSE(window.contains(99));
  EXPECT_TRUE(window.contains(100));
  EXPECT_TRUE(window.contains(120));
  EXPECT_FALSE(window.contains(121));
  EXPECT_FALSE(window.open_before_first_step());
}

TEST(StepWindow, AMissingEndIsOpen) {
  EXPECT_TRUE(parse_step_window("100..").contains(1'000'000));
  EXPECT_FALSE(parse_step_window("100..").contains(99));
  EXPECT_TRUE(parse_step_window("..120").contains(0));
  EXPECT_FALSE(parse_step_window("..120").contains(121));
  EXPECT_TRUE(parse_step_window("..120").open_before_first_step());
  EXPECT_TRUE(parse_step_window("").contains(7));
  EXPECT_TRUE(parse_step_window("..").contains(7));
  EXPECT_TRUE(parse_step_window("7..7").contains(7));
}

TEST(StepWindow, RefusesWhatItCannotRead) {
  for (const char* text : {"100", "a..b", "1..2..3", "-3..4", "5..x", " 1..2", "1...2", "99999999999999999999.."})
    EXPECT_THROW(parse_step_window(text), Error) << text;
}

TEST(StepWindow, SaysWhatIsWrong) {
  try {
    parse_step_window("120..100");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_EQ(error.message(), "'120..100' is an empty range of steps: 120 comes after 100");
  }
}

}  // namespace
}  // namespace ronde
