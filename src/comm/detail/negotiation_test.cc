#include "ronde/comm/detail/negotiation.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

TEST(Dictionary, NumbersNamesInTheOrderOfTheirComing) {
  Dictionary dictionary;
  EXPECT_EQ(dictionary.find("a"), std::nullopt);
  EXPECT_EQ(dictionary.learn("a"), 0u);
  EXPECT_EQ(dictionary.learn("b"), 1u);
  EXPECT_EQ(dictionary.learn("a"), 0u);
  EXPECT_EQ(dictionary.find("b"), 1u);
  EXPECT_EQ(dictionary.name(1), "b");
}

TEST(Proposal, ANameIsSentOnce) {
  Dictionary leader, member;
  const std::vector<Pending> pending = {{"w", true}, {"bias", false}};
  const Proposal first = propose(leader, pending);
  EXPECT_EQ(first.entries[0].name, "w");
  EXPECT_EQ(learn(leader, first), learn(member, read_proposal(write_proposal(first))));

  const Proposal second = propose(leader, pending);
  EXPECT_EQ(second.entries[0], (Proposal::Entry{"", 0, true}));
  EXPECT_EQ(second.entries[1], (Proposal::Entry{"", 1, false}));
  EXPECT_LT(write_proposal(second).size(), write_proposal(first).size() + 8);
  EXPECT_EQ(learn(member, second), (std::vector<RequestId>{0, 1}));
}

TEST(Proposal, SurvivesTheTripAndRefusesGarbage) {
  const Proposal proposal{{{"a", 0, true}, {"", 7, false}, {std::string(300, 'x'), 0, false}, {"", 0, true}}};
  const std::string bytes = write_proposal(proposal);
  EXPECT_EQ(read_proposal(bytes), proposal);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_THROW(read_proposal(std::string_view(bytes).substr(0, cut)), Error);
  EXPECT_THROW(read_proposal(bytes + "x"), Error);
}

Verdict verdict_of(std::vector<Answer> answers) {
  std::vector<Answer> combined = {answers.front()};
  for (const Answer& answer : answers) combine(combined, {&answer, 1});
  return judge(combined.front());
}

TEST(Judge, RunsWhenAllHaveTheSame) {
  EXPECT_EQ(verdict_of({ready(42), ready(42), ready(42)}), Verdict::Run);
  EXPECT_EQ(verdict_of({ready(42)}), Verdict::Run);
}

TEST(Judge, WaitsAsLongAsAnyoneIsMissingEvenIfOthersDiffer) {
  EXPECT_EQ(verdict_of({ready(42), kNotReady, ready(42)}), Verdict::Wait);
  EXPECT_EQ(verdict_of({ready(42), ready(43), kNotReady}), Verdict::Wait);
}

TEST(Judge, SeesADifferenceWhereverItIs) {
  EXPECT_EQ(verdict_of({ready(42), ready(43), ready(42)}), Verdict::Differs);
  EXPECT_EQ(verdict_of({ready(42), ready(42), ready(41)}), Verdict::Differs);
}

TEST(Judge, MembersThatHaveJoinedAreNeutralOrRefuse) {
  EXPECT_EQ(verdict_of({ready(42), kJoined, ready(42)}), Verdict::Run);
  EXPECT_EQ(verdict_of({kJoined, ready(42), kNotReady}), Verdict::Wait);
  EXPECT_EQ(verdict_of({ready(42), kJoined, ready(43)}), Verdict::Differs);
  EXPECT_EQ(verdict_of({ready(42), kJoinedRefuses}), Verdict::Differs);
}

}  // namespace
}  // namespace ronde::comm::detail
