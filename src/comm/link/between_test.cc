#include "ronde/comm/link/between.h"

#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/link/layout.h"
#include "ronde/comm/link/neighbours.h"
#include "ronde/comm/link/together.h"

namespace ronde::comm::detail {
namespace {

// A post between ranks of one thread: what is sent lies there until it is asked for.
class Letterbox {
 public:
  struct Letter {
    Cargo cargo;
    std::shared_ptr<ParcelState> parcel;
  };
  using Key = std::tuple<int, int, std::uint32_t, std::uint32_t>;

  void meet(const Key& key) {
    auto& out = sent_[key];
    auto& in = asked_[key];
    while (!out.empty() && !in.empty()) {
      ASSERT_EQ(out.front().cargo.size(), in.front().cargo.size());
      std::memcpy(in.front().cargo.data(), out.front().cargo.data(), in.front().cargo.size());
      out.front().parcel->done = in.front().parcel->done = true;
      out.erase(out.begin());
      in.erase(in.begin());
    }
  }
  std::map<Key, std::vector<Letter>> sent_, asked_;
  std::size_t bytes = 0;
};

class TestPost final : public Post {
 public:
  TestPost(Letterbox& box, int rank) : box_(box), rank_(rank) {}
  Parcel send(int to, Tag tag, Cargo cargo) override {
    box_.bytes += cargo.size();
    return put(box_.sent_, {rank_, to, tag.channel, tag.lane}, std::move(cargo));
  }
  Parcel receive(int from, Tag tag, Cargo cargo) override {
    return put(box_.asked_, {from, rank_, tag.channel, tag.lane}, std::move(cargo));
  }
  bool pump() override { return false; }
  bool must_be_pumped() const override { return false; }

 private:
  Parcel put(std::map<Letterbox::Key, std::vector<Letterbox::Letter>>& where, const Letterbox::Key& key, Cargo cargo) {
    auto parcel = std::make_shared<ParcelState>();
    where[key].push_back({std::move(cargo), parcel});
    box_.meet(key);
    return parcel;
  }
  Letterbox& box_;
  const int rank_;
};

class Betweens : public testing::TestWithParam<std::tuple<Between, int>> {
 protected:
  // Everyone's values after an allreduce of `count` values.
  std::vector<std::vector<float>> run(std::size_t count, double scale) {
    const auto [algorithm, nodes] = GetParam();
    std::vector<std::unique_ptr<TestPost>> posts;
    std::vector<Circle> circles;
    std::vector<Cargo> cargos;
    std::vector<int> ranks;
    for (int node = 0; node < nodes; ++node) ranks.push_back(3 * node);
    for (int node = 0; node < nodes; ++node) {
      posts.push_back(std::make_unique<TestPost>(box_, 3 * node));
      circles.push_back({.post = *posts.back(), .ranks = ranks, .me = node, .tag = {.channel = 5, .lane = 2}});
      cargos.emplace_back(count * sizeof(float));
      for (std::size_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(node + 1) * static_cast<float>(i % 100);
        std::memcpy(cargos.back().data() + i * sizeof(float), &value, sizeof(value));
      }
    }
    Together together;
    for (std::size_t n = 0; n < circles.size(); ++n)
      together.add(allreduce_between(circles[n], algorithm, cargos[n], {.dtype = DType::F32, .scale = scale}));
    Task all = together.run();
    EXPECT_TRUE(all.advance());
    std::vector<std::vector<float>> results;
    for (const Cargo& cargo : cargos) {
      results.emplace_back(count);
      if (count > 0) std::memcpy(results.back().data(), cargo.data(), cargo.size());
    }
    return results;
  }
  Letterbox box_;
};

TEST_P(Betweens, EveryoneGetsTheScaledSum) {
  const int nodes = std::get<1>(GetParam());
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    for (const double scale : {1.0, 0.5}) {
      for (const auto& values : run(count, scale))
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(values[i], static_cast<float>(scale * nodes * (nodes + 1) / 2 * static_cast<double>(i % 100)));
    }
  }
}

TEST_P(Betweens, SendsAsManyBytesAsItShould) {
  const auto [algorithm, nodes] = GetParam();
  const auto n = static_cast<std::size_t>(nodes), bytes = n * 1000 * sizeof(float);
  run(n * 1000, 1.0);
  switch (algorithm) {
    case Between::Gather: EXPECT_EQ(box_.bytes, n * (n - 1) * bytes); break;
    case Between::Doubling: EXPECT_LE(box_.bytes, 3 * n * bytes); break;
    default: EXPECT_EQ(box_.bytes, 2 * (n - 1) * bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Betweens,
                         testing::Combine(testing::ValuesIn(kAllBetween), testing::Values(2, 3, 4, 5, 8)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + std::to_string(std::get<1>(test.param));
                         });

TEST(ChooseBetween, FollowsBytesAndNodes) {
  EXPECT_EQ(choose_between(100 << 20, 2, false), Between::Gather);
  EXPECT_EQ(choose_between(4, 4, false), Between::Gather);
  EXPECT_EQ(choose_between(4, 64, false), Between::Doubling);
  EXPECT_EQ(choose_between(1 << 20, 8, false), Between::Direct);
  EXPECT_EQ(choose_between(1 << 20, 64, false), Between::Ring);
  for (const std::size_t bytes : {4, 1 << 20}) {
    const Between ordered = choose_between(bytes, 64, true);
    EXPECT_TRUE(ordered == Between::Gather || ordered == Between::Direct) << "these sum in the order of nodes";
  }
  for (const Between one : kAllBetween) EXPECT_EQ(between_by_name(name(one)), one);
  EXPECT_EQ(between_by_name("nonsense"), std::nullopt);
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

TEST(FirstPartners, ReachEveryNodeAndNobodyHasMany) {
  std::vector<int> node_of;
  for (int rank = 0; rank < 130; ++rank) node_of.push_back(rank / 2);
  const Partners partners = first_partners(node_of, 5);
  EXPECT_EQ(partners.call, (std::vector<int>{7, 9, 13, 21, 37, 69, 3}));
  EXPECT_EQ(partners.called_by.size(), partners.call.size());
  for (const int caller : partners.called_by) {
    const auto calls = first_partners(node_of, caller).call;
    EXPECT_NE(std::ranges::find(calls, 5), calls.end());
  }
  EXPECT_TRUE(first_partners({0, 0, 1}, 1).call.empty()) << "nobody else stands in the second place";
}

}  // namespace
}  // namespace ronde::comm::detail
