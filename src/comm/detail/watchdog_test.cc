#include "ronde/comm/detail/watchdog.h"

#include <condition_variable>
#include <map>
#include <mutex>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <time.h>

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

TEST_F(Watchdogs, HearAFarewellAndOnlyThat) {
  speak(1, "-1\nthat is all");
  EXPECT_EQ(gone(1).at(1), "-1\nthat is all");
  theirs_[1].close();
  theirs_[3].close();
  EXPECT_EQ(gone(2).at(1), "-1\nthat is all") << "its end is no news any more";
  EXPECT_EQ(calls(), 2) << "once a peer";
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

TEST(Farewells, ArriveAsTheyWereSaid) {
  for (const Farewell& said : {Farewell{}, Farewell{3, "a reason\nof two lines"}, Farewell{-1, "nobody's fault"}}) {
    const Farewell heard = read_farewell(write_farewell(said));
    EXPECT_EQ(heard.first_cause, said.first_cause);
    EXPECT_EQ(heard.why, said.why);
  }
  EXPECT_EQ(read_farewell("nonsense").first_cause, -1);
  EXPECT_LE(write_farewell({0, std::string(100'000, 'x')}).size(), 2000u) << "it must go out in one piece";
}

}  // namespace
}  // namespace ronde::comm::detail
