#include "ronde/parallel/arena.h"
#include "ronde/base/settings/settings.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/queue.h"
#include "ronde/base/testing/folder.h"
#include "ronde/parallel/detail/test_arena.h"
#include "ronde/trace/span.h"

namespace ronde::parallel {
namespace {

using detail::ArenaTest;
using detail::from_pool;
using detail::holds;
using detail::in_child;
using detail::tensor_of;

constexpr std::int64_t kMiB = 1 << 20;

std::string failure_of(std::int64_t bytes) {
  try {
    (void)torch::empty({bytes}, torch::kUInt8);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_F(ArenaTest, MemoryOfADeadTensorIsUsedAgain) {
  install_arena();
  torch::Tensor tensor = tensor_of(4 * kMiB);
  const void* const place = tensor.data_ptr();
  EXPECT_TRUE(from_pool(tensor));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0u);
  const ArenaStatistics before = arena_statistics();
  tensor.reset();
  EXPECT_EQ(arena_statistics().in_use, before.in_use - 4 * kMiB);
  EXPECT_EQ(arena_statistics().cached, before.cached + 4 * kMiB);
  tensor = tensor_of(4 * kMiB);
  EXPECT_EQ(tensor.data_ptr(), place);
  EXPECT_EQ(arena_statistics().hits, before.hits + 1);
  EXPECT_EQ(arena_statistics().misses, before.misses);
}

TEST_F(ArenaTest, SmallTensorsAreTheLibrarysButCount) {
  install_arena();
  const ArenaStatistics before = arena_statistics();
  const torch::Tensor tensor = tensor_of(4096);
  EXPECT_FALSE(from_pool(tensor));
  EXPECT_GE(arena_statistics().in_use, before.in_use + 4096);
  EXPECT_EQ(arena_statistics().misses, before.misses);
}

TEST_F(ArenaTest, EmptyTensorsNeedNothing) {
  install_arena();
  const ArenaStatistics before = arena_statistics();
  EXPECT_EQ(torch::empty({0}).numel(), 0);
  EXPECT_EQ(arena_statistics().in_use, before.in_use);
}

TEST_F(ArenaTest, WithoutItTensorsAreTheLibrarysAgain) {
  install_arena();
  torch::Tensor before = tensor_of(2 * kMiB, 3.0f);
  uninstall_arena();
  const torch::Tensor after = tensor_of(2 * kMiB);
  EXPECT_TRUE(from_pool(before));
  EXPECT_FALSE(from_pool(after));
  EXPECT_TRUE(holds(before, 3.0f));
  const std::uint64_t in_use = arena_statistics().in_use;
  before.reset();
  EXPECT_EQ(arena_statistics().in_use, in_use - 2 * kMiB);
  EXPECT_GE(trim_arena(), 2u * kMiB);
  install_arena();
  EXPECT_TRUE(from_pool(tensor_of(2 * kMiB)));
}

TEST_F(ArenaTest, TorchsRawInterface) {
  install_arena();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{kMiB}}) {
    const std::uint64_t in_use = arena_statistics().in_use;
    void* const memory = c10::GetAllocator(c10::DeviceType::CPU)->raw_allocate(bytes);
    std::memset(memory, 1, bytes);
    EXPECT_GE(arena_statistics().in_use, in_use + bytes);
    c10::GetAllocator(c10::DeviceType::CPU)->raw_deallocate(memory);
    EXPECT_EQ(arena_statistics().in_use, in_use);
  }
}

// Each thread frees what others have made, and finds in it what they have written.
TEST_F(ArenaTest, TensorsDieOnOtherThreads) {
  install_arena();
  const std::uint64_t in_use = arena_statistics().in_use;
  constexpr int kThreads = 4, kTensors = 200;
  std::vector<std::unique_ptr<BoundedQueue<torch::Tensor>>> boxes;
  for (int i = 0; i < kThreads; ++i) boxes.push_back(std::make_unique<BoundedQueue<torch::Tensor>>(kTensors));
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&boxes, thread] {
      for (int i = 0; i < kTensors; ++i) {
        boxes[(thread + 1) % kThreads]->push(tensor_of(1000 + 9'000 * (i % 40), static_cast<float>(i)));
        EXPECT_TRUE(holds(*boxes[thread]->pop(), static_cast<float>(i)));
      }
    });
  threads.clear();
  EXPECT_EQ(arena_statistics().in_use, in_use);
}

TEST_F(ArenaTest, BeyondTheLimit) {
  trim_arena();
  const auto used = static_cast<std::int64_t>(arena_statistics().in_use);
  install_arena({.limit = static_cast<std::uint64_t>(used + 100 * kMiB)});
  torch::Tensor first = tensor_of(60 * kMiB);
  const std::string failure = failure_of(50 * kMiB);
  EXPECT_NE(failure.find("cannot allocate a tensor of 50 MiB; tensors already use 60 MiB"), std::string::npos)
      << failure;
  EXPECT_NE(failure.find("memory.limit is 100 MiB"), std::string::npos) << failure;
  EXPECT_TRUE(holds(first, 1.0f));
  // What is kept goes first: 60 MiB of it, of which none is large enough.
  first.reset();
  EXPECT_EQ(failure_of(90 * kMiB), "");
  EXPECT_LE(arena_statistics().in_use + arena_statistics().cached, static_cast<std::uint64_t>(used + 100 * kMiB));
  // Small tensors count too.
  std::vector<torch::Tensor> small;
  EXPECT_THROW(while (small.size() < 3000) small.push_back(torch::empty({40 << 10}, torch::kUInt8)), Error);
  EXPECT_GT(small.size(), 2000u);
  small.clear();
  EXPECT_EQ(failure_of(90 * kMiB), "");
}

TEST_F(ArenaTest, MoreThanThereIs) {
  install_arena();
  EXPECT_NE(failure_of(std::int64_t{1} << 55).find("out of memory: cannot allocate a tensor of"), std::string::npos);
}

TEST_F(ArenaTest, AForkedChildUsesTheLibrary) {
  install_arena();
  torch::set_num_threads(1);  // a child has no pool of threads
  torch::Tensor kept = tensor_of(2 * kMiB, 5.0f), small = tensor_of(1000, 6.0f);
  EXPECT_TRUE(in_child([&] {
    const void* const place = kept.data_ptr();
    torch::Tensor made = tensor_of(2 * kMiB, 7.0f);
    bool good = !from_pool(made) && holds(made, 7.0f) && holds(kept, 5.0f) && holds(small, 6.0f);
    kept.reset();
    small.reset();
    for (int i = 0; i < 5; ++i) good = good && tensor_of(2 * kMiB).data_ptr() != place;
    return good && trim_arena() == 0;
  }));
  EXPECT_TRUE(holds(kept, 5.0f));
  EXPECT_TRUE(holds(small, 6.0f));
  EXPECT_TRUE(from_pool(tensor_of(2 * kMiB)));
}

// The arena's lock is held by some thread at the moment of many of these forks.
TEST_F(ArenaTest, ForkedWhileOthersMakeTensors) {
  install_arena();
  torch::set_num_threads(1);
  std::atomic<bool> done = false;
  std::jthread busy([&] {
    while (!done) (void)torch::empty({kMiB});
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(in_child([] { return holds(tensor_of(kMiB, 2.0f), 2.0f); }));
  done = true;
}

TEST_F(ArenaTest, ABackwardPassAgainAndAgain) {
  install_arena();
  torch::nn::Sequential net(torch::nn::Linear(256, 512), torch::nn::ReLU(), torch::nn::Linear(512, 10));
  torch::optim::SGD sgd(net->parameters(), 0.01);
  const torch::Tensor input = torch::randn({64, 256}), labels = torch::randint(10, {64});
  ArenaStatistics steady;
  for (int step = 0; step < 8; ++step) {
    sgd.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(input), labels).backward();
    sgd.step();
    if (step == 3) steady = arena_statistics();
  }
  EXPECT_EQ(arena_statistics().misses, steady.misses) << "the system was asked again";
  EXPECT_GT(arena_statistics().hits, steady.hits);
}

TEST_F(ArenaTest, CountersInTheTrace) {
  const tests::Folder folder;
  {
    trace::Recorder recorder({.folder = folder.path()});
    const trace::Scope scope(recorder, "main");
    trace_arena();
  }
  std::ifstream file(folder.path() / "trace-00000.perfetto-trace", std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(content.find("memory in use"), std::string::npos);
  EXPECT_NE(content.find("memory cached"), std::string::npos);
}

TEST(ArenaOptions, FromSettings) {
  Settings settings;
  EXPECT_EQ(arena_options(settings).limit, 0u);
  settings.set("memory.limit", "3GiB", "--set");
  EXPECT_EQ(arena_options(settings).limit, std::uint64_t{3} << 30);
}

}  // namespace
}  // namespace ronde::parallel
