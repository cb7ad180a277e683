#include "ronde/comm/watch/watchdog.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ronde/base/system/clock.h"

namespace ronde::comm::detail {
namespace {

// A watchdog with peers that the test plays.
class Watchdogs : public testing::Test {
 protected:
  explicit Watchdogs(std::size_t peers = 3) : sockets_(peers + 1), theirs_(peers + 1) {
    for (std::size_t peer = 1; peer <= peers; ++peer) {  // peer 0 is the rank itself, and has no socket
      int pair[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
      sockets_[peer] = FileDescriptor(pair[0]);
      theirs_[peer] = FileDescriptor(pair[1]);
    }
    watchdog_ = std::make_unique<Watchdog>(sockets_, [this](int peer, const std::string& farewell) {
      std::lock_guard lock(mutex_);
      ++calls_;
      gone_[peer] = farewell;
      heard_.notify_all();
    });
  }

  // What those who have gone said, when that many have.
  std::map<int, std::string> gone(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(heard_.wait_for(lock, std::chrono::seconds(20), [&] { return gone_.size() >= count; }));
    return gone_;
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  void speak(std::size_t peer, const std::string& text) {
    EXPECT_EQ(send(theirs_[peer].get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  std::string hear(std::size_t peer) {
    char text[4096];
    const ssize_t length = recv(theirs_[peer].get(), text, sizeof(text), 0);
    return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "";
  }

  std::vector<FileDescriptor> sockets_, theirs_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::map<int, std::string> gone_;
  int calls_ = 0;
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(Watchdogs, SeeThatAPeerHasGoneWithoutAWord) {
  theirs_[2].close();
  EXPECT_EQ(gone(1), (std::map<int, std::string>{{2, ""}}));
}

TEST_F(Watchdogs, HearWhatIsSaidAndThenTheEnd) {
  speak(1, "one thing");
  speak(1, "another thing");
  EXPECT_EQ(gone(1).count(1), 1u);
  theirs_[3].close();
  gone(2);
  theirs_[1].close();
  const Deadline until = Deadline::after(std::chrono::seconds(20));
  while (calls() < 4 && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(calls(), 4) << "two things, two ends";
  EXPECT_EQ(gone(2), (std::map<int, std::string>{{1, ""}, {3, ""}}));
}

TEST_F(Watchdogs, HearTheLastWordsOfPeersThatDidNotListen) {
  watchdog_->say("good bye");  // nobody reads it: then the first thing that comes of their end is an error
  for (const std::size_t peer : {1, 2, 3}) {
    speak(peer, "that is all");
    theirs_[peer].close();
  }
  const Deadline until = Deadline::after(std::chrono::seconds(20));
  while (calls() < 6 && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(calls(), 6) << "of each what it said, and its end";
}

TEST_F(Watchdogs, TellAllWhoStillListen) {
  theirs_[2].close();
  watchdog_->say("good bye");
  EXPECT_EQ(hear(1), "good bye");
  EXPECT_EQ(hear(3), "good bye");
}

TEST_F(Watchdogs, DoNotWaitForAPeerThatDoesNotRead) {
  for (int i = 0; i < 10'000; ++i) watchdog_->say(std::string(1000, 'x'));
  SUCCEED() << "its buffer is long full";
}

TEST_F(Watchdogs, EndAtOnceWhileNothingHappens) {
  const auto start = std::chrono::steady_clock::now();
  watchdog_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(calls(), 0);
}

TEST_F(Watchdogs, CostNothingWhileNothingHappens) {
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used =
      static_cast<double>(after.tv_sec - before.tv_sec) + static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e9;
  EXPECT_LT(used, 0.1) << "it sleeps instead of looking";
}

TEST_F(Watchdogs, CallOnceForEachTimeThatAnotherDescriptorIsArmed) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const FileDescriptor mine(pair[0]), other(pair[1]);
  std::atomic<int> ready = 0;
  watchdog_->watch_also(mine.get(), [&] { ++ready; });
  const auto wait_for = [&](int count) {
    const Deadline until = Deadline::after(std::chrono::seconds(20));
    while (ready < count && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return ready.load();
  };
  ASSERT_EQ(send(other.get(), "x", 1, 0), 1);
  EXPECT_EQ(wait_for(0), 0) << "not armed";
  watchdog_->arm();
  EXPECT_EQ(wait_for(1), 1) << "there was something already";
  watchdog_->arm();
  EXPECT_EQ(wait_for(2), 2) << "it has not been read";
  watchdog_.reset();
}

// Something else that can be read, and how often the watchdog has said so.
TEST_F(Watchdogs, WhatIsArmedSoonIsHeardAfterAMoment) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const FileDescriptor ours(pair[0]), other(pair[1]);
  std::atomic<int> heard{0};
  watchdog_->watch_also(ours.get(), [&] { ++heard; });
  ASSERT_EQ(send(other.get(), "x", 1, 0), 1);
  watchdog_->arm_soon();
  for (int i = 0; i < 2000 && heard == 0; ++i) usleep(10'000);
  EXPECT_EQ(heard, 1);
  watchdog_->arm_soon();
  watchdog_->disarm();
  usleep(20'000);
  EXPECT_EQ(heard, 1);
  watchdog_.reset();  // before what it watches
}

}  // namespace
}  // namespace ronde::comm::detail
