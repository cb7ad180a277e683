#include "ronde/topology/cpu_set.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::topology {
namespace {

TEST(CpuSet, ReadsAndWritesListsAsTheKernelAndTasksetDo) {
  EXPECT_EQ(CpuSet::parse("0-3,8"), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(CpuSet::parse("0-7:2,1"), (CpuSet{0, 1, 2, 4, 6}));
  EXPECT_EQ(CpuSet::parse(""), CpuSet{});
  EXPECT_EQ(CpuSet::parse("8,0-3,2"), (CpuSet{0, 1, 2, 3, 8}));
  for (const char* text :
       {"", "5", "0-1", "0-3,8", "0-3,8-9,11", "0-62:2", "0,2,4", "0-15,64-79", "1-63:2,64", "0,5-6"})
    EXPECT_EQ(CpuSet::parse(text).format(), text);
}

TEST(CpuSet, RefusesWhatIsNoListAndNamesThePiece) {
  for (const char* text : {"a", "1,", ",1", "3-1", "1-", "-1", "0-4:0", "0-99999999999", "1 2", "0x3"}) {
    try {
      CpuSet::parse(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      EXPECT_NE(error.message().find(text), std::string::npos);
    }
  }
}

TEST(CpuSet, KnowsTheThreeOperationsOfSets) {
  const CpuSet a{0, 1, 2, 3};
  const CpuSet b{2, 3, 4};
  EXPECT_EQ(a | b, (CpuSet{0, 1, 2, 3, 4}));
  EXPECT_EQ(a & b, (CpuSet{2, 3}));
  EXPECT_EQ(a - b, (CpuSet{0, 1}));
  EXPECT_TRUE(a.contains(3));
  EXPECT_FALSE(a.contains(4));
  EXPECT_EQ(CpuSet({7, 7, 1}).size(), 2);
  EXPECT_EQ(CpuSet({7, 7, 1}).front(), 1);
}

}  // namespace
}  // namespace ronde::topology
