#include "ronde/tune/journal/journal.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::tune {
namespace {

using Lines = std::vector<Journal::Line>;

Lines all_of(Journal& journal) {
  Lines lines;
  journal.exclusively([&](const Lines& news) { lines = news; });
  return lines;
}

void append(Journal& journal, const Journal::Line& line) {
  journal.exclusively([&](const Lines&) { journal.append(line); });
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return (std::ostringstream() << in.rdbuf()).str();
}

class JournalFile : public ::testing::Test {
 protected:
  tests::Folder folder_;
  const std::filesystem::path file_ = folder_.path() / "journal.jsonl";
};

TEST_F(JournalFile, GivesBackWhatWasAppended) {
  {
    Journal journal(file_);
    append(journal, {{"a", 1}});
    append(journal, {{"b", "two\nlines"}});
    EXPECT_TRUE(all_of(journal).empty()) << "one's own lines are no news";
  }
  Journal again(file_);
  EXPECT_EQ(all_of(again), (Lines{{{"a", 1}}, {{"b", "two\nlines"}}}));
}

TEST_F(JournalFile, DropsALineThatWasCutOffAnywhere) {
  {
    Journal journal(file_);
    append(journal, {{"a", 1}});
    append(journal, {{"b", 2}});
  }
  const std::string whole = content_of(file_);
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t length = first + 1; length < whole.size(); ++length) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    Journal journal(file_);
    ASSERT_EQ(all_of(journal), (Lines{{{"a", 1}}})) << length;
    EXPECT_EQ(journal.dropped(), length - first);
    append(journal, {{"c", 3}});
    Journal again(file_);
    EXPECT_EQ(all_of(again), (Lines{{{"a", 1}}, {{"c", 3}}}));
  }
}

TEST_F(JournalFile, RefusesDamageBeforeTheLastLineAndNamesIt) {
  {
    Journal journal(file_);
    for (int i = 0; i < 3; ++i) append(journal, {{"i", i}});
  }
  std::string text = content_of(file_);
  text[text.find("\"i\":1") + 4] = '7';
  std::ofstream(file_, std::ios::binary | std::ios::trunc) << text;
  Journal journal(file_);
  try {
    all_of(journal);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("line 2: damaged"), std::string::npos) << error.message();
  }
}

using JournalDeathTest = JournalFile;  // forks

TEST_F(JournalDeathTest, SharesLinesBetweenProcessesInOneOrder) {
  constexpr int kProcesses = 3, kLines = 200;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      Journal journal(file_);
      for (int i = 0; i < kLines; ++i) append(journal, {{"process", process}, {"i", i}});
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Journal journal(file_);
  std::vector<int> next(kProcesses, 0);
  for (const auto& line : all_of(journal)) EXPECT_EQ(line["i"], next[line["process"].get<std::size_t>()]++);
  EXPECT_EQ(next, std::vector<int>(kProcesses, kLines));
}

TEST_F(JournalDeathTest, KnowsWhichMembersLive) {
  int ready[2], end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Journal journal(file_);
    journal.exclusively([&](const Lines&) { journal.join(); });
    char byte = 0;
    if (::write(ready[1], &byte, 1) == 1 && ::read(end[0], &byte, 1) >= 0) ::_exit(0);
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Journal journal(file_);
  int member = -1;
  journal.exclusively([&](const Lines&) { member = journal.join(); });
  EXPECT_EQ(member, 1);
  EXPECT_TRUE(journal.is_alive(0));
  EXPECT_TRUE(journal.is_alive(1));
  EXPECT_FALSE(journal.is_alive(2));
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(journal.is_alive(0));
}

}  // namespace
}  // namespace ronde::tune
