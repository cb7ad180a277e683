// Tests of the thin shells over the operating system: environment, terminal, threads, libraries.
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/library.h"
#include "ronde/base/system/thread.h"
#include "ronde/base/text/terminal.h"

namespace ronde {
namespace {

TEST(Environment, SeesTheProcessAndTellsEmptyFromMissing) {
  EXPECT_TRUE(Environment::of_process().get("PATH").has_value());
  const Environment environment{{"A", ""}, {"B", "x=y"}};
  EXPECT_EQ(environment.get("A"), "");
  EXPECT_EQ(environment.get("B"), "x=y");
  EXPECT_EQ(environment.get("C"), std::nullopt);
}

TEST(Paint, ColoursOnlyWhereAsked) {
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(Paint::choose("always", file, Environment{{"NO_COLOR", "1"}}).red("x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Paint::choose("never", file, Environment{}).red("x"), "x");
  EXPECT_EQ(Paint::choose("auto", file, Environment{}).red("x"), "x") << "a file is no terminal";
  std::fclose(file);
}

TEST(Thread, KeepsTheFirstFifteenLettersOfAName) {
  std::jthread([] {
    name_this_thread("engine of rank 12345");
    EXPECT_EQ(name_of_this_thread(), "engine of rank ");
  });
}

TEST(Library, CallsAFunctionAndNamesWhatIsMissing) {
  const Library math("libm.so.6");
  EXPECT_EQ(math.function<double(double)>("floor")(2.5), 2.0);
  try {
    math.function<void()>("no_such_function");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "libm.so.6 has no function no_such_function");
  }
  EXPECT_THROW(Library("libdoes-not-exist.so"), Error);
}

}  // namespace
}  // namespace ronde
