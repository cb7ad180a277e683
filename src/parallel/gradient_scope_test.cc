#include "ronde/parallel/gradient_scope.h"

#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "ronde/comm/thread_job.h"
#include "ronde/parallel/detail/test_arena.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel {
namespace {

using detail::from_pool;
using detail::holds;
using detail::in_child;
using detail::tensor_of;

constexpr std::int64_t kMiB = 1 << 20;

// Without an arena: whatever comes from a pool comes from shared memory.
struct GradientScopeTest : detail::ArenaTest {};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST_F(GradientScopeTest, LargeTensorsOfThisThreadInsideTheScope) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    GradientMemory memory(engine);
    EXPECT_FALSE(from_pool(tensor_of(kMiB)));
    {
      const GradientScope scope(memory);
      EXPECT_TRUE(from_pool(tensor_of(kMiB)));
      EXPECT_FALSE(from_pool(tensor_of(1000)));
      std::jthread([] { EXPECT_FALSE(from_pool(tensor_of(kMiB))); }).join();
      {
        const GradientScope none(nullptr);
        EXPECT_FALSE(from_pool(tensor_of(kMiB)));
      }
      EXPECT_TRUE(from_pool(tensor_of(kMiB)));
    }
    EXPECT_FALSE(from_pool(tensor_of(kMiB)));
  });
}

TEST_F(GradientScopeTest, OnlyTheSizesOfGradients) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    GradientMemory memory(engine, {.sizes = {3 * kMiB, kMiB, 1000}});
    const GradientScope scope(memory);
    EXPECT_TRUE(from_pool(tensor_of(kMiB)));
    EXPECT_TRUE(from_pool(tensor_of(3 * kMiB)));
    EXPECT_FALSE(from_pool(tensor_of(2 * kMiB)));
    EXPECT_FALSE(from_pool(tensor_of(kMiB + 4)));
    EXPECT_FALSE(from_pool(tensor_of(1000))) << "too small";
  });
}

TEST_F(GradientScopeTest, MemoryIsKeptForTheNextGradient) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    GradientMemory memory(engine);
    const GradientScope scope(memory);
    torch::Tensor tensor = tensor_of(kMiB);
    const void* const place = tensor.data_ptr();
    std::jthread([dying = std::exchange(tensor, {})] {}).join();
    EXPECT_EQ(tensor_of(kMiB).data_ptr(), place);
  });
}

// Gradients of two ranks, reduced where autograd has made them, over several steps.
TEST_F(GradientScopeTest, GradientsAreReducedWhereTheyLie) {
  torch::set_num_threads(1);
  comm::run_ranks(3, [](comm::Engine& engine) {
    GradientMemory memory(engine);
    torch::Tensor weight = torch::ones({256, 300}, torch::requires_grad());
    for (int step = 0; step < 20; ++step) {
      const torch::Tensor input = torch::full({8, 256}, static_cast<float>(engine.rank() + step));
      {
        const GradientScope scope(memory);
        input.mm(weight).sum().backward();
      }
      EXPECT_TRUE(from_pool(weight.grad()));
      engine.world().allreduce("weight", buffer_of(weight.grad())).wait();
      EXPECT_TRUE(holds(weight.grad(), static_cast<float>(8 * (3 + 3 * step)))) << "step " << step;
      weight.mutable_grad().reset();
    }
  });
}

TEST_F(GradientScopeTest, TensorsOutliveMemoryAndEngine) {
  std::vector<torch::Tensor> tensors(2);
  const std::uint64_t in_use = arena_statistics().in_use;
  comm::run_ranks(2, [&](comm::Engine& engine) {
    GradientMemory memory(engine);
    const GradientScope scope(memory);
    tensors[static_cast<std::size_t>(engine.rank())] = tensor_of(kMiB, static_cast<float>(engine.rank()));
  });
  for (const std::size_t rank : {0, 1}) EXPECT_TRUE(holds(tensors[rank], static_cast<float>(rank)));
  const void* const place = tensors[0].data_ptr();
  tensors.clear();
  EXPECT_EQ(detail::ArenaAllocator::of_process().ranges().find(place), nullptr);
  EXPECT_EQ(arena_statistics().in_use, in_use);
}

TEST_F(GradientScopeTest, WhenItIsUsedUpOneWarning) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    std::ostringstream words;
    GradientMemory memory(engine, {.bytes = 4 * kMiB, .log = Log({.stream = &words})});
    const GradientScope scope(memory);
    std::vector<torch::Tensor> tensors;
    for (int i = 0; i < 10; ++i) tensors.push_back(tensor_of(kMiB, static_cast<float>(i)));
    EXPECT_TRUE(from_pool(tensors[3]));
    EXPECT_FALSE(from_pool(tensors[4]));
    for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(holds(tensors[i], static_cast<float>(i)));
    EXPECT_EQ(count(words.str(), "shared memory of this node has no 1 MiB left"), 1u) << words.str();
    tensors.clear();
    EXPECT_TRUE(from_pool(tensor_of(kMiB))) << "there is room again";
  });
}

TEST_F(GradientScopeTest, WhatIsKeptGrows) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    std::ostringstream words;
    GradientMemory memory(engine, {.bytes = 4 * kMiB, .log = Log({.stream = &words})});
    const GradientScope scope(memory);
    for (const std::int64_t bytes : {kMiB, 2 * kMiB, 3 * kMiB, 4 * kMiB}) EXPECT_TRUE(from_pool(tensor_of(bytes)));
    EXPECT_EQ(words.str(), "");
  });
}

TEST_F(GradientScopeTest, RetiredMemoryIsNotUsedAgain) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    std::ostringstream words;
    GradientMemory memory(engine, {.log = Log({.stream = &words})});
    const GradientScope scope(memory);
    const torch::Tensor before = tensor_of(kMiB);
    memory.retire();
    EXPECT_FALSE(from_pool(tensor_of(kMiB)));
    EXPECT_EQ(words.str(), "");
  });
}

TEST_F(GradientScopeTest, TheLimitHoldsHereToo) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    std::ostringstream words;
    GradientMemory memory(engine, {.log = Log({.stream = &words})});
    trim_arena();
    install_arena({.limit = arena_statistics().in_use + 10 * kMiB});
    const GradientScope scope(memory);
    { const torch::Tensor kept = tensor_of(6 * kMiB); }
    EXPECT_TRUE(from_pool(tensor_of(8 * kMiB))) << "what is kept goes first";
    EXPECT_THROW((void)tensor_of(11 * kMiB), Error);
    EXPECT_EQ(words.str(), "");
  });
}

// A child shares these pages with its parent: it may not give them back.
TEST_F(GradientScopeTest, AForkedChildLeavesThemAlone) {
  torch::set_num_threads(1);
  comm::run_ranks(1, [](comm::Engine& engine) {
    std::optional<GradientMemory> memory(std::in_place, engine);
    std::optional<GradientScope> scope(std::in_place, *memory);
    torch::Tensor tensor = tensor_of(kMiB, 4.0f);
    EXPECT_TRUE(in_child([&] {
      const bool good = !from_pool(tensor_of(kMiB)) && holds(tensor, 4.0f);
      tensor.reset();
      scope.reset();
      memory.reset();
      return good;
    }));
    EXPECT_TRUE(holds(tensor, 4.0f));
    scope.reset();
  });
}

}  // namespace
}  // namespace ronde::parallel
