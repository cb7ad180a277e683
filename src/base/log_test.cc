#include "ronde/base/log.h"

#include <cctype>
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
  std::string line = out.str();
  for (char& letter : line)
    if (std::isdigit(static_cast<unsigned char>(letter))) letter = '0';
  EXPECT_EQ(line, "00:00:00.000 rank 0 warning: link eth0 is slow\n");
  EXPECT_NE(out.str().find(" rank 3 "), std::string::npos);
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
