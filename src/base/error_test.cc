#include "ronde/base/error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace ronde {
namespace {

TEST(Error, SaysTheMessageAndEveryCause) {
  const Error root = Error::system(ENOENT, "cannot open {}", "a.toml");
  const Error middle(Error::Kind::PeerLost, "rank 3 left", {.ranks = {3}, .cause = std::make_shared<Error>(root)});
  const Error top(Error::Kind::Timeout, "allreduce 'w' failed", {.cause = std::make_shared<Error>(middle)});

  EXPECT_STREQ(top.what(),
               "allreduce 'w' failed; cause: rank 3 left; cause: cannot open a.toml: No such file or directory");
  EXPECT_EQ(top.message(), "allreduce 'w' failed");
  EXPECT_EQ(top.first_cause().message(), root.message());
  EXPECT_EQ(top.cause()->ranks(), std::vector<int>{3});
}

TEST(Error, NamesTheLimitWhenDescriptorsHaveRunOut) {
  const std::string what = Error::system(EMFILE, "cannot open {}", "a.csv").what();
  EXPECT_TRUE(what.starts_with("cannot open a.csv: out of file descriptors (limit ")) << what;
}

TEST(Error, WrongInputEndsAProgramWithTwoAndTheRestWithOne) {
  EXPECT_EQ(Error::bad_input("no {}", 7).exit_code(), 2);
  EXPECT_EQ(Error(Error::Kind::Bug, "x").exit_code(), 1);
}

TEST(Error, SurvivesTheTripThroughAnExceptionPointer) {
  std::exception_ptr carried;
  try {
    throw Error(Error::Kind::Mismatch, "shapes differ", {.ranks = {0, 2}});
  } catch (...) {
    carried = std::current_exception();
  }
  try {
    std::rethrow_exception(carried);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Mismatch);
    EXPECT_EQ(error.ranks(), (std::vector<int>{0, 2}));
  }
}

}  // namespace
}  // namespace ronde
