#include "ronde/comm/link/nodes/inter_node.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/layout.h"
#include "ronde/comm/link/nodes/peers.h"
#include "ronde/comm/link/task_group.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::detail {
namespace {

// A transport between ranks of one thread: what is sent lies there until it is asked for.
class Mailbox {
 public:
  struct Message {
    SharedBuffer buffer;
    std::shared_ptr<MessageState> message;
  };
  using Key = std::tuple<int, int, std::uint32_t, std::uint32_t>;

  void meet(const Key& key) {
    auto& out = sent_[key];
    auto& in = asked_[key];
    while (!out.empty() && !in.empty()) {
      ASSERT_EQ(out.front().buffer.size(), in.front().buffer.size());
      std::memcpy(in.front().buffer.data(), out.front().buffer.data(), in.front().buffer.size());
      out.front().message->done = in.front().message->done = true;
      out.erase(out.begin());
      in.erase(in.begin());
    }
  }
  std::map<Key, std::vector<Message>> sent_, asked_;
  std::size_t bytes = 0;
};

class TestTransport final : public Transport {
 public:
  TestTransport(Mailbox& box, int rank) : box_(box), rank_(rank) {}
  PendingMessage send(int to, Tag tag, SharedBuffer buffer) override {
    box_.bytes += buffer.size();
    return put(box_.sent_, {rank_, to, tag.channel, tag.lane}, std::move(buffer));
  }
  PendingMessage receive(int from, Tag tag, SharedBuffer buffer) override {
    return put(box_.asked_, {from, rank_, tag.channel, tag.lane}, std::move(buffer));
  }
  bool pump() override { return false; }
  bool must_be_pumped() const override { return false; }

 private:
  PendingMessage put(std::map<Mailbox::Key, std::vector<Mailbox::Message>>& where, const Mailbox::Key& key,
                     SharedBuffer buffer) {
    auto message = std::make_shared<MessageState>();
    where[key].push_back({std::move(buffer), message});
    box_.meet(key);
    return message;
  }
  Mailbox& box_;
  const int rank_;
};

class InterNodeAllreduce : public testing::TestWithParam<std::tuple<InterNodeAlgorithm, int>> {
 protected:
  // Everyone's values after an allreduce of `count` values.
  std::vector<std::vector<float>> run(std::size_t count, double scale) {
    const auto [algorithm, nodes] = GetParam();
    std::vector<std::unique_ptr<TestTransport>> transports;
    std::vector<NodeGroup> groups;
    std::vector<SharedBuffer> buffers;
    std::vector<int> ranks;
    for (int node = 0; node < nodes; ++node) ranks.push_back(3 * node);
    for (int node = 0; node < nodes; ++node) {
      transports.push_back(std::make_unique<TestTransport>(box_, 3 * node));
      groups.push_back({.transport = *transports.back(), .ranks = ranks, .me = node, .tag = {.channel = 5, .lane = 2}});
      buffers.emplace_back(count * sizeof(float));
      for (std::size_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(node + 1) * static_cast<float>(i % 100);
        std::memcpy(buffers.back().data() + i * sizeof(float), &value, sizeof(value));
      }
    }
    TaskGroup tasks;
    for (std::size_t n = 0; n < groups.size(); ++n)
      tasks.add(allreduce_inter_node(groups[n], algorithm, buffers[n], {.dtype = DType::F32, .scale = scale}));
    Task all = tasks.run();
    EXPECT_TRUE(all.advance());
    std::vector<std::vector<float>> results;
    for (const SharedBuffer& buffer : buffers) {
      results.emplace_back(count);
      if (count > 0) std::memcpy(results.back().data(), buffer.data(), buffer.size());
    }
    return results;
  }
  Mailbox box_;
};

TEST_P(InterNodeAllreduce, EveryoneGetsTheScaledSum) {
  const int nodes = std::get<1>(GetParam());
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    for (const double scale : {1.0, 0.5}) {
      for (const auto& values : run(count, scale))
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(values[i], static_cast<float>(scale * nodes * (nodes + 1) / 2 * static_cast<double>(i % 100)));
    }
  }
}

TEST_P(InterNodeAllreduce, SendsAsManyBytesAsItShould) {
  const auto [algorithm, nodes] = GetParam();
  const auto n = static_cast<std::size_t>(nodes), bytes = n * 1000 * sizeof(float);
  run(n * 1000, 1.0);
  switch (algorithm) {
    case InterNodeAlgorithm::Gather: EXPECT_EQ(box_.bytes, n * (n - 1) * bytes); break;
    case InterNodeAlgorithm::Doubling: EXPECT_LE(box_.bytes, 3 * n * bytes); break;
    default: EXPECT_EQ(box_.bytes, 2 * (n - 1) * bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, InterNodeAllreduce,
                         testing::Combine(testing::ValuesIn(kAllInterNode), testing::Values(2, 3, 4, 5, 8)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + std::to_string(std::get<1>(test.param));
                         });

// Values of 16 bits against f64: whatever the algorithm, each result is as if it had been rounded once.
struct HalfCase {
  InterNodeAlgorithm algorithm;
  int nodes;
  DType dtype;
};

class InterNodeHalves : public testing::TestWithParam<std::tuple<InterNodeAlgorithm, int, DType>> {
 protected:
  static constexpr std::size_t kCount = 500;
  HalfCase now() const { return std::make_from_tuple<HalfCase>(GetParam()); }
  // Everyone's values, from those of each node.
  std::vector<math::Elements> run(const std::vector<math::Elements>& inputs, double scale) {
    const auto [algorithm, nodes, dtype] = now();
    std::vector<std::unique_ptr<TestTransport>> transports;
    std::vector<int> ranks(static_cast<std::size_t>(nodes));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<NodeGroup> groups;
    for (const int rank : ranks) {
      transports.push_back(std::make_unique<TestTransport>(box_, rank));
      groups.push_back({.transport = *transports.back(), .ranks = ranks, .me = rank});
    }
    std::vector<SharedBuffer> buffers;
    TaskGroup tasks;
    for (std::size_t n = 0; n < groups.size(); ++n) {
      buffers.emplace_back(inputs[n].size());
      std::memcpy(buffers[n].data(), inputs[n].data(), inputs[n].size());
      tasks.add(allreduce_inter_node(groups[n], algorithm, buffers[n], {.dtype = dtype, .scale = scale}));
    }
    Task all = tasks.run();
    EXPECT_TRUE(all.advance());
    std::vector<math::Elements> results;
    for (const SharedBuffer& buffer : buffers) results.emplace_back(buffer.data(), buffer.data() + buffer.size());
    return results;
  }
  Mailbox box_;
};

TEST_P(InterNodeHalves, AreRoundedOnce) {
  const auto [algorithm, nodes, dtype] = now();
  const double step = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
  std::mt19937_64 random(static_cast<std::uint64_t>(nodes));
  std::uniform_real_distribution<double> values(-2, 2);
  std::vector<math::Elements> inputs(static_cast<std::size_t>(nodes), math::Elements(2 * kCount));
  std::vector<double> sums(kCount), sizes(kCount);
  for (math::Elements& input : inputs)
    for (std::size_t i = 0; i < kCount; ++i) {
      math::store_float(dtype, input.data() + 2 * i, values(random));
      sums[i] += math::load_float(dtype, input.data() + 2 * i);
      sizes[i] += std::abs(math::load_float(dtype, input.data() + 2 * i));
    }
  const double scale = 0.3;
  const std::vector<math::Elements> results = run(inputs, scale);
  for (const math::Elements& result : results) EXPECT_EQ(result, results[0]) << "the same bits everywhere";
  for (std::size_t i = 0; i < kCount; ++i) {
    const double expected = sums[i] * scale, in_f32 = sizes[i] * scale * nodes * 0x1p-24;
    ASSERT_NEAR(math::load_float(dtype, results[0].data() + 2 * i), expected, step * std::abs(expected) + in_f32) << i;
  }
}

TEST_P(InterNodeHalves, AveragesDoNotOverflow) {
  const auto [algorithm, nodes, dtype] = now();
  math::Elements input(2 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) math::store_float(dtype, input.data() + 2 * i, 40000);
  const double value = math::load_float(dtype, input.data());  // 39936 in bf16
  for (const math::Elements& result :
       run(std::vector<math::Elements>(static_cast<std::size_t>(nodes), input), 1.0 / nodes))
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(math::load_float(dtype, result.data() + 2 * i), value);
}

TEST_P(InterNodeHalves, TakeNoMoreBytesUpToSixteenNodes) {
  const auto [algorithm, nodes, dtype] = now();
  const auto n = static_cast<std::size_t>(nodes), bytes = 2 * kCount;
  run(std::vector<math::Elements>(n, math::Elements(bytes)), 1.0);
  const std::size_t few = 2 * (n - 1) * bytes;  // each byte goes to one node and from there to all others
  if (algorithm == InterNodeAlgorithm::Gather)
    EXPECT_EQ(box_.bytes, n * (n - 1) * bytes);
  else if (nodes <= kFewNodes || algorithm == InterNodeAlgorithm::Direct)
    EXPECT_EQ(box_.bytes, few);
  else if (algorithm == InterNodeAlgorithm::Ring || algorithm == InterNodeAlgorithm::Halving)
    EXPECT_EQ(box_.bytes, few / 2 * 3) << "f32 one way, 16 bits the other";
  else
    EXPECT_LE(box_.bytes, 2 * n * bytes * static_cast<std::size_t>(std::bit_width(n))) << "f32 on every hop";
}

INSTANTIATE_TEST_SUITE_P(All, InterNodeHalves,
                         testing::Combine(testing::ValuesIn(kAllInterNode), testing::Values(2, 3, 8, 9, 16, 17, 33),
                                          testing::Values(DType::F16, DType::BF16)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + std::to_string(std::get<1>(test.param)) +
                                  std::string(name(std::get<2>(test.param)));
                         });

TEST(TwoSteps, ScaleSumsOfSixteenBitsInTheNode) {
  const auto split = [](DType dtype, ReduceOp op, double scale, std::size_t most) {
    const TwoSteps steps = two_steps({.dtype = dtype, .op = op, .scale = scale}, most);
    EXPECT_EQ(steps.in_node.scale * steps.inter_node.scale, scale);
    EXPECT_EQ(steps.in_node.dtype, dtype);
    EXPECT_EQ(steps.inter_node.op, op);
    return steps.in_node.scale;
  };
  EXPECT_EQ(split(DType::F16, ReduceOp::Average, 1.0 / 4, 2), 0.5) << "the mean of the node's two members";
  EXPECT_EQ(split(DType::BF16, ReduceOp::Average, 1.0 / 4096, 8), 0.125) << "no more: small values would be lost";
  EXPECT_EQ(split(DType::F16, ReduceOp::Average, 1.0 / 9, 3), 0.25) << "below 1 / 3: powers of two round nothing";
  EXPECT_EQ(split(DType::F16, ReduceOp::Average, 1.0 / 8, 1), 1.0);
  EXPECT_EQ(split(DType::F16, ReduceOp::Sum, 1.0, 8), 1.0);
  EXPECT_EQ(split(DType::F16, ReduceOp::Sum, -0.3, 8), 0.25) << "prescale and postscale count like an average's";
  EXPECT_EQ(split(DType::F16, ReduceOp::Sum, 1000.0, 8), 1.0);
  EXPECT_EQ(split(DType::F16, ReduceOp::Sum, 0.0, 8), 0.125);
  EXPECT_EQ(split(DType::F16, ReduceOp::Product, 0.01, 8), 1.0);
  EXPECT_EQ(split(DType::F32, ReduceOp::Average, 1.0 / 4, 2), 1.0);
  EXPECT_EQ(split(DType::I32, ReduceOp::Average, 1.0 / 4, 2), 1.0);
}

TEST(ChunkBytes, GrowWithNodesAndSlices) {
  EXPECT_EQ(chunk_bytes_for(2 << 20, 16, 8), 2u << 20);
  EXPECT_EQ(chunk_bytes_for(2 << 20, 17, 1), 2u << 20);
  EXPECT_EQ(chunk_bytes_for(2 << 20, 256, 8), 8u << 20);
  EXPECT_EQ(chunk_bytes_for(2 << 20, 1250, 8), 40'960'000u) << "4 KiB for each node";
  EXPECT_EQ(chunk_bytes_for(2 << 20, 10'000, 8), 64u << 20) << "at most";
}

TEST(ChooseInterNode, FollowsBytesAndNodes) {
  EXPECT_EQ(choose_inter_node(100 << 20, 2, false), InterNodeAlgorithm::Gather);
  EXPECT_EQ(choose_inter_node(4, 4, false), InterNodeAlgorithm::Gather);
  EXPECT_EQ(choose_inter_node(4, 64, false), InterNodeAlgorithm::Doubling);
  EXPECT_EQ(choose_inter_node(1 << 20, 8, false), InterNodeAlgorithm::Direct);
  EXPECT_EQ(choose_inter_node(1 << 20, 64, false), InterNodeAlgorithm::Halving);
  EXPECT_EQ(choose_inter_node(100 << 20, 64, false), InterNodeAlgorithm::Ring);
  for (const std::size_t bytes : {4, 1 << 20}) {
    const InterNodeAlgorithm ordered = choose_inter_node(bytes, 64, true);
    EXPECT_TRUE(ordered == InterNodeAlgorithm::Gather || ordered == InterNodeAlgorithm::Direct)
        << "these sum in the order of nodes";
  }
  for (const InterNodeAlgorithm one : kAllInterNode) EXPECT_EQ(inter_node_by_name(name(one)), one);
  EXPECT_EQ(inter_node_by_name("nonsense"), std::nullopt);
}

TEST(Layouts, NumberNodesByTheirFirstMember) {
  const std::vector<int> where{9, 4, 9, 9, 4};
  const Layout layout = Layout::of(where);
  EXPECT_EQ(layout.nodes, (std::vector<std::vector<int>>{{0, 2, 3}, {1, 4}}));
  EXPECT_EQ(layout.node_of, (std::vector<int>{0, 1, 0, 0, 1}));
  EXPECT_EQ(layout.place_of, (std::vector<int>{0, 0, 1, 2, 1}));
  EXPECT_EQ(layout.narrowest(), 2u);
  EXPECT_EQ(layout.stand_in(1, 2), 1) << "the third of the first node talks to the first of the second";
}

TEST(PretendedNodes, AreFilledInOrder) {
  std::vector<int> nodes;
  for (int rank = 0; rank < 7; ++rank) nodes.push_back(pretended_node(rank, 7, 3));
  EXPECT_EQ(nodes, (std::vector<int>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(pretended_node(1, 2, 5), 1) << "no more nodes than ranks";
}

TEST(InterNode, ANumberThatARankHasToldIsLookedUpInTheTable) {
  EXPECT_EQ(inter_node_by_number(0), std::nullopt) << "its own choice";
  EXPECT_EQ(inter_node_by_number(1), kAllInterNode.front());
  EXPECT_EQ(inter_node_by_number(kAllInterNode.size()), kAllInterNode.back());
  for (const std::size_t wrong : {kAllInterNode.size() + 1, ~std::size_t{0}}) {
    try {
      inter_node_by_number(wrong);
      ADD_FAILURE() << "there is no algorithm " << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::System) << error.what();
    }
  }
}

}  // namespace
}  // namespace ronde::comm::detail
