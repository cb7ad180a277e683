// Whole trainings, with ranks as threads.
#include "ronde/train/trainer.h"

#include <filesystem>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/comm/thread_job.h"
#include "ronde/models/tensor_map.h"
#include "ronde/train/checkpoint.h"

namespace ronde::train {
namespace {

class Trainings : public testing::Test {
 protected:
  Trainings() {
    torch::set_num_threads(1);
    // Little enough for a second: signs of 8 x 8 pixels and a network without norms, whose statistics differ by rank.
    for (const auto& [key, text] : std::map<std::string, std::string>{{"data.resolution", "8"},
                                                                      {"data.samples", "256"},
                                                                      {"data.test_samples", "50"},
                                                                      {"data.classes", "4"},
                                                                      {"model.name", "mlp"},
                                                                      {"train.batch", "30"},
                                                                      {"train.epochs", "2"},
                                                                      {"optimizer.lr", "0.02"},
                                                                      {"comm.deterministic", "true"},
                                                                      {"memory.arena", "false"}})
      settings_.set(key, text, "test");
    settings_.set("output.dir", (folder_ / "out").string(), "test");
  }

  void set(std::string_view key, std::string_view text) { settings_.set(key, text, "test"); }

  // On so many ranks; returns what rank 0 found, after all have ended. Throws what the lowest rank threw.
  Outcome train(int ranks) {
    comm::ThreadJob job(ranks);
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
    Outcome outcome;
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          try {
            Session session(job.engine(rank, {.deterministic = true}), settings_);
            const auto found = Trainer(session, interrupt_, Log({.level = LogLevel::Error})).run();
            if (rank == 0) outcome = found;
          } catch (...) {
            failures[static_cast<std::size_t>(rank)] = std::current_exception();
          }
        });
    }
    for (const auto& failure : failures)
      if (failure) std::rethrow_exception(failure);
    return outcome;
  }

  // Torch's generator is one for all threads, so fresh weights are not the same twice: trainings that are compared
  // begin with the same first step.
  void begin_again() {
    const auto out = folder_ / "out", begun = folder_ / "begun";
    std::filesystem::remove_all(out);
    if (!std::filesystem::exists(begun)) {
      set("train.steps", "1");
      train(1);
      set("train.steps", "0");
      std::filesystem::rename(out, begun);
    }
    std::filesystem::copy(begun, out, std::filesystem::copy_options::recursive);
  }

  TensorMap weights() const { return load_newest_checkpoint(folder_ / "out" / "checkpoints")->model; }

  const tests::Folder kept_;
  const std::filesystem::path folder_ = kept_.path();
  Settings settings_;
  Interrupt interrupt_;
};

double distance(const TensorMap& a, const TensorMap& b) {
  double most = 0;
  for (const auto& [name, tensor] : a) most = std::max(most, (tensor - b.at(name)).abs().max().item<double>());
  return most;
}

TEST_F(Trainings, GiveTheSameWeightsOnAnyNumberOfRanks) {
  begin_again();
  const Outcome alone = train(1);
  const TensorMap expected = weights();
  for (const int ranks : {2, 3, 4}) {
    begin_again();
    const Outcome outcome = train(ranks);
    EXPECT_EQ(outcome.steps, alone.steps);
    EXPECT_EQ(outcome.score.samples, 50);
    EXPECT_LT(distance(expected, weights()), 1e-4) << ranks;
  }
}

TEST_F(Trainings, GoOnBitForBit) {
  for (const int ranks : {1, 2}) {
    begin_again();
    train(ranks);
    const TensorMap expected = weights();
    begin_again();
    set("train.steps", "5");  // in the middle of the first epoch,
    train(ranks);
    set("train.steps", "11");  // and of the second
    train(ranks);
    set("train.steps", "0");
    EXPECT_EQ(train(ranks).steps, 16);
    EXPECT_EQ(distance(expected, weights()), 0) << ranks;
  }
}

TEST_F(Trainings, GoOnWithAnotherNumberOfRanks) {
  begin_again();
  train(1);
  const TensorMap expected = weights();
  begin_again();
  set("train.steps", "6");
  set("checkpoint.sharded", "true");
  train(3);
  set("train.steps", "0");
  train(2);
  EXPECT_LT(distance(expected, weights()), 1e-4);
}

TEST_F(Trainings, AreDoneWhenTheyAreDone) {
  const auto first = train(2);
  const TensorMap expected = weights();
  EXPECT_EQ(train(2).steps, first.steps);
  EXPECT_EQ(distance(expected, weights()), 0);
}

TEST_F(Trainings, StartAnewWithoutLosingWhatWasThere) {
  train(1);
  set("checkpoint.resume", "none");
  set("train.steps", "2");
  EXPECT_EQ(train(1).steps, 2);
  EXPECT_TRUE(newest_checkpoint(folder_ / "out" / "checkpoints.1"));
}

TEST_F(Trainings, NameTheTensorsOfAnotherNetwork) {
  train(1);
  set("model.name", "lenet");
  set("data.resolution", "28");
  try {
    train(1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("weight"), std::string::npos) << error.message();
  }
}

TEST_F(Trainings, StopWhenTheLossIsNotFinite) {
  set("optimizer.lr", "1e30");
  set("checkpoint.every", "1");
  try {
    train(2);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not a finite number in step"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("the first tensor that is not finite is"), std::string::npos)
        << error.what();
  }
}

TEST_F(Trainings, NeedABatchThatCanBeShared) {
  set("train.batch", "3");
  EXPECT_THROW(train(4), Error);
  set("train.batch", "1000");
  EXPECT_THROW(train(1), Error);
}

}  // namespace
}  // namespace ronde::train
