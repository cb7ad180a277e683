#include "ronde/comm/support/close_on_fork.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ronde::comm::support {
namespace {

struct Pair {
  FileDescriptor mine, theirs;
};

Pair make_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool has_ended(const FileDescriptor& socket, int milliseconds) {
  pollfd wanted{.fd = socket.get(), .events = POLLIN, .revents = 0};
  return poll(&wanted, 1, milliseconds) == 1 && (wanted.revents & POLLHUP);
}

// A child that lives until it is told to go.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0)
      for (;;) pause();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

TEST(CloseOnFork, AForkedChildDoesNotHideTheEndOfASocket) {
  Pair kept = make_pair(), guarded = make_pair();
  CloforkDescriptor mine(std::move(guarded.mine));
  const Child child;
  kept.mine.close();
  EXPECT_FALSE(has_ended(kept.theirs, 50)) << "without the guard, the child holds it";
  mine.close();
  EXPECT_TRUE(has_ended(guarded.theirs, 20'000));
}

TEST(CloseOnFork, TheParentKeepsItsSocket) {
  Pair pair = make_pair();
  const CloforkDescriptor mine(std::move(pair.mine));
  const Child child;
  EXPECT_EQ(write(mine.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(pair.theirs.get(), &byte, 1), 1);
  EXPECT_FALSE(has_ended(pair.theirs, 0));
}

// Closed where it was, the number could be given to a file of the child's, and a destructor of ours would close that.
TEST(CloseOnFork, InTheChildTheNumberStaysTaken) {
  Pair pair = make_pair();
  const CloforkDescriptor mine(std::move(pair.mine));
  const pid_t pid = fork();
  if (pid == 0) _exit(write(mine.get(), "x", 1) == 1 && send(mine.get(), "x", 1, 0) < 0 && errno == ENOTSOCK ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(has_ended(pair.theirs, 0));
}

TEST(CloseOnFork, WhatIsNoLongerGuardedIsTheChilds) {
  Pair pair = make_pair();
  {
    const CloseOnFork guard(pair.mine.get());
    CloseOnFork moved;
    moved = CloseOnFork(pair.theirs.get());
  }
  const Child child;
  pair.mine.close();
  EXPECT_FALSE(has_ended(pair.theirs, 50));
}

TEST(CloseOnFork, ForksAndSocketsOfManyThreadsDoNotDisturbEachOther) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Pair pair = make_pair();
        const CloforkDescriptor one(std::move(pair.mine)), other(std::move(pair.theirs));
      }
    });
  for (int i = 0; i < 20; ++i) const Child child;
}

}  // namespace
}  // namespace ronde::comm::support
