#include "ronde/parallel/store_bootstrap.h"

#include <functional>
#include <future>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "ronde/base/error.h"
#include "ronde/comm/engine.h"

namespace ronde::parallel {
namespace {

using namespace std::chrono_literals;
using Blobs = std::vector<std::string>;

Deadline soon() {
  return Deadline::after(30s);
}

// What torchrun's agent holds.
c10::intrusive_ptr<c10d::TCPStore> serve_store() {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

int free_port() {
  return serve_store()->getPort();
}

Environment torchrun(int rank, int size, int port, const std::string& agent = "True") {
  return {{"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_RESTART_COUNT", "2"},
          {"TORCHELASTIC_USE_AGENT_STORE", agent},
          {"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)},
          {"OMPI_COMM_WORLD_SIZE", "7"},  // of a job that torchrun runs in
          {"OMPI_COMM_WORLD_RANK", "0"}};
}

template <class Body>
auto on_ranks(int size, Body body) {
  std::vector<std::future<decltype(body(0))>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::async(std::launch::async, body, rank));
  std::vector<decltype(body(0))> results;
  for (auto& rank : ranks) results.push_back(rank.get());
  return results;
}

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(StorePlace, OfTorchrunAndOfOthers) {
  EXPECT_EQ(store_place(torchrun(0, 3, 29500)),
            (StorePlace{.rank = 0, .size = 3, .host = "127.0.0.1", .port = 29500, .prefix = "ronde/2"}));
  EXPECT_TRUE(store_place(torchrun(0, 3, 29500, "False"))->serves);
  EXPECT_FALSE(store_place(torchrun(1, 3, 29500, "False"))->serves);
  const Environment plain{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "1234"}};
  EXPECT_EQ(store_place(plain),
            (StorePlace{.rank = 0, .size = 2, .host = "n1", .port = 1234, .serves = true, .prefix = "ronde/0"}));
  EXPECT_EQ(store_place({}), std::nullopt);
  EXPECT_EQ(store_place({{"RANK", "3"}}), std::nullopt);
  EXPECT_EQ(store_place({{"RANK", "0"}, {"WORLD_SIZE", "1"}})->size, 1);
}

TEST(StorePlace, WhatIsWrongNamesTheVariable) {
  const auto wrong = [](const Environment& environment) { return complaint([&] { store_place(environment); }); };
  EXPECT_EQ(wrong({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}),
            "RANK=0 and WORLD_SIZE=2 mean several ranks, but MASTER_ADDR is not set");
  EXPECT_EQ(wrong({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "RANK='2': write a whole number from 0 to 1");
  EXPECT_NE(wrong({{"RANK", "0"}, {"WORLD_SIZE", "two"}}).find("WORLD_SIZE='two'"), std::string::npos);
  EXPECT_NE(wrong({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x"}, {"MASTER_PORT", "99999"}})
                .find("MASTER_PORT='99999'"),
            std::string::npos);
}

TEST(StoreBootstrap, EveryoneGetsEverything) {
  const auto store = serve_store();
  const auto results = on_ranks(3, [&](int rank) {
    const auto bootstrap = bootstrap_from(torchrun(rank, 3, store->getPort()), soon());
    EXPECT_EQ(bootstrap->rank(), rank);
    EXPECT_EQ(bootstrap->size(), 3);
    bootstrap->exchange("first", soon());
    return bootstrap->exchange(std::string(static_cast<std::size_t>(rank), '\0') + "x", soon());
  });
  const Blobs expected{std::string("x"), std::string("\0x", 2), std::string("\0\0x", 3)};
  for (const Blobs& blobs : results) EXPECT_EQ(blobs, expected);
}

// The store is torch.distributed's: other keys are in it, and its timeout is somebody else's.
TEST(StoreBootstrap, InAStoreThatThereIs) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  store->setTimeout(123s);
  for (int life = 0; life < 2; ++life) {
    const auto results = on_ranks(3, [&](int rank) {
      const StorePlace place{.rank = rank, .size = 3, .host = "", .serves = rank == 0, .prefix = "mine"};
      const auto bootstrap = store_bootstrap(c10::make_intrusive<c10d::PrefixStore>("group", store), place);
      return bootstrap->exchange(fmt::format("{} in {}", rank, life), soon());
    });
    for (const Blobs& blobs : results)
      EXPECT_EQ(blobs,
                (Blobs{fmt::format("0 in {}", life), fmt::format("1 in {}", life), fmt::format("2 in {}", life)}));
  }
  EXPECT_EQ(store->getTimeout(), 123s);
  const auto alone = store_bootstrap(store, {.rank = 0, .size = 2, .host = "", .prefix = "other"});
  const std::string said = complaint([&] { alone->exchange("x", Deadline::after(50ms)); });
  EXPECT_NE(said.find("rank 1 did not arrive at the store of torch.distributed"), std::string::npos) << said;
}

// An engine that is shut down and made again in the same processes must not read what the first one left.
TEST(StoreBootstrap, ASecondOneGoesOn) {
  for (const std::string agent : {"True", "False"}) {
    const auto store = agent == "True" ? serve_store() : nullptr;
    const int port = store ? store->getPort() : free_port();
    const auto results = on_ranks(2, [&](int rank) {
      Blobs last;
      for (int life = 0; life < 4; ++life) {
        const auto bootstrap = bootstrap_from(torchrun(rank, 2, port, agent), soon());
        last = bootstrap->exchange(fmt::format("{} in {}", rank, life), soon());
        EXPECT_EQ(last, (Blobs{fmt::format("0 in {}", life), fmt::format("1 in {}", life)}));
        bootstrap->exchange("", soon());
      }
      return last;
    });
    EXPECT_EQ(results[0], (Blobs{"0 in 3", "1 in 3"})) << "agent: " << agent;
  }
}

TEST(StoreBootstrap, RanksThatDoNotComeAreNamed) {
  const auto store = serve_store();
  on_ranks(2, [&](int rank) {  // of four
    const auto bootstrap = bootstrap_from(torchrun(rank, 4, store->getPort()), soon());
    try {
      bootstrap->exchange("x", Deadline::after(2s));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Timeout);
      EXPECT_EQ(error.ranks(), (std::vector<int>{2, 3}));
      const std::string text = error.what();
      EXPECT_NE(text.find("ranks 2, 3 did not arrive at the store"), std::string::npos) << text;
      EXPECT_NE(text.find(fmt::format("rank {} waited 2", rank)), std::string::npos) << text;
    }
    return 0;
  });
}

TEST(StoreBootstrap, AStoreThatIsNotThereIsNamed) {
  const int port = free_port();
  const std::string said = complaint([&] { bootstrap_from(torchrun(1, 2, port), Deadline::after(100ms)); });
  EXPECT_NE(said.find(fmt::format("rank 1 cannot reach the store at 127.0.0.1:{}", port)), std::string::npos) << said;
}

TEST(StoreBootstrap, AnEngineRunsOnIt) {
  const auto store = serve_store();
  const auto sums = on_ranks(2, [&](int rank) {
    float sum = 0;
    for (int life = 0; life < 2; ++life) {
      comm::Engine engine(bootstrap_from(torchrun(rank, 2, store->getPort()), soon()));
      std::vector<float> values(100, static_cast<float>(rank + 1));
      engine.world().allreduce("values", comm::buffer_of(values)).wait();
      sum += std::accumulate(values.begin(), values.end(), 0.0F);
      engine.world().barrier().wait();
    }
    return sum;
  });
  EXPECT_EQ(sums, (std::vector<float>{600, 600}));
}

TEST(BootstrapFrom, RondeRunComesFirst) {
  const std::string said = complaint([] {
    bootstrap_from({{"RONDE__RANK", "0"}, {"TORCHELASTIC_RUN_ID", "x"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}}, soon());
  });
  EXPECT_NE(said.find("must be set together, as 'ronde run' does"), std::string::npos) << said;
}

TEST(BootstrapFrom, OneRankIsAlone) {
  EXPECT_EQ(bootstrap_from({}, soon())->size(), 1);
  EXPECT_EQ(bootstrap_from({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, soon())->size(), 1);
  EXPECT_EQ(bootstrap_from(torchrun(0, 1, 1), soon())->size(), 1) << "whatever job torchrun runs in";
}

}  // namespace
}  // namespace ronde::parallel
