#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ronde/comm/engine/test_members.h"

// For tests: the rounds of a group, one event at a time, in any order that threads and a link could bring about.
namespace ronde::comm::detail {

// What one member does next: a step of its program, or the next piece of its round.
struct Event {
  std::size_t member = 0;
  bool round = false;
};

// What the members put into a round, and what came of it. An exchange is over when all have put in their part.
struct TestRound {
  explicit TestRound(std::size_t members) : openings(members), answers(members) {}

  std::vector<Words> openings, answers;  // by member; empty: not yet
  std::optional<std::string> proposal = {};
  std::string outcome = {};  // what the first that came through says; all must say the same
  std::string memory = {};   // lasting(), when it is over
  bool planned = false;
  std::size_t judged = 0;  // members that have

  static bool all(const std::vector<Words>& words) {
    return std::ranges::none_of(words, [](const Words& some) { return some.empty(); });
  }
  static Words combined(const std::vector<Words>& words) {
    Words least = words.front();
    for (const Words& some : words)
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], some.at(i));
    return least;
  }

  // What members keep of it when it is over: what ran and where the program had waited before; new names; and that
  // what looked like a plan to be is forgotten when somebody joins.
  std::string lasting() const {
    std::string text = outcome == "nothing" || outcome == "stall reported" ? "" : outcome;
    if (planned) return text + "\n";
    if (combined(openings)[1] != kAll) text += "J";
    if (combined(openings)[4] != kAll) text += "T" + std::to_string(combined(openings)[4]);
    if (!proposal) return text + "\n";
    const Words answered = combined(answers);
    const auto entries = read_proposal(*proposal).entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      text += entries[i].name;
      if (answered[i * kAnswerWords] != 0) text += answered[i * kAnswerWords + 2] == 0 ? "|" : ".";
    }
    return text.empty() ? text : text + "\n";
  }
  std::string text() const {
    std::string text = outcome + "|" + proposal.value_or("-") + "|";
    for (const auto* words : {&openings, &answers}) {
      if (!all(*words)) continue;
      for (const std::uint64_t word : combined(*words)) text += std::to_string(word) + " ";
    }
    return text;
  }
};

class TestGroup {
  static constexpr std::uint64_t kJoinedLeader = 1 << 20;  // what a leader adds who has joined

 public:
  TestGroup(const std::vector<std::string>& programs, const AgreementOptions& options) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      AgreementOptions own = options;
      own.rank = static_cast<int>(i);
      own.size = static_cast<int>(programs.size());
      members_.push_back(std::make_unique<TestMember>(own, programs[i]));
    }
  }

  TestMember& member(std::size_t index) { return *members_[index]; }
  std::size_t size() const { return members_.size(); }
  // What came of each round so far.
  std::vector<std::string> outcomes() const {
    std::vector<std::string> told;
    for (const TestRound& round : rounds_)
      if (!round.outcome.empty()) told.push_back(round.outcome);
    return told;
  }

  bool can(const Event& event) const {
    const TestMember& mine = *members_[event.member];
    if (!event.round) return mine.can_step() && (!mine.elsewhere || members_[0]->ended());
    if (mine.phase == Phase::Idle) return mine.agreement.wants_round() || called(mine);
    const TestRound& round = rounds_[mine.round];
    if (mine.phase == Phase::Answered) return TestRound::all(round.answers);
    if (mine.phase == Phase::Judged) return round.judged == size();
    if (!TestRound::all(round.openings)) return false;
    if (mine.agreement.planned() || round.proposal) return true;
    if (mine.agreement.retunes(TestRound::combined(round.openings))) return true;
    const std::uint64_t leader = TestRound::combined(round.openings)[0];
    return leader == kAll || leader % kJoinedLeader == event.member;
  }

  // FAILS WITH: logic_error when something is wrong.
  void take(const Event& event) {
    TestMember& mine = *members_[event.member];
    if (!event.round) {
      step(mine);
    } else if (mine.phase == Phase::Idle) {
      open(mine, event.member);
    } else if (mine.phase == Phase::Opened) {
      hear(mine, event.member);
    } else if (mine.phase == Phase::Answered) {
      judge(mine);
    } else {
      settle(mine);
    }
    if (!mine.agreement.planned()) mine.waits.clear();
  }

  // FAILS WITH: logic_error when what a member has asked for is not what waits to be agreed on.
  void check_nothing_lost() const {
    for (const auto& mine : members_) {
      const std::vector<Unit*> pending = mine->agreement.pending();
      if (std::set<const Unit*>(pending.begin(), pending.end()) != mine->outstanding())
        throw std::logic_error("what was asked for is not what waits");
    }
  }

  std::string describe(const Event& event) const {
    const TestMember& mine = *members_[event.member];
    const char* phases[] = {"opens", "hears", "judges", "settles"};
    const std::string what = event.round ? phases[static_cast<int>(mine.phase)] : mine.next_word();
    return std::to_string(event.member) + ":" + what;
  }

  // Takes whatever can be taken, programs first, until nothing can.
  void run() {
    for (bool more = true; more;) {
      more = false;
      for (const bool round : {false, true})
        for (std::size_t i = 0; i < size() && !(round && more); ++i)
          for (; can({i, round}); more = true) take({i, round});
    }
  }

  // Everything that matters for what can happen from here on: what rounds have brought about, and what each member has
  // on its hands.
  std::string key() const {
    std::size_t first = rounds_.size();
    for (const auto& mine : members_) first = std::min(first, mine->round);
    std::string key;
    for (std::size_t i = 0; i < rounds_.size(); ++i) key += i < first ? rounds_[i].memory : rounds_[i].text() + "\n";
    for (std::size_t i = 0; i < size(); ++i) {
      const TestMember& mine = *members_[i];
      key += std::to_string(mine.round - first) + " " + std::to_string(static_cast<int>(mine.phase)) + " " +
             std::to_string(mine.at()) + (mine.fence() ? "f" : "") + (mine.agreement.wants_round() ? "w" : "") +
             on_its_hands(mine, i) + "\n";
    }
    return key;
  }

 private:
  // Has another begun the round that `mine` would begin, in a way that calls it in? With a plan that is a no; or a yes,
  // if its program holds something back while it waits elsewhere.
  bool called(const TestMember& mine) const {
    if (mine.round == rounds_.size()) return false;
    const bool holds_back = mine.elsewhere && mine.agreement.holds_any() && !mine.agreement.wants_round();
    return std::ranges::any_of(rounds_[mine.round].openings, [&](const Words& words) {
      return !words.empty() && (!mine.agreement.planned() || holds_back || words[0] == 0);
    });
  }

  // Whether waiting closes buckets is told by what is waited for; but whether something without a name had a place in
  // the plan when the program began to wait for it cannot be told later.
  static void step(TestMember& mine) {
    const std::string& word = mine.next_word();
    if (word == "-u" || word == "~u") mine.waits += std::to_string(mine.at()) + "@" + std::to_string(mine.round) + " ";
    mine.step();
  }

  void open(TestMember& mine, std::size_t index) {
    if (mine.round == rounds_.size()) rounds_.emplace_back(size());
    TestRound& round = rounds_[mine.round];
    round.planned = mine.agreement.planned();
    const Words words = mine.agreement.open(round.planned && called(mine));
    for (const Words& other : round.openings) {
      if (other.empty()) continue;
      if (other.size() != words.size()) throw std::logic_error("some have a plan and some have none");
      if (words.size() == 1 && words[0] != 0 && other[0] != 0 && words[0] != other[0])
        throw std::logic_error("votes of two epochs meet");
    }
    round.openings[index] = words;
    if (!round.planned) mine.wish.clear();
    mine.phase = Phase::Opened;
  }

  void hear(TestMember& mine, std::size_t index) {
    TestRound& round = rounds_[mine.round];
    const auto opened = mine.agreement.opened(TestRound::combined(round.openings));
    if (!round.planned && mine.agreement.stall_reported()) mine.stalled = false;
    switch (opened) {
      case Agreement::Opened::Runs: return close(mine, "run" + run(mine, mine.agreement.take_bucket()));
      case Agreement::Opened::PlanOver: return close(mine, "plan over");
      case Agreement::Opened::Retuned: return close(mine, "retuned");
      case Agreement::Opened::AllJoined: {
        Unit* join = mine.agreement.take_join();
        if (!join) throw std::logic_error("a member that has not joined is told that all have");
        mine.finish(*join);
        mine.count_unnamed_from(mine.agreement.next_sequence());
        return close(mine, "all joined, last " + std::to_string(mine.agreement.last_joined()));
      }
      case Agreement::Opened::Negotiates: break;
    }
    if (mine.agreement.leader() == static_cast<int>(index)) round.proposal = mine.agreement.propose();
    round.answers[index] = mine.agreement.answer(*round.proposal);
    if (round.answers[index].empty()) round.answers[index] = {kAll};  // nothing was proposed: an answer all the same
    mine.phase = Phase::Answered;
  }

  void judge(TestMember& mine) {
    TestRound& round = rounds_[mine.round];
    const Agreement::Outcome outcome = mine.agreement.judged(TestRound::combined(round.answers));
    mine.told.clear();
    mine.differs = outcome.differs;
    const auto tell = [&](const std::string& what) { mine.told += (mine.told.empty() ? "" : "; ") + what; };
    for (const std::size_t position : outcome.differs) tell("differ " + mine.agreement.proposed_title(position));
    for (const Bucket& bucket : outcome.run) tell("run" + run(mine, bucket));
    if (outcome.more) throw std::logic_error("three tensors do not fit into a proposal");
    if (mine.agreement.stall_reported()) tell("stall reported");
    if (mine.agreement.planned()) tell("plan");
    ++round.judged;
    mine.phase = Phase::Judged;
    if (mine.differs.empty()) settle(mine);
  }

  // Everyone has told everyone what it asked for.
  void settle(TestMember& mine) {
    for (const std::size_t position : mine.differs) {
      Unit* unit = mine.agreement.proposed(position);
      mine.agreement.settle(position);
      if (unit) mine.finish(*unit);
    }
    close(mine, mine.told.empty() ? "nothing" : mine.told);
  }

  // A unit that is mine must be one that I asked for, once; others are fine if I have joined.
  std::string run(TestMember& mine, const Bucket& bucket) {
    std::string told;
    for (const BucketItem& item : bucket) {
      if (!item.unit && !mine.joins()) throw std::logic_error("a member takes part without having been asked");
      told += " " + word_of(item.unit ? item.unit->description : item.descriptions.at(0));
      if (item.unit) mine.finish(*item.unit);
    }
    return told;
  }

  void close(TestMember& mine, const std::string& outcome) {
    TestRound& round = rounds_[mine.round];
    if (round.outcome.empty()) {
      round.outcome = outcome;
      round.memory = round.lasting();
    }
    if (round.outcome != outcome)
      throw std::logic_error("members part: '" + round.outcome + "' here, '" + outcome + "' there");
    ++mine.round;
    mine.phase = Phase::Idle;
  }

  std::string on_its_hands(const TestMember& mine, std::size_t index) const {
    std::string text = mine.waits + (mine.stalled ? "!" : "") + mine.wish;
    if (mine.joins()) text += "J" + std::to_string(mine.round - mine.joined_in);
    for (const Unit* unit : mine.agreement.pending())
      text += word_of(unit->description) + (unit->fence ? "f" : "") + (unit->waited_for ? "w" : "");
    if (mine.phase == Phase::Idle) return text;
    for (const auto* words : {&rounds_[mine.round].openings[index], &rounds_[mine.round].answers[index]})
      for (const std::uint64_t word : *words) text += " " + std::to_string(word);
    return text;
  }

  std::vector<std::unique_ptr<TestMember>> members_;
  std::vector<TestRound> rounds_;
};

}  // namespace ronde::comm::detail
