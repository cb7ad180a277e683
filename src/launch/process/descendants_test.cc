#include "ronde/launch/process/descendants.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "ronde/launch/process/descriptor.h"

namespace ronde::launch::detail {
namespace {

TEST(ParentIn, ReadsBehindAnyName) {
  EXPECT_EQ(parent_in("17 (sh) S 4 17 17 0"), 4);
  EXPECT_EQ(parent_in("17 (a) S 9 (b) R 4 17"), 4);
  EXPECT_EQ(parent_in("17 (sh) S"), std::nullopt);
  EXPECT_EQ(parent_in(""), std::nullopt);
}

TEST(EndChildren, NobodyGetsAwayByADoubleForkOrASessionOfItsOwn) {
  using namespace std::chrono_literals;
  const Subreaper subreaper;
  Pipe life = Pipe::make();
  if (fork() == 0) {  // dies at once; its child goes on in a session of its own, deaf to polite signals
    if (fork() == 0) {
      setsid();
      signal(SIGTERM, SIG_IGN);
      life.read.close();
      char byte = 'x';
      [[maybe_unused]] const auto written = write(life.write.get(), &byte, 1);
      while (true) pause();
    }
    _exit(0);
  }
  life.write.close();
  char byte = 0;
  ASSERT_EQ(read(life.read.get(), &byte, 1), 1) << "it is there";
  end_children(Deadline::after(20s));
  EXPECT_EQ(read(life.read.get(), &byte, 1), 0) << "all who held the pipe are dead";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "and reaped";
}

TEST(EndChildren, SomeAreKept) {
  pid_t started[2];
  for (pid_t& pid : started)
    if (pid = fork(); pid == 0)
      while (true) pause();
  end_children_but(std::span(started, 1));
  EXPECT_EQ(waitpid(started[0], nullptr, WNOHANG), 0) << "it goes on";
  EXPECT_EQ(waitpid(started[1], nullptr, WNOHANG), -1) << "dead and reaped";
  end_children_but({});
  EXPECT_EQ(waitpid(started[0], nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace ronde::launch::detail
