#include "ronde/comm/agree/names.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

TEST(Names, ANameIsInUseUntilItIsClosed) {
  NameTable names;
  NameSlot* slot = names.open("w");
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->name, "w");
  EXPECT_EQ(names.open("w"), nullptr);
  EXPECT_NE(names.open("v"), nullptr);
  NameTable::close(*slot);
  EXPECT_EQ(names.open("w"), slot) << "the same slot as before";
}

TEST(Names, ANameIsInUseUntilTheProgramHasLooked) {
  std::atomic<std::uint64_t> looks = 0;
  NameTable names(&looks);
  NameSlot* slot = names.open("w");
  NameTable::close(*slot);
  EXPECT_EQ(names.open("w"), nullptr) << "it is done, but the program cannot know";
  names.learn("w");
  names.forget();
  EXPECT_EQ(names.open("w"), nullptr);
  ++looks;
  EXPECT_EQ(names.open("w"), slot);
  ++looks;
  EXPECT_EQ(names.open("w"), nullptr) << "it has looked, but it is not done";
  names.take_back(*slot);
  EXPECT_EQ(names.open("w"), slot) << "it was never asked for";
  ++looks;
  NameTable::close(*slot);
  names.forget();
  EXPECT_EQ(names.find("w"), nullptr) << "a handle that was thrown away does not keep it";
}

TEST(Names, NumbersFollowTheOrderOfLearning) {
  NameTable names;
  NameSlot* opened = names.open("later");
  EXPECT_EQ(opened->id, kNoId) << "opening is no agreement";
  EXPECT_EQ(names.learn("a").id, 0u);
  EXPECT_EQ(names.learn("later").id, 1u);
  EXPECT_EQ(names.learn("a").id, 0u) << "learnt already";
  EXPECT_EQ(&names.at(1), opened);
  EXPECT_EQ(names.agreed(), 2u);
}

TEST(Names, FindsWhatItKnows) {
  NameTable names;
  EXPECT_EQ(names.find("a"), nullptr);
  NameSlot& learnt = names.learn("a");
  EXPECT_EQ(names.find("a"), &learnt);
  EXPECT_FALSE(learnt.live) << "somebody else's name";
}

TEST(Names, ForgettingKeepsWhatIsInUseButNotItsNumber) {
  NameTable names;
  NameSlot* used = names.open("used");
  names.learn("gone");
  names.learn("used");
  names.forget();
  EXPECT_EQ(names.agreed(), 0u);
  EXPECT_EQ(names.find("gone"), nullptr);
  EXPECT_EQ(names.find("used"), used);
  EXPECT_EQ(used->id, kNoId);
  EXPECT_EQ(names.learn("used").id, 0u);
}

TEST(Names, SlotsStayInPlaceWhileOthersComeAndGo) {
  NameTable names;
  NameSlot* first = names.open("first");
  for (int i = 0; i < 1000; ++i) names.learn(std::to_string(i));
  names.forget();
  for (int i = 0; i < 1000; ++i) names.open(std::to_string(i));
  EXPECT_EQ(first->name, "first");
  EXPECT_EQ(names.find("first"), first);
}

TEST(Names, ThreadsThatOpenTheSameNameGetItOneAtATime) {
  NameTable names;
  std::atomic<int> inside = 0, most = 0, times = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          NameSlot* slot = names.open("shared");
          if (!slot) continue;
          most = std::max(most.load(), ++inside);
          --inside;
          ++times;
          NameTable::close(*slot);
        }
      });
  }
  EXPECT_EQ(most, 1);
  EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace ronde::comm::detail
