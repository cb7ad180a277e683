#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/ranks.h"

// When a handle is ready, its memory is the caller's alone: no other rank reads or writes there any more, also where
// memory is shared and reduced where it lies.
namespace ronde::comm {
namespace {

using tests::run_watched;

constexpr float kGarbage = -12345.0f;

// One tensor of a rank, in memory that ranks share or in its own.
class Tensor {
 public:
  Tensor(Engine& engine, std::size_t count, bool shared)
      : shared_(shared ? engine.allocate(count * sizeof(float)) : SharedMemory()), own_(shared ? 0 : count) {
    data_ = {shared ? reinterpret_cast<float*>(shared_.data()) : own_.data(), count};
  }

  Buffer buffer() const {
    return {.data = data_.data(), .dtype = DType::F32, .shape = {static_cast<std::int64_t>(data_.size())}};
  }
  // Values that differ from place to place: a slice that is missed or taken twice shows.
  void fill(int seed) const {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = value(seed, i);
  }
  void overwrite(float garbage) const { std::ranges::fill(data_, garbage); }
  bool holds(float garbage) const {
    return std::ranges::all_of(data_, [garbage](float value) { return value == garbage; });
  }
  // Where it is not the sum over ranks of fill(seed * ranks + rank).
  std::size_t wrong(int seed, int ranks) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += value(seed * ranks + rank, i);
      wrong += data_[i] != sum;
    }
    return wrong;
  }

 private:
  static float value(int seed, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(seed) * 31 + i) % 1000);
  }

  SharedMemory shared_;
  std::vector<float> own_;
  std::span<float> data_;
};

struct Case {
  int ranks;
  bool shared;
  int delay_us;
  int nodes = 1;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.ranks << (one.shared ? " shared " : " own ") << one.delay_us << " on " << one.nodes;
}

class EngineMemory : public testing::TestWithParam<Case> {
 protected:
  static EngineOptions options() { return {.pretend_nodes = GetParam().nodes}; }
  static detail::EngineHooks hooks() { return {.link_delay = std::chrono::microseconds(GetParam().delay_us)}; }
};

// After wait(), each rank spoils its memory at once. Whoever still read it would get a wrong sum; whoever still wrote
// into it would clean up the garbage.
TEST_P(EngineMemory, SpoiledAtOnceAfterWaiting) {
  const Case& test = GetParam();
  run_watched(
      test.ranks,
      [&](Engine& engine) {
        std::vector<Tensor> tensors;  // small, large, and cut unevenly
        for (const std::size_t count : {100u, 30'000u, 100'003u}) tensors.emplace_back(engine, count, test.shared);
        for (int round = 0; round < (tests::kSanitized ? 20 : 100); ++round) {
          std::vector<Handle> handles;
          for (std::size_t i = 0; i < tensors.size(); ++i) {
            tensors[i].fill(round * engine.size() + engine.rank());
            handles.push_back(engine.world().allreduce(fmt::format("tensor {}", i), tensors[i].buffer()));
            if (round % 3 == 0) handles.back().wait();  // alone; otherwise together
          }
          // Now one, now another rank is late.
          if (round % engine.size() == engine.rank()) std::this_thread::sleep_for(std::chrono::microseconds(300));
          std::vector<std::size_t> wrong;
          for (std::size_t i = 0; i < tensors.size(); ++i) {
            handles[i].wait();
            wrong.push_back(tensors[i].wrong(round, engine.size()));
            tensors[i].overwrite(kGarbage);
          }
          EXPECT_EQ(wrong, std::vector<std::size_t>(tensors.size(), 0)) << "round " << round;
          for (const Tensor& tensor : tensors) EXPECT_TRUE(tensor.holds(kGarbage)) << "round " << round;
        }
      },
      options(), hooks());
}

// The same, with the memory spoiled before the result is even looked at, by those who do not need it.
TEST_P(EngineMemory, SpoiledByAllButOne) {
  const Case& test = GetParam();
  run_watched(
      test.ranks,
      [&](Engine& engine) {
        const Tensor tensor(engine, 200'000, test.shared);
        for (int round = 0; round < (tests::kSanitized ? 20 : 100); ++round) {
          tensor.fill(round * engine.size() + engine.rank());
          engine.world().allreduce("tensor", tensor.buffer()).wait();
          const bool reads = round % engine.size() == engine.rank();
          if (reads) {
            EXPECT_EQ(tensor.wrong(round, engine.size()), 0u) << "round " << round;
          } else {
            tensor.overwrite(kGarbage);
            EXPECT_TRUE(tensor.holds(kGarbage)) << "round " << round;
          }
        }
      },
      options(), hooks());
}

INSTANTIATE_TEST_SUITE_P(All, EngineMemory,
                         testing::Values(Case{2, true, 0}, Case{3, true, 0}, Case{4, true, 0}, Case{2, true, 200},
                                         Case{3, true, 200}, Case{4, true, 200}, Case{3, false, 0}, Case{4, false, 200},
                                         Case{4, true, 0, 2}, Case{4, true, 200, 2}, Case{3, true, 0, 2}),
                         [](const auto& test) {
                           return fmt::format("{}Ranks{}{}{}", test.param.ranks, test.param.shared ? "Shared" : "Own",
                                              test.param.delay_us > 0 ? "Delayed" : "",
                                              test.param.nodes > 1 ? fmt::format("{}Nodes", test.param.nodes) : "");
                         });

}  // namespace
}  // namespace ronde::comm
