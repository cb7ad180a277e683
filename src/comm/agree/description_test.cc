#include "ronde/comm/agree/description.h"

#include <deque>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/execute/unit.h"

namespace ronde::comm::detail {
namespace {

Request request(Operation operation) {
  static float data[12];
  const Buffer buffer{.data = data, .shape = {3, 4}};
  return {.operation = operation, .name = "w", .input = buffer, .output = buffer, .root = 1};
}

std::vector<Description> examples() {
  Description scaled;
  scaled.prescale = 0.5;
  Description post;
  post.postscale = 0.5;
  return {{},
          {.operation = Operation::Reduce, .root = 0},
          {.operation = Operation::Reduce, .root = 1},
          {.operation = Operation::Barrier},
          {.dtype = DType::F64},
          {.op = ReduceOp::Max},
          {.compression = Compression::BF16},
          scaled,
          post,
          {.shape = {3}},
          {.shape = {3, 1}},
          {.shape = {1, 3}},
          {.shape = {0}},
          {.any_rows = true, .shape = {0}},
          {.order = 0x21, .shape = {3, 4}},
          {.order = 0x12, .shape = {3, 4}},
          {.operation = kMakeGroup, .text = "0, 1"},
          {.operation = kMakeGroup, .text = "0, 2"},
          {.operation = kDropGroup, .text = "0, 1"}};
}

TEST(Descriptions, MemoryOrders) {
  const auto order = [](Shape shape, std::vector<std::int64_t> strides) {
    return memory_order({.dtype = DType::F32, .shape = shape, .strides = std::move(strides)});
  };
  EXPECT_EQ(order({2, 3, 4, 5}, {}), 0u);
  EXPECT_EQ(order({2, 3, 4, 5}, {60, 20, 5, 1}), 0u);
  EXPECT_EQ(order({2, 3, 4, 5}, {60, 1, 15, 3}), 0x1342u);
  EXPECT_EQ(order({2, 1, 4, 5}, {20, 1, 5, 1}), 0u) << "one channel lies the same either way";
  EXPECT_EQ(order({1, 3, 4, 5}, {7, 1, 15, 3}), 0x342u) << "one sample";
  EXPECT_EQ(order({4, 4}, {1, 4}), 0x21u);
  EXPECT_EQ(order({0, 4}, {1, 9}), 0u);
  EXPECT_EQ(order({4, 4}, {1, 5}), std::nullopt) << "gaps";
  EXPECT_EQ(order({4, 4}, {0, 1}), std::nullopt) << "values twice";
  EXPECT_EQ(order({4, 4}, {4}), std::nullopt);
  Description last{.order = 0x1342, .shape = {2, 3, 4, 5}};
  EXPECT_EQ(to_text(last), "allreduce (sum) of f32 [2, 3, 4, 5] in memory order 0 2 3 1 (channels last)");
  last.order = 0x1324;
  EXPECT_EQ(to_text(last), "allreduce (sum) of f32 [2, 3, 4, 5] in memory order 0 2 1 3");
}

TEST(Descriptions, TakeFromARequestWhatMattersToItsOperation) {
  Request allreduce = request(Operation::Allreduce);
  allreduce.op = ReduceOp::Max;
  allreduce.compression = Compression::F16;
  const Description all = describe(allreduce, 0);
  EXPECT_EQ(all, (Description{.op = ReduceOp::Max, .compression = Compression::F16, .shape = {3, 4}}))
      << "the root does not matter";
  Request broadcast = request(Operation::Broadcast);
  broadcast.op = ReduceOp::Max;
  broadcast.prescale = 2;
  EXPECT_EQ(describe(broadcast, 0), (Description{.operation = Operation::Broadcast, .root = 1, .shape = {3, 4}}))
      << "nothing is reduced";
  EXPECT_EQ(describe(request(Operation::Barrier), 0), (Description{.operation = Operation::Barrier}));
  EXPECT_EQ(describe(request(Operation::Join), 0), (Description{.operation = Operation::Join}));
}

TEST(Descriptions, LeaveOutTheRowsWhereTheyMayDiffer) {
  for (const Operation operation : {Operation::Allgather, Operation::Alltoall, Operation::Gather}) {
    Request other = request(operation);
    other.input.shape = {7, 4};
    EXPECT_EQ(describe(request(operation), 0), describe(other, 0)) << name(operation);
    other.input.shape = {3, 5};
    EXPECT_NE(describe(request(operation), 0), describe(other, 0)) << name(operation);
  }
}

TEST(Descriptions, OfAScatterComeFromTheRootsInputAndTheOthersOutput) {
  Request scatter = request(Operation::Scatter);
  scatter.input.dtype = DType::F64;
  EXPECT_EQ(describe(scatter, 1).dtype, DType::F64);
  EXPECT_EQ(describe(scatter, 0).dtype, DType::F32);
}

TEST(Descriptions, OfSendingAndReceivingAreTheSame) {
  EXPECT_EQ(describe(request(Operation::Send), 0), describe(request(Operation::Receive), 1));
}

TEST(Signatures, DifferWhereDescriptionsDo) {
  std::set<std::uint64_t> seen;
  for (const Description& description : examples()) {
    const std::uint64_t value = signature(description);
    EXPECT_TRUE(seen.insert(value).second) << to_text(description);
    EXPECT_EQ(value, signature(Description(description)));
  }
}

TEST(Signatures, AreNeverAWordThatMeansSomethingElse) {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t value = combined_signature(i * 0x9e3779b97f4a7c15ULL, i);
    ASSERT_TRUE(value > 1 && value != ~std::uint64_t{0});
  }
}

TEST(Signatures, OfSeveralTogetherKnowTheOrderAndTheNumber) {
  const std::uint64_t a = 5, b = 6;
  EXPECT_NE(combined_signature(a, b), combined_signature(b, a));
  EXPECT_NE(combined_signature(combined_signature(a, b), b), combined_signature(a, b));
  EXPECT_NE(combined_signature(a, a), combined_signature(b, b));
}

// Of what is submitted together, each of these shapes.
std::uint64_t signature_of(const std::vector<Shape>& shapes) {
  std::deque<Unit> units;
  for (const Shape& shape : shapes) {
    units.emplace_back().description.shape = shape;
    if (units.size() > 1) units[units.size() - 2].next = &units.back();
  }
  complete(units.front());
  return units.front().signature;
}

TEST(Signatures, OfWhatIsSubmittedTogetherDifferWhereAnyPartDoes) {
  std::set<std::uint64_t> seen;
  for (const std::vector<Shape>& shapes : std::vector<std::vector<Shape>>{
           {{3}}, {{3}, {3}}, {{4}, {4}}, {{3}, {4}}, {{4}, {3}}, {{3}, {3}, {3}}, {{4}, {4}, {3}}, {{4}, {3}, {4}}})
    EXPECT_TRUE(seen.insert(signature_of(shapes)).second) << shapes.size() << " of them";
}

TEST(Descriptions, ArriveAsTheyWereSent) {
  std::string bytes;
  for (const Description& description : examples()) write_description(bytes, description);
  std::string_view left = bytes;
  for (const Description& description : examples()) EXPECT_EQ(read_description(left), description);
  EXPECT_TRUE(left.empty());
}

TEST(Descriptions, BytesThatEndInTheMiddleAreABug) {
  std::string bytes;
  write_description(bytes, examples()[14]);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::string_view cut = std::string_view(bytes).substr(0, length);
    EXPECT_THROW(read_description(cut), Error) << length;
  }
}

TEST(Descriptions, JoinedMembersGoWithSumsAveragesAndBarriers) {
  EXPECT_TRUE(joinable({}));
  EXPECT_TRUE(joinable({.op = ReduceOp::Average}));
  EXPECT_TRUE(joinable({.operation = Operation::Barrier}));
  EXPECT_FALSE(joinable({.op = ReduceOp::Max}));
  EXPECT_FALSE(joinable({.operation = Operation::Broadcast}));
  EXPECT_FALSE(joinable({.operation = Operation::Allgather}));
}

TEST(Descriptions, ReadWell) {
  EXPECT_EQ(to_text({.shape = {3, 4}}), "allreduce (sum) of f32 [3, 4]");
  EXPECT_EQ(to_text({.operation = Operation::Barrier}), "barrier");
  Description long_one{.operation = Operation::Reduce, .compression = Compression::F16, .root = 2};
  long_one.prescale = 0.5;
  EXPECT_EQ(to_text(long_one), "reduce (sum) of f32 [] with root 2 scaled by 0.5 before and 1 after sent as f16");
  const Description rows{.operation = Operation::Allgather, .any_rows = true, .shape = {0, 4}};
  EXPECT_EQ(to_text(rows), "allgather of f32 [*, 4]");
  EXPECT_EQ(to_text({.operation = kMakeGroup, .text = "of ranks 0 and 1"}), "make_group of ranks 0 and 1");
}

TEST(Mismatches, SayWhichRanksAskedForWhat) {
  const std::vector<std::optional<Description>> asked = {Description{.shape = {3}}, Description{.shape = {4}},
                                                         Description{.shape = {3}}, std::nullopt};
  const std::vector<int> ranks = {0, 1, 2, 7};
  const std::string text = describe_mismatch("'w'", asked, ranks);
  EXPECT_NE(text.find("'w'"), std::string::npos) << text;
  EXPECT_NE(text.find("ranks 0 and 2: allreduce (sum) of f32 [3]; rank 1: allreduce (sum) of f32 [4]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 7: has joined"), std::string::npos) << text;
}

TEST(Ranks, AreListedAsPeopleDo) {
  EXPECT_EQ(list_ranks(std::vector<int>{3}), "rank 3");
  EXPECT_EQ(list_ranks(std::vector<int>{0, 2}), "ranks 0 and 2");
  EXPECT_EQ(list_ranks(std::vector<int>{0, 2, 3}), "ranks 0, 2 and 3");
}

TEST(Units, OnlyReductionsToEveryoneAreFused) {
  EXPECT_NE(fusion_of(std::vector<Description>{{.shape = {3}}}).kind, 0u);
  EXPECT_EQ(fusion_of(std::vector<Description>{{.shape = {3}}}).bytes, 12u);
  EXPECT_EQ(fusion_of(std::vector<Description>{{.operation = Operation::Broadcast}}).kind, 0u);
  EXPECT_NE(fusion_of(std::vector<Description>{{}}).kind,
            fusion_of(std::vector<Description>{{.dtype = DType::F64}}).kind);
  EXPECT_EQ(fusion_of(std::vector<Description>{{}, {.dtype = DType::F64}}).kind, 0u) << "mixed ones go alone";
  EXPECT_EQ(fusion_of(std::vector<Description>{{}, {.dtype = DType::F64}}).bytes, 12u);
}

TEST(Units, WhatIsScaledDifferentlyIsNotFused) {
  std::set<std::uint64_t> kinds;
  for (const auto& [before, after] : {std::pair(1.0, 1.0), {2.0, 2.0}, {2.0, 3.0}, {3.0, 2.0}, {1.0, 2.0}}) {
    Description description;
    description.prescale = before;
    description.postscale = after;
    EXPECT_TRUE(kinds.insert(fusion_of(std::vector<Description>{description}).kind).second) << before << ", " << after;
  }
}

TEST(Units, TitlesSayTheNameOrTheNumber) {
  NameTable names;
  Unit named, unnamed;
  named.key = names.open("w");
  unnamed.sequence = 17;
  EXPECT_EQ(title(named), "'w'");
  EXPECT_EQ(title(unnamed), "request 17 without a name");
}

}  // namespace
}  // namespace ronde::comm::detail
