#include "ronde/comm/link/tcp/handshake.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using State = ListenerHandshake::State;

constexpr int kRanks = 4;

struct Ends {
  CallerHandshake caller;
  ListenerHandshake listener;
};

Ends ends(const std::string& callers_secret, const std::string& listeners_secret, Call call = {.from = 2, .to = 1}) {
  return {CallerHandshake(callers_secret, call, support::sha256("caller")),
          ListenerHandshake(listeners_secret, 1, kRanks, support::sha256("listener"))};
}

TEST(Handshake, TwoThatKnowTheSecretAcceptEachOther) {
  auto [caller, listener] = ends("secret", "secret");
  const std::string challenge = listener.add(caller.hello());
  ASSERT_EQ(challenge.size(), CallerHandshake::kChallengeBytes);
  const std::string answer = caller.answer(challenge);
  ASSERT_EQ(answer.size(), listener.wants());
  EXPECT_EQ(listener.add(answer), std::string(1, CallerHandshake::kWelcome));
  EXPECT_EQ(listener.state(), State::Accepted);
  EXPECT_EQ(listener.peer(), 2);
  EXPECT_EQ(listener.wants(), 0u);
}

TEST(Handshake, BytesMayComeOneByOne) {
  auto [caller, listener] = ends("secret", "secret");
  std::string challenge;
  for (const char byte : caller.hello()) challenge += listener.add({&byte, 1});
  std::string welcome;
  for (const char byte : caller.answer(challenge)) welcome += listener.add({&byte, 1});
  EXPECT_EQ(welcome, std::string(1, CallerHandshake::kWelcome));
  EXPECT_EQ(listener.state(), State::Accepted);
}

TEST(Handshake, NothingOnTheWireHoldsTheSecret) {
  const std::string secret = "a secret that nobody else may read";
  auto [caller, listener] = ends(secret, secret);
  std::string wire = caller.hello();
  const std::string challenge = listener.add(wire);
  wire += challenge + caller.answer(challenge);
  for (std::size_t length = 4; length <= secret.size(); ++length)
    EXPECT_EQ(wire.find(secret.substr(0, length)), std::string::npos);
}

TEST(Handshake, TheCallerFindsOutThatTheListenerDoesNotKnowTheSecret) {
  auto [caller, listener] = ends("secret", "another");
  EXPECT_EQ(caller.answer(listener.add(caller.hello())), "");
  EXPECT_EQ(caller.answer(std::string(CallerHandshake::kChallengeBytes, '\0')), "");
}

TEST(Handshake, TheListenerRefusesWhoDoesNotKnowTheSecret) {
  auto [caller, listener] = ends("secret", "secret");
  const std::string challenge = listener.add(caller.hello());
  // The proof that it was just sent is the best that somebody without the secret can say.
  EXPECT_EQ(listener.add(challenge.substr(challenge.size() - sizeof(support::Sha256))), "");
  EXPECT_EQ(listener.state(), State::Refused);
  EXPECT_EQ(listener.add("more"), "") << "and stays refused";
  EXPECT_EQ(listener.state(), State::Refused);
}

TEST(Handshake, AnAnswerIsGoodForOneConnection) {
  auto [caller, listener] = ends("secret", "secret");
  const std::string answer = caller.answer(listener.add(caller.hello()));
  ListenerHandshake next("secret", 1, kRanks, support::sha256("another number"));
  next.add(caller.hello());
  EXPECT_EQ(next.add(answer), "");
  EXPECT_EQ(next.state(), State::Refused);
}

TEST(Handshake, AChangedByteIsARefusal) {
  const auto [caller, fresh] = ends("secret", "secret");
  const std::string hello = caller.hello();
  for (std::size_t at = 0; at < hello.size(); ++at) {
    ListenerHandshake listener = fresh;
    std::string changed = hello;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const std::string challenge = listener.add(changed);
    EXPECT_TRUE(challenge.empty() || caller.answer(challenge).empty()) << at;
  }
}

TEST(Handshake, RanksAreThoseOfTheJob) {
  for (const Call call : {Call{.from = 2, .to = 0}, {.from = -1, .to = 1}, {.from = kRanks, .to = 1}}) {
    auto [caller, listener] = ends("secret", "secret", call);
    EXPECT_EQ(listener.add(caller.hello()), "");
    EXPECT_EQ(listener.state(), State::Refused);
  }
}

TEST(Handshake, MoreBytesThanExpectedAreARefusal) {
  auto [caller, listener] = ends("secret", "secret");
  EXPECT_EQ(listener.add(caller.hello() + "x"), "");
  EXPECT_EQ(listener.state(), State::Refused);
}

}  // namespace
}  // namespace ronde::comm::detail
