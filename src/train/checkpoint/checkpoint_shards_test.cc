#include <mutex>

#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"
#include "ronde/models/safetensors.h"
#include "ronde/train/checkpoint/checkpoint_share.h"
#include "ronde/train/checkpoint/checkpoint_writer.h"
#include "ronde/train/checkpoint_testing.h"

namespace ronde::train {
namespace {

using tests::expect_equal;
using tests::sample;
namespace fs = std::filesystem;

TensorMap many() {
  TensorMap tensors;
  for (int i = 0; i < 40; ++i) tensors[fmt::format("t{}", i)] = torch::full({1 + (i * 37) % 101}, i);
  return tensors;
}

TEST(CheckpointShare, EveryTensorIsOnesAndBytesAreEven) {
  for (const int size : {1, 2, 3, 7, 50}) {
    TensorMap all;
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < size; ++rank) {
      TensorMap share = share_of(many(), rank, size);
      bytes.push_back(0);
      for (const auto& [name, tensor] : share) bytes.back() += models::stored_bytes(tensor);
      all.merge(share);
      EXPECT_TRUE(share.empty()) << "given twice";
    }
    EXPECT_EQ(all.size(), 40u);
    const auto [least, most] = std::ranges::minmax(bytes);
    EXPECT_LE(most - least, 101 * 8u) << size;  // no more than the largest tensor
  }
}

class ShardedCheckpoint : public tests::InFolder {};

TEST_F(ShardedCheckpoint, OfAnyNumberOfRanksIsTheSame) {
  for (const int ranks : {1, 2, 4}) {
    Checkpoint whole = sample(ranks);
    whole.model.merge(many());
    comm::run_ranks(ranks, [&](comm::Engine& engine) {
      const fs::path path = save_checkpoint({.folder = folder_, .group = engine.world()}, whole);
      expect_equal(load_checkpoint(path), whole);  // every rank sees all of it
      engine.world().barrier().wait();
    });
    const auto back = load_newest_checkpoint(folder_);
    ASSERT_TRUE(back);
    expect_equal(*back, whole);
    EXPECT_EQ(back->info.ranks, ranks);
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "step-00000004" / "model-00003-of-00004.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "step-00000001" / "model.safetensors"));
}

TEST_F(ShardedCheckpoint, InTheBackground) {
  comm::run_ranks(3, [&](comm::Engine& engine) {
    CheckpointWriter writer({.checkpoint = {.folder = folder_, .keep = 2, .group = engine.world()}});
    for (std::int64_t step = 1; step <= 5; ++step) writer.save(sample(step));
    writer.wait();
    EXPECT_FALSE(writer.take_error());
    EXPECT_EQ(writer.newest(), folder_ / "step-00000005");
    engine.world().barrier().wait();
  });
  expect_equal(*load_newest_checkpoint(folder_), sample(5));
}

// One rank cannot store its share: all hear of it, and who it was.
TEST_F(ShardedCheckpoint, FailsOnAllWhenItFailsOnOne) {
  save_checkpoint({.folder = folder_}, sample(1));
  std::mutex mutex;
  std::vector<std::string> failures;
  comm::run_ranks(3, [&](comm::Engine& engine) {
    CheckpointShare share{.info = {.step = 2}};
    const torch::Tensor fine = torch::eye(3);
    share.model = {{fmt::format("part{}", engine.rank()), engine.rank() == 1 ? fine.to_sparse() : fine}};
    const std::string wrong = tests::failure([&] { save_share({.folder = folder_, .group = engine.world()}, share); });
    const std::lock_guard lock(mutex);
    failures.push_back(wrong);
  });
  ASSERT_EQ(failures.size(), 3u);
  for (const std::string& text : failures)
    EXPECT_EQ(text, "rank 1: tensor 'part1' is sparse: it cannot be stored as safetensors");
  expect_equal(*load_newest_checkpoint(folder_), sample(1));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".step-00000002.partial"));
}

}  // namespace
}  // namespace ronde::train
