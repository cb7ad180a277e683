#include "ronde/base/log.h"

#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

TEST(Log, ShowsTimeRankAndLevelAndHidesWhatIsBelow) {
  std::ostringstream out;
  const Log log({.level = LogLevel::Warn, .rank = 3, .stream = &out});
  log.info("not shown {}", 1);
  log.warn("link {} is slow", "eth0");
  EXPECT_TRUE(std::regex_match(out.str(), std::regex(R"(\d\d:\d\d:\d\d\.\d{3} rank 3 warning: link eth0 is slow\n)")))
      << out.str();
}

TEST(Log, BracesInAMessageAreNotAFormat) {
  std::ostringstream out;
  Log({.stream = &out}).error("{}", "{oops}");
  EXPECT_NE(out.str().find("error: {oops}\n"), std::string::npos) << out.str();
}

TEST(Log, LinesOfManyThreadsNeverMix) {
  std::ostringstream out;
  {
    const Log log({.stream = &out});
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([log] {
        for (int i = 0; i < 200; ++i) log.info("a line of a certain length");
      });
  }
  std::istringstream lines(out.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_TRUE(line.ends_with(" info: a line of a certain length"));
  EXPECT_EQ(count, 800);
}

TEST(Log, LevelsHaveNames) {
  EXPECT_EQ(parse_log_level("off"), LogLevel::Off);
  EXPECT_THROW(parse_log_level("loud"), Error);
}

}  // namespace
}  // namespace ronde
