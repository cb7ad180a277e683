#include "ronde/tune/output/trial_files.h"

#include <sstream>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"

namespace ronde::tune {
namespace {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return (std::ostringstream() << in.rdbuf()).str();
}

TEST(TrialFiles, HaveARowPerResultAndGoOnInTheSameColumns) {
  const tests::Folder folder;
  const auto path = folder.path() / "trial";
  Trial trial{.number = 3, .config = {{"lr", 0.1}}};
  {
    TrialFiles files([](const std::string& text) { FAIL() << text; });
    files.start(path, trial);
    files.write(trial, {{"loss", 0.5}, {"note", "a, \"b\""}, {"time", {{"s", 2}}}, {"list", {1}}});
    files.end(trial);
  }
  TrialFiles files([](const std::string& text) { FAIL() << text; });
  files.start(path, trial);
  files.write(trial, {{"loss", 0.25}, {"new", 1}});
  EXPECT_EQ(content_of(path / "progress.csv"), "loss,note,time/s\n0.5,\"a, \"\"b\"\"\",2\n0.25,,\n");
  EXPECT_EQ(Json::parse(content_of(path / "params.json")), Json({{"lr", 0.1}}));
  std::istringstream lines(content_of(path / "result.json"));
  std::string line;
  std::vector<Json> results;
  while (std::getline(lines, line)) results.push_back(Json::parse(line));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1], Json({{"loss", 0.25}, {"new", 1}, {"config", {{"lr", 0.1}}}}));
}

TEST(TrialFiles, CurvesAreTheNumbersOfAResult) {
  const Json result = {
      {"loss", 0.5}, {"test", {{"accuracy", 1}}}, {"note", "x"}, {"timestamp", 17}, {"config", {{"lr", 1}}}};
  EXPECT_EQ(curves_of(result), (std::vector<std::pair<std::string, double>>{{"loss", 0.5}, {"test/accuracy", 1}}));
}

TEST(TrialFiles, TellOnceThatTheyCannotBeWritten) {
  const tests::Folder folder;
  std::ofstream(folder.path() / "file");  // no folder can be made there
  std::vector<std::string> told;
  TrialFiles files([&](const std::string& text) { told.push_back(text); });
  Trial trial;
  files.start(folder.path() / "file" / "trial", trial);
  files.write(trial, {{"loss", 1}});
  files.write(trial, {{"loss", 2}});
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace
}  // namespace ronde::tune
