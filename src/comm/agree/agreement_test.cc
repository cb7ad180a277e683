#include "ronde/comm/agree/agreement.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/engine/test_rounds.h"

namespace ronde::comm::detail {
namespace {

using Texts = std::vector<std::string>;

constexpr AgreementOptions kTwoABucket{.limits = {.bytes = 25, .first_bytes = 25}};

// What came of each round when the programs have run as far as they can, programs before rounds. Rounds that bring
// nothing about are left out.
Texts outcomes(const Texts& programs, const AgreementOptions& options = kTwoABucket) {
  TestGroup group(programs, options);
  group.run();
  Texts told = group.outcomes();
  std::erase(told, "nothing");
  for (std::size_t i = 0; i < group.size(); ++i) EXPECT_TRUE(group.member(i).ended()) << "member " << i;
  group.check_nothing_lost();
  return told;
}

TEST(Agreement, WhatAllHaveAskedForRunsInTheLeadersOrder) {
  EXPECT_EQ(outcomes({"b a c -a", "a b c -c", "c b a -b"}), (Texts{"run b a; run c"}));
}

TEST(Agreement, AMemberAloneAgreesWithItself) {
  EXPECT_EQ(outcomes({"a b -a -b J -J"}), (Texts{"run a b", "all joined, last 0"}));
}

TEST(Agreement, WhatOneHasNotAskedForWaits) {
  TestGroup group({"a", "a", "b"}, kTwoABucket);
  group.run();
  EXPECT_EQ(group.outcomes(), (Texts{"nothing"}));
  EXPECT_EQ(group.member(0).agreement.pending().size(), 1u);
  EXPECT_TRUE(group.member(0).agreement.has("'a'"));
  EXPECT_FALSE(group.member(0).agreement.has("'b'"));
  EXPECT_FALSE(group.can({0, true})) << "nothing new, so nobody wants a round";
}

TEST(Agreement, DifferencesAreToldToAllAndNothingElseSuffers) {
  EXPECT_EQ(outcomes({"a b -a -b", "a' b -a -b", "a b -a -b"}), (Texts{"differ 'a'; run b"}));
  EXPECT_EQ(outcomes({"a -a a -a", "a' -a a -a"}), (Texts{"differ 'a'", "run a"})) << "the name is free again";
}

TEST(Agreement, WithoutANameTheOrderCounts) {
  EXPECT_EQ(outcomes({"u u' -u", "u u' -u"}), (Texts{"run u; run u'"}));
  EXPECT_EQ(outcomes({"u u' -u", "u' u -u"}),
            (Texts{"differ request 0 without a name; differ request 1 without a name"}));
}

const std::string kCycle = "a b c -a -b -c ";

TEST(Agreement, TheSecondSameStepMakesAPlanAndTheThirdVotes) {
  TestGroup group(Texts(3, kCycle + kCycle + kCycle), kTwoABucket);
  group.run();
  EXPECT_EQ(group.outcomes(), (Texts{"run a b; run c", "run a b; run c; plan", "run a b", "run c"}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(group.member(i).agreement.plans(), 1u);
}

TEST(Agreement, MembersThatBeginTheirStepsDifferentlyStillFuse) {
  const Texts told = outcomes({kCycle + kCycle + kCycle, "b c a -a -b -c b c a -a -b -c b c a -a -b -c",
                               "c a b -a -b -c c a b -a -b -c c a b -a -b -c"},
                              {.limits = {.bytes = 100, .first_bytes = 100}});
  EXPECT_EQ(told, (Texts{"run a b c", "run a b c; plan", "run a b c"})) << "the wait was for the step before";
}

TEST(Agreement, ADeterministicPlanIsOrderedByName) {
  const Texts told = outcomes(Texts(2, "c b a -a -b -c c b a -a -b -c c b a -a -b -c"),
                              {.limits = {.bytes = 25, .first_bytes = 25}, .deterministic = true});
  EXPECT_EQ(told.back(), "run c");
  EXPECT_EQ(told[told.size() - 2], "run a b");
}

TEST(Agreement, ADeviationEndsThePlanAndAnotherOneIsMade) {
  const std::string other = "a b' c -a -b -c ";
  const Texts told = outcomes(Texts(2, kCycle + kCycle + other + other + other));
  EXPECT_EQ(told, (Texts{"run a b; run c", "run a b; run c; plan", "plan over", "run a; run b'; run c",
                         "run a; run b'; run c; plan", "run a", "run b'", "run c"}));
}

TEST(Agreement, WhatAPlanHeldIsNotLostWhenItEnds) {
  TestGroup group(Texts(2, kCycle + kCycle + "| a c d -d -a -c"), kTwoABucket);
  group.run();
  for (std::size_t i = 0; i < 2; ++i) group.member(i).pass_bar();
  group.run();
  EXPECT_EQ(group.outcomes().back(), "run a c; run d") << "in order of arrival";
}

TEST(Agreement, AMemberThatHasJoinedTakesPartWithZeros) {
  EXPECT_EQ(outcomes({"J -J", "a -a b -b J -J", "a b -a -b J -J"}), (Texts{"run a", "run b", "all joined, last 2"}));
}

TEST(Agreement, AMemberThatHasJoinedCannotBePartOfAMaximum) {
  EXPECT_EQ(outcomes({"J -J", "m -m J -J", "m -m J -J"}), (Texts{"differ 'm'", "all joined, last 2"}));
}

TEST(Agreement, TheLastToJoinIsTheOneInTheLatestRound) {
  EXPECT_EQ(outcomes({"a -a J -J", "J -J", "J -J"}).back(), "all joined, last 0");
  EXPECT_EQ(outcomes({"J -J", "J -J", "J -J"}).back(), "all joined, last 2") << "in the same round: the highest";
}

TEST(Agreement, WhatWasAskedForBeforeJoiningComesToItsEnd) {
  EXPECT_EQ(outcomes({"a J -J b -b", "J -J b -b"}), (Texts{"run a", "all joined, last 1", "run b"}));
}

TEST(Agreement, AfterAJoinRequestsWithoutANameMatchAgain) {
  EXPECT_EQ(outcomes({"u -u J -J u -u", "u -u u -u J -J u -u"}),
            (Texts{"run u", "run u", "all joined, last 1", "run u"}));
}

TEST(Agreement, AStallIsReportedToAllWithAPlanOrWithout) {
  TestGroup group({"a !", "b", "b"}, kTwoABucket);
  group.run();
  EXPECT_EQ(group.outcomes().back(), "stall reported");
  const Texts planned = outcomes({kCycle + kCycle + "a !", kCycle + kCycle, kCycle + kCycle});
  EXPECT_EQ(planned[planned.size() - 2], "plan over");
  EXPECT_EQ(planned.back(), "stall reported");
}

TEST(Agreement, ATuningMakesThePlanAnewWithoutAStepOfNegotiation) {
  EXPECT_EQ(outcomes({kCycle + kCycle + "T " + kCycle + "T' " + kCycle, kCycle + kCycle + kCycle + kCycle}),
            (Texts{"run a b; run c", "run a b; run c; plan", "plan over", "retuned", "run a", "run b", "run c",
                   "plan over", "retuned", "run a b c"}));
}

TEST(Agreement, ATuningWaitsForTheNextStep) {
  EXPECT_EQ(outcomes({kCycle + kCycle + "a b -a T c -c -b " + kCycle, kCycle + kCycle + kCycle + kCycle}),
            (Texts{"run a b; run c", "run a b; run c; plan", "run a b", "run c", "plan over", "retuned", "run a",
                   "run b", "run c"}));
}

TEST(Agreement, ATuningIsKnownToAll) {
  TestGroup group({kCycle + kCycle + "T", kCycle + kCycle, kCycle + kCycle}, kTwoABucket);
  group.run();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(group.member(i).agreement.tuning().limits.bytes, 10u);
    EXPECT_TRUE(group.member(i).agreement.at_step_start());
    EXPECT_EQ(group.member(i).agreement.step_bytes(), 33u);
    EXPECT_EQ(group.member(i).agreement.plans(), 2u);
  }
}

TEST(Agreement, SaysHowManySubmissionsCannotMatter) {
  TestGroup group(Texts(2, kCycle + kCycle + "| a b c"), {.limits = {.bytes = 100, .first_bytes = 100}});
  group.run();
  Agreement& agreement = group.member(0).agreement;
  EXPECT_EQ(agreement.ignorable_submissions(), 2u) << "of a bucket of three";
  EXPECT_EQ(agreement.lacking(), (Texts{"'a'", "'b'", "'c'"}));
  group.member(0).pass_bar();
  for (const std::size_t left : {1u, 0u}) {
    group.take({0, false});
    EXPECT_FALSE(agreement.wants_round());
    EXPECT_EQ(agreement.ignorable_submissions(), left);
  }
  group.take({0, false});
  EXPECT_TRUE(agreement.wants_round());
  EXPECT_EQ(agreement.own_vote(), true);
}

TEST(Agreement, MoreThanFitsIntoAProposalGoesOnInTheNext) {
  NameTable names;
  Agreement agreement({.limits = {.bytes = 1 << 20, .first_bytes = 1 << 20}}, names);
  std::deque<Unit> units;
  for (int i = 0; i < 800; ++i) {
    Unit& unit = units.emplace_back();
    unit.key = names.open(std::to_string(i));
    complete(unit);
    agreement.submit(unit);
  }
  std::size_t ran = 0, proposals = 0;
  EXPECT_EQ(agreement.opened(agreement.open(false)), Agreement::Opened::Negotiates);
  for (bool more = true; more; ++proposals) {
    const Words words = agreement.answer(agreement.propose());
    EXPECT_LE(words.size(), 1024u) << "what a link combines at once";
    const auto outcome = agreement.judged(words);
    for (const Bucket& bucket : outcome.run) ran += bucket.size();
    more = outcome.more;
  }
  EXPECT_EQ(ran, 800u);
  EXPECT_EQ(proposals, 3u);
  EXPECT_TRUE(agreement.pending().empty());
}

TEST(Agreement, TheEndLeavesNothing) {
  TestGroup group({"a b", "a"}, kTwoABucket);
  group.run();
  Agreement& agreement = group.member(0).agreement;
  EXPECT_NE(agreement.at_hand(), nullptr);
  agreement.forget_all();
  EXPECT_TRUE(agreement.pending().empty());
  EXPECT_FALSE(agreement.wants_round());
  EXPECT_FALSE(agreement.planned());
}

TEST(Agreement, AMemberThatThereIsNotNeitherLeadsNorJoins) {
  NameTable names;
  Agreement agreement({.rank = 1, .size = 3}, names);
  const auto kind_of = [&](Words words) {
    try {
      agreement.opened(words);
      return std::optional<Error::Kind>();
    } catch (const Error& error) {
      return std::optional(error.kind());
    }
  };
  Words words = agreement.open(false);
  words[0] = 2;
  EXPECT_EQ(kind_of(words), std::nullopt);
  EXPECT_EQ(agreement.leader(), 2);
  for (const std::uint64_t leader : {3u, 0xfffffu}) {
    words[0] = leader;
    EXPECT_EQ(kind_of(words), Error::Kind::System) << leader;
  }
  words[0] = kAll;
  words[1] = ~((std::uint64_t{1} << 20 | 2) + 1);  // in round 1, member 2
  EXPECT_EQ(kind_of(words), std::nullopt);
  words[1] = ~((std::uint64_t{1} << 20 | 3) + 1);
  EXPECT_EQ(kind_of(words), Error::Kind::System);
}

TEST(Agreement, WhatNoLeaderProposesIsRefused) {
  NameTable names;
  Agreement agreement({.rank = 1, .size = 3}, names);
  Unit unit;
  unit.key = names.open("known");
  complete(unit);
  agreement.submit(unit);
  agreement.opened(agreement.open(false));
  const auto kind_of = [&](const Proposal& proposal) {
    try {
      agreement.answer(write_proposal(proposal));
      return std::optional<Error::Kind>();
    } catch (const Error& error) {
      return std::optional(error.kind());
    }
  };
  EXPECT_EQ(kind_of({.entries = {{.name = "known"}}}), std::nullopt);
  EXPECT_EQ(kind_of({.entries = {{.id = 0}}}), std::nullopt);
  EXPECT_EQ(kind_of({.entries = {{.id = 1}}}), Error::Kind::System) << "a name that nobody has told";
  EXPECT_EQ(kind_of({.entries = {{.id = 0}, {.name = "known"}}}), Error::Kind::System) << "one request twice";
  EXPECT_EQ(kind_of({.entries = std::vector<Proposal::Entry>(340, {.sequence = 7})}), std::nullopt);
  EXPECT_EQ(kind_of({.entries = std::vector<Proposal::Entry>(341, {.sequence = 7})}), Error::Kind::System)
      << "answers to more do not fit into what a link combines at once";
}

}  // namespace
}  // namespace ronde::comm::detail
