// Three members, a few tensors: every order of events, not only those that threads happen to bring about.
#include <random>
#include <unordered_set>

#include <gtest/gtest.h>

#include "ronde/comm/engine/test_rounds.h"

namespace ronde::comm::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Case {
  std::vector<std::string> programs;
  std::size_t bucket_bytes = 25;  // two of a, b, c
  bool deterministic = false;
};

// Walks through all orders of events of one case, depth first. A state cannot be copied, so every way but the last out
// of one is gone again from the start.
//
// Events of different members do not disturb each other, and a member whose round can go on has all its events before
// it, whatever the others do: then it is enough to try its events (a persistent set). Every order is still seen, up to
// swaps of neighbours that make no difference; `all` leaves that out.
class Explorer {
 public:
  explicit Explorer(Case which, bool all = false) : case_(std::move(which)), all_(all) {}

  // What is wrong with the first order that goes wrong; empty: nothing.
  std::string explore() {
    auto group = fresh();
    walk(std::move(group));
    return trouble_;
  }

  std::size_t states() const { return seen_.size(); }
  const std::set<std::string>& ends() const { return ends_; }          // all lists of outcomes, without idle rounds
  const std::set<std::string>& outcomes() const { return outcomes_; }  // of rounds

 private:
  std::unique_ptr<TestGroup> fresh() const {
    auto group = std::make_unique<TestGroup>(
        case_.programs, AgreementOptions{.limits = {.bytes = case_.bucket_bytes, .first_bytes = case_.bucket_bytes},
                                         .deterministic = case_.deterministic});
    group->run();  // up to the bars
    for (std::size_t i = 0; i < group->size(); ++i)
      if (group->member(i).at_bar()) group->member(i).pass_bar();
    return group;
  }

  std::vector<Event> choices(TestGroup& group) const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const bool steps = group.can({i, false}), goes_on = group.can({i, true});
      const bool enough = goes_on && !all_ && !group.member(i).elsewhere;
      if (enough) events.clear();
      if (goes_on) events.push_back({i, true});
      if (steps) events.push_back({i, false});
      if (enough) break;
    }
    return events;
  }

  void walk(std::unique_ptr<TestGroup> group) {
    const std::size_t key = std::hash<std::string>{}(group->key());
    if (on_path_.contains(key)) return blame("rounds go on and on without any reason");
    if (!seen_.insert(key).second) return;
    const std::vector<Event> events = choices(*group);
    if (events.empty()) return check_end(*group);
    on_path_.insert(key);
    for (std::size_t i = 0; i < events.size() && trouble_.empty(); ++i) {
      auto next = i + 1 == events.size() ? std::move(group) : again();
      path_.push_back(events[i]);
      try {
        next->take(events[i]);
        next->check_nothing_lost();
        walk(std::move(next));
      } catch (const std::exception& error) {
        blame(error.what());
      }
      path_.pop_back();
    }
    on_path_.erase(key);
  }

  std::unique_ptr<TestGroup> again() const {
    auto group = fresh();
    for (const Event& event : path_) group->take(event);
    return group;
  }

  // Nobody can do anything: all programs must have ended, and nothing may be left that all have asked for.
  void check_end(TestGroup& group) {
    std::set<std::string> left_by_all;
    for (std::size_t i = 0; i < group.size(); ++i) {
      TestMember& mine = group.member(i);
      if (!mine.ended()) return blame("deadlock: member " + std::to_string(i) + " waits for ever");
      std::set<std::string> left;
      for (const Unit* unit : mine.outstanding()) left.insert(title(*unit));
      std::erase_if(left, [&](const std::string& title) { return i > 0 && !left_by_all.contains(title); });
      left_by_all = left;
    }
    if (!left_by_all.empty()) return blame("all have asked for it, and nothing happens: " + *left_by_all.begin());
    std::string end;
    for (const std::string& outcome : group.outcomes()) {
      outcomes_.insert(outcome);
      if (outcome != "nothing") end += outcome + "\n";
    }
    ends_.insert(end);
  }

  void blame(const std::string& what) {
    if (!trouble_.empty()) return;
    trouble_ = what + "\nafter";
    auto group = fresh();
    for (std::size_t i = 0; i < path_.size(); ++i) {
      trouble_ += " " + group->describe(path_[i]);
      if (i + 1 < path_.size()) group->take(path_[i]);
    }
    for (const std::string& outcome : group->outcomes()) trouble_ += "\n  " + outcome;
  }

  const Case case_;
  const bool all_;
  std::vector<Event> path_;
  std::unordered_set<std::size_t> seen_, on_path_;
  std::set<std::string> ends_, outcomes_;
  std::string trouble_;
};

// What a case is called, what it consists of, and outcomes that must occur in it: it would be worth little otherwise.
struct Named {
  const char* name;
  Case what;
  std::vector<std::string> sees = {};
};
void PrintTo(const Named& named, std::ostream* out) {
  *out << named.name;
}

const std::string kWarm = "a b c -a -b -c a b c -a -b -c | ";  // a plan is in force when it is over
std::vector<std::string> warm(const std::string& first, const std::string& second, const std::string& third) {
  return {kWarm + first, kWarm + second, kWarm + third};
}
std::vector<std::string> cold(const std::string& first, const std::string& second, const std::string& third) {
  return {"| " + first, "| " + second, "| " + third};
}

std::vector<Named> cases() {
  const std::string cycle = "a b c -a -b -c ";
  return {
      {"OneCycleInThreeOrders", {cold("a b c -c", "b c a -a", "c a b -b")}, {"run a b; run c"}},
      {"APlanComesIntoForce", {cold("a b -a -b a b -b a -a", "b a -b -a b a -a a -a", "a -a b -b a -a b -b a -a")}},
      {"APlanComesWhileOneWaitsForSomethingElse", {cold("a -a d a -d", "a -a a -a d", "a -a a -a d")}, {"plan over"}},
      {"CyclesWithAPlan", {warm(cycle + cycle, "b c a -c -b -a c a b -c", "c a b -b -c -a a b c -a -c")}, {"run a b"}},
      {"OneBucketOfAll", {warm(cycle + cycle, "b c a -a c a b -c", "c a b -b a b c -a"), 100}, {"run a b c"}},
      {"OneBucketEach", {warm(cycle, "b c a -c -b -a", "c a b -b -c -a"), 10}, {"run a", "run b", "run c"}},
      {"ByName", {warm(cycle + cycle, "b c a -c -b -a " + cycle, "c a b -b -c -a " + cycle), 25, true}},
      {"WaitsInBetween", {warm("a -a b -b c -c", "a b -b -a c -c", "c a b -a -b -c"), 100}, {"plan over"}},
      {"ATensorIsMissing", {warm("a b c -a -c -b", "a c -a -c b -b", "a c b -c -b")}, {"plan over", "run a c"}},
      {"ATensorIsMissingFromABucketOfAll", {warm("a b c -a -c", "a c -a -c b -b", "a c b -c -b"), 100}, {"run b"}},
      {"ATensorIsMissingForGood", {warm("a c -a", "a c -c", "c a"), 100}, {"plan over", "run a c"}},
      {"ATensorIsMissingFromAWholeStep", {warm("a b c -a -c a -a -b", "a c -a -c b a -b", "a c -c b a -a")}},
      {"AnotherShapeOnAll",
       {warm("a' b c -a -b -c", "b a' c -c -a", "c b a' -a -c"), 100},
       {"plan over", "run a'; run b c"}},
      {"AnotherShapeOnOne", {warm("a' b c -a a -a", "b c a -a a -a", "c a b -a a -a")}, {"plan over", "differ 'a'"}},
      {"ANewName", {warm("a d b c -d -a -b -c", "a b c d -c -d", "d a b c -d -c")}, {"plan over"}},
      {"ANewNameThatOneWaitsFor", {warm("a d b c -a -c", "a d -d b c -c", "a b c d -d -b")}, {"plan over"}},
      {"TheNextStepBegins",
       {warm("a b c -a a -b b -c c -b -c", "a b c -a a -b b -c c -c", "a b c -c -a -b c b a -b -c")}},
      {"Polls", {warm("a ~a b c -c", "a b ~a c -c", "c b a -a -c")}, {"plan over", "run a b"}},
      {"WithoutNames", {cold("u a -u u -u", "u a u -a -u", "a u u -u")}, {"run u"}},
      {"WithoutNamesAmongOthers",
       {{"a u b u -u -a -b a u b u -u -a -b | a u b u -u -a -b", "u a u b -a -u -b u a u b -u -a -b | u u a b -u -a -b",
         "a b u u -u -a -b a b u u -u -a -b | a b u -u u -a -b -u"}}},
      {"WithoutNamesAndOfAnotherShape",
       {{"a u -u -a a u -u -a | a u' u -u -a", "u a -a -u u a -u -a | u' u a -a -u",
         "a u -u -a a u -u -a | a u' -u u -u -a"}},
       {"plan over"}},
      {"WithoutNamesInAnotherOrder",
       {{"a u -u -a a u -u -a | a u' u -u -a", "a u -a -u a u -u -a | u u' a -a -u",
         "a u -u -a a u -u -a | a u' u -u -a"}}},
      {"WaitsInAnotherGroup", {warm("a b c -a", "a @ b c -c", "c a b -a"), 100}, {"plan over", "run a"}},
      {"OneJoins", {warm("J -J", "a b -a J -J", "b a -b J -J")}, {"plan over", "run a"}},
      {"OneJoinsAndComesBack", {cold("J -J a -a", "a J -J a -a", "a -a J -J a -a")}},
      {"OneJoinsAsAPlanComes",
       {{"a -a | a J -J", "a -a | a -a a J -J", "a -a | a -a a -a J -J"}},
       {"run a; plan", "plan over"}},
      {"TheFirstTwoJoin", {cold("a -a J -J", "J -J", "a -a b -b J -J")}, {"run b"}},
      {"AllJoinAtOnce", {warm("J -J a -a", "J -J a -a", "J -J a -a")}, {"all joined, last 0", "all joined, last 2"}},
      {"AllJoinTwice", {cold("J -J J -J", "J -J J -J", "J -J J -J")}, {"all joined, last 0", "all joined, last 1"}},
      {"OneJoinsWithSomethingPending", {cold("b J -J b -b", "J -J b -b", "J -J b -b")}, {"run b"}},
      {"JoinedAndAskedForAMaximum", {cold("J -J m -m", "m -m J -J m -m", "m J -J m -m")}, {"differ 'm'"}},
      {"JoinedAndWithoutNames", {cold("u -u J -J u -u", "u -u u -u J -J u -u", "u u -u J -J u -u")}},
      {"AStallWithoutAPlan", {cold("a ! -a b -b", "b a -a -b !", "a b -a -b")}, {"run a; stall reported"}},
      {"AStallWithAPlan", {warm("a b ! c -a -b -c", "b a c -c -a ! -b", "c a b -a -b")}, {"plan over"}},
      {"AStallAndAJoin", {cold("J -J", "! J -J", "a J -J")}, {"stall reported"}},
  };
}

std::vector<Named> tuning_cases() {
  const std::string cycle = "a b c -a -b -c ";
  return {
      {"OneTunes",
       {warm("T " + cycle + cycle, "b c a -c -b -a c a b -c", "c a b -b -c -a a b c -a -c")},
       {"retuned", "run a", "run b"}},
      {"OneTunesInTheMiddleOfAStep",
       {warm("a b T c -a -b -c a b c -c", cycle + cycle, cycle + cycle)},
       {"retuned", "run a b", "run a"}},
      {"OneTunesTwice",
       {warm("T a T' b c -a -b -c T " + cycle, cycle + cycle, "c a b -b -c -a a b c -a -c")},
       {"retuned", "run a b c"}},
      {"OneTunesWithoutAPlan", {cold("T' a b -b -a a -a", "b a -a -b a", "a b -a -b a")}, {"run a b"}},
      {"OneTunesAndAnotherDeviates", {warm("T a' b c -a -b -c", "b a' c -c -a", "c b a' -a -c")}, {"plan over"}},
      {"OneTunesAndATensorIsMissing",
       {warm("T a b c -a -c a -a -b", "a c -a -c b a -b", "a c -c b a -a"), 100},
       {"plan over", "retuned"}},
      {"OneTunesAndAnotherJoins", {warm("T a J -J", "J -J", "a -a J -J")}, {"plan over", "run a"}},
      {"OneTunesAndAnotherStalls", {warm("T a b c -a", "! a c b -a", "c a b -a")}, {"plan over"}},
      {"OneTunesWithoutNames",
       {{"a u -u -a a u -u -a | T a u -u -a a u -u -a", "u a -a -u u a -u -a | u a -a -u u a -a -u",
         "a u -u -a a u -u -a | a u -u -a a u -a -u"},
        100},
       {"retuned"}},
  };
}

class AgreementExhaustive : public testing::TestWithParam<Named> {};

TEST_P(AgreementExhaustive, EveryOrderOfEventsEndsWell) {
  Explorer explorer(GetParam().what);
  EXPECT_EQ(explorer.explore(), "");
  for (const std::string& outcome : GetParam().sees) EXPECT_TRUE(explorer.outcomes().contains(outcome)) << outcome;
  RecordProperty("states", static_cast<int>(explorer.states()));
}

// Sanitizers take their time: they see every third case, which is enough of the same code.
std::vector<Named> cases_for_this_build() {
  std::vector<Named> chosen;
  std::size_t index = 0;
  std::vector<Named> all = cases();
  std::ranges::copy(tuning_cases(), std::back_inserter(all));
  for (const Named& named : all)
    if (index++ % 3 == 1 || !kSanitized) chosen.push_back(named);
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Cases, AgreementExhaustive, testing::ValuesIn(cases_for_this_build()),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Steps that nobody thought of: in any order, with polls, and with something that is not as planned.
class RandomPrograms {
 public:
  explicit RandomPrograms(unsigned seed) : random_(seed), deviation_(static_cast<Deviation>(seed % kDeviations)) {}

  Case make() {
    const std::string t(1, static_cast<char>('a' + random_() % 2));  // what deviates,
    const std::size_t odd = random_() % 3;                           // and on whom
    Case made{.programs = {}, .bucket_bytes = std::vector<std::size_t>{10, 25}[random_() % 2]};
    made.deterministic = random_() % 4 == 0;
    for (std::size_t i = 0; i < 3; ++i) made.programs.push_back("a b -a -b a b -a -b | " + program(t, i == odd));
    return made;
  }

 private:
  enum Deviation { kNone, kLate, kOtherShape, kOtherShapeOnOne, kNewName, kWithoutName, kJoin, kDeviations };
  using Words = std::vector<std::string>;

  std::string program(const std::string& t, bool odd) {
    if (deviation_ == kJoin && odd) return "J -J ";
    Words words = {"a", "b"};
    if (deviation_ == kNewName) words.push_back("d");
    if (deviation_ == kWithoutName) words.push_back("u");
    const bool late = deviation_ == kLate && odd;
    if (late) std::erase(words, t);
    std::ranges::shuffle(words, random_);
    Words waits = words;
    std::ranges::shuffle(waits, random_);
    std::erase(waits, t);
    std::string text;
    for (const std::string& word : words) {
      const bool other = word == t && (deviation_ == kOtherShape || (deviation_ == kOtherShapeOnOne && odd));
      text += word + (other ? "' " : " ");
      if (random_() % 6 == 0) text += "~" + word + " ";
    }
    for (const std::string& word : waits) text += "-" + word + " ";
    if (late) text += t + " ";
    return text + "-" + t + (deviation_ == kJoin ? " J -J " : " ");
  }

  std::mt19937 random_;
  const Deviation deviation_;
};

TEST(AgreementExhaustively, RandomProgramsEndWell) {
  for (unsigned seed = 0; seed < (kSanitized ? 7 : 14); ++seed) {
    const Case made = RandomPrograms(seed).make();
    Explorer explorer(made);
    EXPECT_EQ(explorer.explore(), "") << seed << ": " << testing::PrintToString(made.programs);
  }
}

TEST(AgreementExhaustively, TryingLessSeesAsMuch) {
  for (const Case& small : {Case{cold("a -a", "a -a", "a -a")}, Case{cold("a b -b", "b -b", "b a -b")},
                            Case{warm("a b c -a", "b a -a c", "c a' b -a")}, Case{cold("J -J", "J -J", "J -J")}}) {
    Explorer less(small), all(small, true);
    EXPECT_EQ(less.explore(), all.explore());
    EXPECT_EQ(less.ends(), all.ends());
    EXPECT_LT(less.states(), all.states());
  }
}

}  // namespace
}  // namespace ronde::comm::detail
