#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/settings/settings.h"
#include "ronde/base/testing/folder.h"
#include "ronde/comm/thread_job.h"
#include "ronde/models/tensor_map.h"
#include "ronde/train/checkpoint.h"
#include "ronde/train/trainer.h"

// For tests of whole trainings, with ranks as threads.
namespace ronde::train::tests {

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
                                                                      {"memory.arena", "false"},
                                                                      {"train.device", "cpu"}})
      settings_.set(key, text, "test");
    settings_.set("output.dir", (folder_ / "out").string(), "test");
  }

  void set(std::string_view key, std::string_view text) { settings_.set(key, text, "test"); }

  // On so many ranks; returns what rank 0 found, after all have ended. Throws what the lowest rank threw.
  Outcome train(int ranks, const TimeLimit& limit = {}) {
    comm::ThreadJob job(ranks);
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
    Outcome outcome;
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          try {
            Session session(job.engine(rank, {.deterministic = true}), settings_, registry_);
            const auto found = Trainer(session, interrupt_, Log({.level = LogLevel::Error}), limit).run();
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

  const ronde::tests::Folder kept_;
  const std::filesystem::path folder_ = kept_.path();
  Settings settings_;
  std::shared_ptr<const Registry> registry_;  // nullptr: nothing besides what is built in
  Interrupt interrupt_;
};

inline double distance(const TensorMap& a, const TensorMap& b) {
  double most = 0;
  for (const auto& [name, tensor] : a) most = std::max(most, (tensor - b.at(name)).abs().max().item<double>());
  return most;
}

}  // namespace ronde::train::tests
