#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/bench/counting_network.h"
#include "ronde/comm/link/nodes/make_link.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/comm/math/convert.h"

// What members on many nodes do together, all of them in this thread.
namespace ronde::comm::detail {
namespace {

class Links {
 public:
  explicit Links(std::vector<int> node_of)
      : layout_(std::make_shared<const Layout>(Layout::of(node_of))), network_(std::move(node_of)) {
    std::vector<int> ranks(layout_->node_of.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    all_ = std::make_shared<const std::vector<int>>(std::move(ranks));
    meshes_.resize(all_->size());
    links_.resize(all_->size());
    for (const auto& node : layout_->nodes) {
      auto memories = Node::for_threads(static_cast<int>(node.size()), 8 << 20);
      for (std::size_t place = 0; place < node.size(); ++place) add(node[place], node, std::move(memories[place]));
    }
  }

  int size() const { return static_cast<int>(links_.size()); }
  Link& link(int member) { return *links_[static_cast<std::size_t>(member)]; }
  CountingNetwork& network() { return network_; }

  // One task of each member, until all are done.
  void run(const std::function<Task(Link& link)>& begin) {
    std::vector<Task> tasks;
    for (int member = 0; member < size(); ++member) tasks.push_back(begin(link(member)));
    std::vector<bool> done(tasks.size());
    for (int sweep = 0; sweep < 10'000; ++sweep) {
      bool all = true;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!done[i]) done[i] = tasks[i].can_advance() && tasks[i].advance();
        all = all && done[i];
      }
      if (all) return;
    }
    FAIL() << "the members wait for each other";
  }

 private:
  void add(int rank, const std::vector<int>& here, std::unique_ptr<Node> node) {
    nodes_.push_back(std::move(node));
    Node& own = *nodes_.back();
    auto& mesh = meshes_[static_cast<std::size_t>(rank)] = network_.mesh_of(rank);
    const auto area = static_cast<std::size_t>(own.arena().allocate_zeroed(link_area_bytes()) - own.base(own.rank()));
    links_[static_cast<std::size_t>(rank)] =
        make_link({.rank = rank, .node = own, .here = here, .layout = layout_, .all = all_, .mesh = mesh.get()},
                  {.ranks = all_, .areas = std::vector<std::size_t>(here.size(), area)});
  }

  const std::shared_ptr<const Layout> layout_;
  CountingNetwork network_;
  std::shared_ptr<const std::vector<int>> all_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Messenger>> meshes_;
  std::vector<std::unique_ptr<Link>> links_;
};

// 20 nodes of two, 17 of one, and 19 that differ in size.
std::vector<int> nodes_of(int kind) {
  std::vector<int> nodes;
  if (kind == 0)
    for (int rank = 0; rank < 40; ++rank) nodes.push_back(rank / 2);
  if (kind == 1)
    for (int rank = 0; rank < 17; ++rank) nodes.push_back(rank);
  if (kind == 2)
    for (int rank = 0; rank < 30; ++rank) nodes.push_back(rank % 19);
  return nodes;
}

class Lines : public testing::TestWithParam<int> {
 protected:
  Links links_{nodes_of(GetParam())};
  // How many values a member gives.
  static std::size_t values_of(int member) { return static_cast<std::size_t>(member % 5 * 3); }
};

template <class T>
Bytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST_P(Lines, AllgatherGivesEveryoneEverything) {
  std::vector<std::vector<std::vector<int>>> got(static_cast<std::size_t>(links_.size()));
  std::vector<std::vector<int>> mine;
  for (int member = 0; member < links_.size(); ++member) mine.emplace_back(values_of(member), 100 + member);
  for (auto& all : got)
    for (int member = 0; member < links_.size(); ++member) all.emplace_back(values_of(member), -1);
  links_.run([&](Link& link) {
    const auto me = static_cast<std::size_t>(link.rank());
    std::vector<Bytes> out;
    for (auto& place : got[me]) out.push_back(bytes_of(place));
    return link.allgather(bytes_of(mine[me]), out);
  });
  for (const auto& all : got) EXPECT_EQ(all, mine);
}

TEST_P(Lines, SharedAndSwappedWordsArrive) {
  const auto size = static_cast<std::size_t>(links_.size());
  std::vector<std::vector<std::uint64_t>> all(size), theirs(size);
  links_.run([&](Link& link) {
    const auto me = static_cast<std::size_t>(link.rank());
    return link.share({me, 7 * me}, all[me]);
  });
  links_.run([&](Link& link) {
    const auto me = static_cast<std::size_t>(link.rank());
    std::vector<std::uint64_t> mine;
    for (std::size_t other = 0; other < size; ++other) mine.push_back(1000 * me + other);
    return link.swap(std::move(mine), theirs[me]);
  });
  for (std::size_t me = 0; me < size; ++me)
    for (std::size_t other = 0; other < size; ++other) {
      EXPECT_EQ(all[me][2 * other], other);
      EXPECT_EQ(all[me][2 * other + 1], 7 * other);
      EXPECT_EQ(theirs[me][other], 1000 * other + me);
    }
}

TEST_P(Lines, EveryoneGetsItsPartOfTheSum) {
  const auto size = static_cast<std::size_t>(links_.size());
  std::vector<std::vector<std::vector<float>>> give(size);
  std::vector<std::vector<float>> got;
  for (std::size_t me = 0; me < size; ++me) {
    for (std::size_t to = 0; to < size; ++to)
      give[me].emplace_back(values_of(static_cast<int>(to)), static_cast<float>(me + to));
    got.emplace_back(values_of(static_cast<int>(me)), -1.0F);
  }
  links_.run([&](Link& link) {
    const auto me = static_cast<std::size_t>(link.rank());
    std::vector<ConstBytes> send;
    for (auto& part : give[me]) send.push_back(bytes_of(part));
    return link.reduce_scatter(send, bytes_of(got[me]), {.dtype = DType::F32, .op = ReduceOp::Sum, .scale = 0.5});
  });
  for (std::size_t me = 0; me < size; ++me)
    for (const float value : got[me]) EXPECT_EQ(value, static_cast<float>(size * (size - 1) / 2 + size * me) / 2);
}

TEST_P(Lines, TheRootGetsTheSum) {
  for (const int root : {0, 3, links_.size() - 1}) {
    std::vector<std::vector<std::int32_t>> values(static_cast<std::size_t>(links_.size()));
    for (int member = 0; member < links_.size(); ++member)
      values[static_cast<std::size_t>(member)].assign(300'000, member + 1);  // several pieces
    std::vector<std::int32_t> sum(300'000, -1);
    links_.run([&](Link& link) {
      const ConstBytes mine = bytes_of(values[static_cast<std::size_t>(link.rank())]);
      return link.reduce(mine, link.rank() == root ? bytes_of(sum) : Bytes(), root,
                         {.dtype = DType::I32, .op = ReduceOp::Sum});
    });
    EXPECT_EQ(sum, std::vector<std::int32_t>(300'000, links_.size() * (links_.size() + 1) / 2)) << root;
  }
}

// 1 and many values that would each be lost beside it: sums travel as f32.
TEST_P(Lines, SixteenBitValuesAreRoundedOnceBetweenNodes) {
  const auto size = static_cast<std::size_t>(links_.size());
  std::vector<std::vector<std::uint16_t>> values(size, std::vector<std::uint16_t>(8));
  for (std::size_t me = 0; me < size; ++me) {
    const std::vector<float> wide(8, me == 0 ? 1.0F : 0.001953125F);  // 2^-9: half of the last digit of 1 in bf16
    math::convert(DType::BF16, bytes_of(values[me]).data(), DType::F32, reinterpret_cast<const std::byte*>(wide.data()),
                  wide.size());
  }
  std::vector<std::uint16_t> sum(8);
  links_.run([&](Link& link) {
    const ConstBytes mine = bytes_of(values[static_cast<std::size_t>(link.rank())]);
    return link.reduce(mine, link.rank() == 0 ? bytes_of(sum) : Bytes(), 0,
                       {.dtype = DType::BF16, .op = ReduceOp::Sum});
  });
  std::vector<float> wide(8);
  math::convert(DType::F32, bytes_of(wide).data(), DType::BF16, bytes_of(sum).data(), sum.size());
  EXPECT_NEAR(wide.front(), 1.0F + 0.001953125F * static_cast<float>(size - 1), 0.008F);
  EXPECT_GT(wide.front(), 1.02F) << "small values were lost on the way";
}

TEST_P(Lines, NobodyIsConnectedWithEveryNode) {
  links_.run([&](Link& link) { return link.barrier(); });
  const auto size = static_cast<std::size_t>(links_.size());
  std::vector<std::vector<std::uint64_t>> all(size);
  links_.run([&](Link& link) { return link.share({1}, all[static_cast<std::size_t>(link.rank())]); });
  for (int rank = 0; rank < links_.size(); ++rank) EXPECT_LE(links_.network().connections(rank), 2 * 5u) << rank;
}

TEST_P(Lines, ATextComesFromAnyMemberToAll) {
  for (const int from : {0, 5, links_.size() - 1}) {
    std::vector<std::string> texts(static_cast<std::size_t>(links_.size()));
    texts[static_cast<std::size_t>(from)] = std::string(50'000, 'x') + std::to_string(from);
    const std::string said = texts[static_cast<std::size_t>(from)];
    links_.run([&](Link& link) { return link.spread(texts[static_cast<std::size_t>(link.rank())], from); });
    std::vector<std::array<std::uint64_t, 1>> words(texts.size());
    links_.run([&](Link& link) { return link.combine(words[static_cast<std::size_t>(link.rank())], true); });
    for (const std::string& text : texts) EXPECT_EQ(text, said);
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, Lines, testing::Values(0, 1, 2));

}  // namespace
}  // namespace ronde::comm::detail
