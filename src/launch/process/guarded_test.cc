#include "ronde/launch/process/guarded.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "ronde/launch/process/descriptor.h"

namespace ronde::launch::detail {
namespace {

// Starts a process that holds `life` until it is killed.
void start_sleeper(Pipe& life) {
  if (fork() != 0) return;
  setsid();
  life.read.close();
  while (true) pause();
}

bool all_dead(Pipe& life) {
  life.write.close();
  char byte = 0;
  return read(life.read.get(), &byte, 1) == 0;
}

TEST(Guarded, ReturnsWhatWorkReturnsAndKillsWhatItLeaves) {
  Pipe life = Pipe::make();
  EXPECT_EQ(guarded([&](int) {
              start_sleeper(life);
              return 42;
            }),
            42);
  EXPECT_TRUE(all_dead(life));
}

TEST(Guarded, ThrowsWhatWorkThrows) {
  Pipe life = Pipe::make();
  try {
    guarded([&](int) -> int {
      start_sleeper(life);
      throw Error::bad_input("no such thing");
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_STREQ(error.what(), "no such thing");
  }
  EXPECT_TRUE(all_dead(life));
}

TEST(Guarded, WhenTheChildIsKilledAllThatItStartedIsToo) {
  Pipe life = Pipe::make();
  try {
    guarded([&](int) -> int {
      start_sleeper(life);
      raise(SIGKILL);
      return 0;
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the launcher was ended by signal 9 (killed); all processes that it had started are stopped");
  }
  EXPECT_TRUE(all_dead(life));
}

TEST(Guarded, WhenTheVisibleProcessIsKilledTheChildSeesIt) {
  Pipe life = Pipe::make();
  const pid_t visible = fork();
  if (visible == 0) {
    guarded([&](int lifeline) {
      start_sleeper(life);
      kill(getppid(), SIGKILL);
      char byte = 0;
      return read(lifeline, &byte, 1) == 0 ? 0 : 1;
    });
    _exit(0);
  }
  int status = 0;
  waitpid(visible, &status, 0);
  EXPECT_EQ(status, SIGKILL);
  EXPECT_TRUE(all_dead(life)) << "hangs where the child did not see it";
}

TEST(Guarded, PassesSignalsOn) {
  const auto wait_for_a_signal = [](int) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    kill(getppid(), SIGTERM);
    int number = 0;
    sigwait(&set, &number);
    return number;
  };
  bool signalled = false;
  EXPECT_EQ(guarded(wait_for_a_signal, &signalled), SIGTERM);
  EXPECT_TRUE(signalled);
  EXPECT_EQ(guarded([](int) { return 0; }, &signalled), 0);
  EXPECT_FALSE(signalled);
}

}  // namespace
}  // namespace ronde::launch::detail
