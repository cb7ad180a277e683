#include "ronde/launch/cluster/shell.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

using Words = std::vector<std::string>;

TEST(Shell, QuotesWhatNeedsIt) {
  EXPECT_EQ(shell_quoted("--host"), "--host");
  EXPECT_EQ(shell_quoted("a:2,b:2"), "a:2,b:2");
  EXPECT_EQ(shell_quoted("2(x3)"), "'2(x3)'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Shell, LongLinesGoOn) {
  EXPECT_EQ(shell_line(Words{"a", "b c", "d"}), "a 'b c' d");
  EXPECT_EQ(shell_line(Words{"aaaa", "bbbb", "cccc"}, 10, 1), " aaaa bbbb \\\n     cccc");
  EXPECT_EQ(shell_line(Words{"aaaa", "-x", "bbbb", "-y"}, 8), "aaaa \\\n    -x bbbb \\\n    -y");
}

TEST(Shell, TakesLinesApart) {
  EXPECT_EQ(shell_words("  --mca btl  'tcp,self' \"a b\" c\\ d \"it's\" ''", "x"),
            (Words{"--mca", "btl", "tcp,self", "a b", "c d", "it's", ""}));
  EXPECT_EQ(shell_words("", "x"), Words{});
  EXPECT_THROW(shell_words("'open", "--mpi-args"), Error);
}

TEST(Shell, WhatWasQuotedComesBack) {
  const Words words{"a b", "", "'", "\"", "\\", "$x", "2(x3)", "\xc3\xa9", "*"};
  EXPECT_EQ(shell_words(shell_line(words), "x"), words);
}

}  // namespace
}  // namespace ronde::launch
