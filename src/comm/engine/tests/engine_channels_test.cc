#include <algorithm>
#include <barrier>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/bootstrap.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/link/transport.h"
#include "ronde/comm/testing/ranks.h"

// What carries data between nodes beside the mesh, as MPI does: it tells apart as many channels as it has tags.
namespace ronde::comm {
namespace {

constexpr int kRanks = 4;

// A transport between threads. Counts channels.
class Exchange {
 public:
  using Key = std::tuple<int, int, std::uint32_t, std::uint32_t>;
  struct Message {
    detail::SharedBuffer buffer;
    std::shared_ptr<detail::MessageState> message = std::make_shared<detail::MessageState>();
  };
  struct Line {
    std::deque<detail::SharedBuffer> sent;
    std::deque<Message> asked;
  };

  std::mutex mutex;
  std::map<Key, Line> lines;
  std::uint32_t highest = 0;
  std::size_t messages = 0;
};

class ThreadTransport final : public detail::Transport {
 public:
  ThreadTransport(Exchange& exchange, int rank) : exchange_(exchange), rank_(rank) {}

  // What is sent is copied, so it is done at once.
  detail::PendingMessage send(int to, detail::Tag tag, detail::SharedBuffer buffer) override {
    const detail::SharedBuffer copy(buffer.size());
    std::ranges::copy(buffer.bytes(), copy.data());
    std::lock_guard lock(exchange_.mutex);
    exchange_.highest = std::max(exchange_.highest, tag.channel);
    ++exchange_.messages;
    exchange_.lines[{rank_, to, tag.channel, tag.lane}].sent.push_back(copy);
    return std::make_shared<detail::MessageState>(detail::MessageState{.done = true});
  }
  detail::PendingMessage receive(int from, detail::Tag tag, detail::SharedBuffer buffer) override {
    std::lock_guard lock(exchange_.mutex);
    auto& line = exchange_.lines[{from, rank_, tag.channel, tag.lane}];
    return line.asked.emplace_back(std::move(buffer)).message;
  }
  bool pump() override {
    bool any = false;
    std::lock_guard lock(exchange_.mutex);
    for (auto& [key, line] : exchange_.lines) {
      for (; std::get<1>(key) == rank_ && !line.sent.empty() && !line.asked.empty(); any = true) {
        EXPECT_EQ(line.sent.front().size(), line.asked.front().buffer.size());
        std::ranges::copy(line.sent.front().bytes(), line.asked.front().buffer.data());
        line.asked.front().message->done = true;
        line.sent.pop_front();
        line.asked.pop_front();
      }
    }
    return any;
  }
  bool must_be_pumped() const override { return true; }

 private:
  Exchange& exchange_;
  const int rank_;
};

struct Table {
  std::barrier<> barrier{kRanks};
  std::vector<std::string> blobs = std::vector<std::string>(kRanks);
  Exchange exchange;
};

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(Table& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return kRanks; }
  std::vector<std::string> exchange(const std::string& mine, Deadline) override {
    table_.blobs[static_cast<std::size_t>(rank_)] = mine;
    table_.barrier.arrive_and_wait();
    std::vector<std::string> all = table_.blobs;
    table_.barrier.arrive_and_wait();
    return all;
  }
  std::shared_ptr<detail::Transport> transport() override {
    return std::make_shared<ThreadTransport>(table_.exchange, rank_);
  }

 private:
  Table& table_;
  const int rank_;
};

// Groups come and go; at most two exist at once, besides the world.
void make_and_drop_groups(Engine& engine) {
  const Group kept = engine.make_group({0, 1, 2, 3});
  for (int i = 0; i < 40; ++i) {
    const Group group = engine.make_group({i % 2, 2 + i % 2});
    for (const Group& one : {group, kept}) {
      if (one.rank() < 0) continue;
      std::vector<float> values(20'000, 1.0f + static_cast<float>(i)), letter(20'000, static_cast<float>(i));
      one.allreduce("values", buffer_of(values)).wait();
      ASSERT_EQ(values, std::vector<float>(20'000, static_cast<float>(one.size() * (i + 1))));
      const int last = one.size() - 1;
      if (one.rank() == 0) one.send("letter", buffer_of(letter), last).wait();
      std::vector<float> got(20'000);
      if (one.rank() == last) {
        one.receive("letter", buffer_of(got), 0).wait();
        ASSERT_EQ(got, letter);
      }
    }
    engine.drop_group(group);
  }
}

TEST(EngineChannels, OfDroppedGroupsAreUsedAgain) {
  const tests::Watchdog watchdog(std::chrono::minutes(3), tests::current_test());
  Table table;
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&table, rank] {
        Engine engine(std::make_unique<ThreadBootstrap>(table, rank), {.pretend_nodes = 2});
        make_and_drop_groups(engine);
        engine.world().barrier().wait();
      });
  }
  EXPECT_GT(table.exchange.messages, 0u);
  EXPECT_LT(table.exchange.highest, 3u * 3) << "three for each group that exists at once, and the world";
  for (const auto& [key, line] : table.exchange.lines) {
    EXPECT_TRUE(line.sent.empty()) << "a message that nobody has asked for";
    EXPECT_TRUE(line.asked.empty()) << "a message that was never sent";
  }
}

}  // namespace
}  // namespace ronde::comm
