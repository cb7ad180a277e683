#include "ronde/comm/agree/negotiation.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

Answer combine(const std::vector<Answer>& answers) {
  Answer least = answers.front();
  for (const Answer& answer : answers) {
    least.low = std::min(least.low, answer.low);
    least.high_complement = std::min(least.high_complement, answer.high_complement);
    least.no_fence = std::min(least.no_fence, answer.no_fence);
  }
  return least;
}

Verdict verdict(const std::vector<Answer>& answers) {
  return judge(combine(answers));
}

TEST(Negotiation, AllThatMeanTheSameRun) {
  EXPECT_EQ(verdict({ready(7, false), ready(7, false), ready(7, true)}), Verdict::Run);
  EXPECT_EQ(verdict({ready(2, false)}), Verdict::Run);
  EXPECT_EQ(verdict({ready(kAll - 1, false), ready(kAll - 1, false)}), Verdict::Run);
}

TEST(Negotiation, AsLongAsOneDoesNotHaveItAllWait) {
  EXPECT_EQ(verdict({ready(7, false), kNotReady}), Verdict::Wait);
  EXPECT_EQ(verdict({ready(7, false), ready(8, false), kNotReady}), Verdict::Wait) << "even if others differ";
  EXPECT_EQ(verdict({kJoined, kNotReady}), Verdict::Wait);
  EXPECT_EQ(verdict({kJoinedRefuses, kNotReady, ready(7, false)}), Verdict::Wait);
}

TEST(Negotiation, OneThatMeansSomethingElseMakesADifference) {
  EXPECT_EQ(verdict({ready(7, false), ready(8, false), ready(7, false)}), Verdict::Differs);
  EXPECT_EQ(verdict({ready(2, false), ready(kAll - 1, false)}), Verdict::Differs);
}

TEST(Negotiation, WhoHasJoinedGoesWithWhateverOthersSay) {
  EXPECT_EQ(verdict({kJoined, ready(7, false), kJoined}), Verdict::Run);
  EXPECT_EQ(verdict({kJoined, ready(7, false), ready(8, false)}), Verdict::Differs);
}

TEST(Negotiation, WhoHasJoinedCanRefuse) {
  EXPECT_EQ(verdict({kJoinedRefuses, ready(7, false)}), Verdict::Differs);
  EXPECT_EQ(verdict({kJoinedRefuses, ready(2, false), kJoined}), Verdict::Differs);
}

TEST(Negotiation, AFenceOfOneIsAFenceForAll) {
  EXPECT_EQ(combine({ready(7, false), ready(7, true)}).no_fence, 0u);
  EXPECT_EQ(combine({ready(7, false), kJoined}).no_fence, 1u);
}

TEST(Negotiation, CombiningTwiceChangesNothing) {
  // The link combines by passing on what it knows, which counts some members more than once.
  const std::vector<Answer> answers = {ready(7, true), kJoined, ready(9, false)};
  const Answer once = combine(answers);
  EXPECT_EQ(combine({once, answers[0], once, answers[2]}), once);
}

Proposal example() {
  Description described{.operation = Operation::Broadcast, .root = 2, .shape = {3, 4}};
  return {.entries = {{.name = "new"},
                      {.id = 17},
                      {.sequence = 5},
                      {.id = 0, .content = {described, {}}},
                      {.name = "n", .content = {described}},
                      {.sequence = 0}},
          .more = true};
}

TEST(Proposals, ArriveAsTheyWereSent) {
  EXPECT_EQ(read_proposal(write_proposal(example())), example());
  EXPECT_EQ(read_proposal(write_proposal({})), Proposal{});
  const Proposal plain{.entries = {{.name = std::string(1000, 'x')}, {.id = kNoId - 1}, {.sequence = kAll >> 2}}};
  EXPECT_EQ(read_proposal(write_proposal(plain)), plain);
}

TEST(Proposals, KnownNamesCostAWord) {
  Proposal proposal;
  for (RequestId id = 0; id < 100; ++id) proposal.entries.push_back({.id = id});
  EXPECT_EQ(write_proposal(proposal).size(), 101 * sizeof(std::uint64_t));
}

TEST(Proposals, BytesThatAreNoneAreABug) {
  const std::string bytes = write_proposal(example());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(read_proposal(std::string_view(bytes).substr(0, length)), Error) << length;
  EXPECT_THROW(read_proposal(bytes + "x"), Error);
}

}  // namespace
}  // namespace ronde::comm::detail
