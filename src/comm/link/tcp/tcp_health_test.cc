#include "ronde/comm/link/tcp/tcp_health.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 6s;

// Looks once a second, and gives the second in which the peer is taken for lost; 0: never.
template <class At>
int lost_at(At sample_at, int seconds = 300) {
  TcpHealth health(kTimeout);
  for (int second = 1; second <= seconds; ++second)
    if (health.is_lost(sample_at(second))) return second;
  return 0;
}

TEST(TcpHealth, AMachineThatAnswersNothingIsLostAfterTheTimeout) {
  const int at = lost_at([](int second) {
    return TcpSample{.outstanding = true,
                     .unacknowledged = 10,
                     .since_sent = std::chrono::milliseconds(100),  // the kernel sends again and again
                     .since_answer = std::chrono::seconds(second)};
  });
  EXPECT_GE(at, 6);
  EXPECT_LE(at, 7);
}

TEST(TcpHealth, AMachineThatGoesWhileItsRankDoesNotReadIsLostToo) {
  EXPECT_LE(lost_at([](int second) {
              return TcpSample{.outstanding = true,
                               .unanswered_probes = 2,
                               .since_sent = std::chrono::seconds(second),
                               .since_answer = std::chrono::seconds(second)};
            }),
            7);
}

TEST(TcpHealth, AMachineThatIsSuspendedIsWaitedForUpToThePatience) {
  const auto lost_after_12_s = [](std::chrono::seconds patience) {
    TcpHealth health(patience);
    bool lost = false;
    for (int second = 1; second <= 20; ++second) {
      const bool answers = second > 12;
      lost = lost || health.is_lost({.outstanding = !answers,
                                     .unacknowledged = answers ? 0u : 10u,
                                     .since_sent = 100ms,
                                     .since_answer = std::chrono::seconds(answers ? 0 : second)});
    }
    return lost;
  };
  EXPECT_TRUE(lost_after_12_s(6s));
  EXPECT_FALSE(lost_after_12_s(30s));
}

// A debugger, or SIGSTOP: the kernel answers every probe, and they come ever more seldom.
TEST(TcpHealth, ARankThatDoesNotReadIsNotLost) {
  EXPECT_EQ(lost_at([](int second) {
              int probe = 1;
              while (2 * probe <= second) probe *= 2;
              return TcpSample{.outstanding = true,
                               .unanswered_probes = second == probe ? 1u : 0u,  // it has just been sent
                               .since_sent = std::chrono::seconds(second),
                               .since_answer = std::chrono::seconds(second == probe ? probe / 2 : second - probe)};
            }),
            0);
}

// A receiver without memory drops what comes and says so; the kernel sends it again, ever more seldom.
TEST(TcpHealth, NorIsOneThatHasNoRoom) {
  EXPECT_EQ(lost_at([](int second) {
              int sent = 1;
              while (2 * sent <= second) sent *= 2;
              return TcpSample{.outstanding = true,
                               .unacknowledged = 3,
                               .since_sent = std::chrono::seconds(second - sent),
                               .since_answer = std::chrono::seconds(second - sent)};
            }),
            0);
}

TEST(TcpHealth, NorIsOneWithWhichNothingIsUnderWay) {
  EXPECT_EQ(lost_at([](int second) {
              return TcpSample{.since_sent = std::chrono::seconds(second),
                               .since_answer = std::chrono::seconds(second)};
            }),
            0);
}

TEST(TcpHealth, AnAnswerStartsItAnew) {
  EXPECT_EQ(lost_at([](int second) {
              return TcpSample{.outstanding = true,
                               .unacknowledged = 1,
                               .since_sent = 0ms,
                               .since_answer = std::chrono::seconds(second % 5)};
            }),
            0);
}

}  // namespace
}  // namespace ronde::comm::detail
