#include "ronde/train/evaluate.h"
#include "ronde/base/settings/settings.h"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/thread_job.h"
#include "ronde/data/array.h"
#include "ronde/data/order/random.h"
#include "ronde/data/picture/decoder.h"
#include "ronde/data/records.h"
#include "ronde/data/stored_source.h"
#include "ronde/models/model.h"

namespace ronde::train {
namespace {

constexpr std::int64_t kClasses = 3, kValues = 6;

// Sample i is `numbers[i]`, and cannot be read where that is negative.
class Listed : public data::Records {
 public:
  explicit Listed(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
  std::string name() const override { return "listed"; }
  std::int64_t size() const override { return std::ssize(numbers_); }
  std::size_t bytes(std::int64_t) const override { return 4 * kValues; }
  std::string where(std::int64_t index) const override { return fmt::format("listed {}", index); }
  std::string key(std::int64_t index) const override { return std::to_string(index); }
  data::Sample read(std::int64_t index) const override {
    const std::int64_t number = numbers_[static_cast<std::size_t>(index)];
    if (number < 0) throw Error::bad_input("it is damaged");
    data::Sample sample;
    data::Array features(data::Type::F32, {kValues});
    data::Random random(7, static_cast<std::uint64_t>(number));
    for (float& value : features.values<float>()) value = random.uniform(-1, 1);
    sample.set("features", std::move(features));
    sample.set("class", data::Array::scalar<std::int64_t>(number % kClasses));
    return sample;
  }

 private:
  const std::vector<std::int64_t> numbers_;
};

class Evaluations : public testing::Test {
 protected:
  static std::unique_ptr<data::Source> source(const std::vector<std::int64_t>& numbers) {
    const auto records = std::make_shared<Listed>(numbers);
    return std::make_unique<data::StoredSource>(
        data::StoredParts{records, data::make_array_decoder(Listed({1}).read(0), data::Target::Class, kClasses), 1}, 0);
  }

  // On so many ranks; what all of them found.
  static std::vector<Evaluation> evaluations(int ranks, const std::vector<std::int64_t>& numbers, std::int64_t batch) {
    comm::ThreadJob job(ranks);
    std::vector<Evaluation> found(static_cast<std::size_t>(ranks));
    torch::set_num_threads(1);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          Settings settings;
          settings.set("train.device", "cpu", "test");
          settings.set("log.level", "off", "test");
          const Session session(job.engine(rank), settings);
          Task task;
          task.samples = source(numbers);
          task.network =
              models::make_model({.name = "mlp", .classes = kClasses, .channels = 1, .height = 1, .width = kValues});
          for (auto& parameter : task.network->parameters())  // torch's generator is one for all threads
            parameter.data().copy_(torch::arange(parameter.numel()).view(parameter.sizes()).sin() * 0.1);
          task.plain_loss = models::make_loss({.kind = "single-label", .sum = true});
          found[static_cast<std::size_t>(rank)] = evaluate(session, task, *task.samples, batch);
        });
    }
    return found;
  }
};

TEST_F(Evaluations, WhatCannotBeReadIsLeftOutOnAnyNumberOfRanks) {
  std::vector<std::int64_t> whole, damaged;
  const std::set<std::int64_t> bad{0, 1, 11, 12, 29};
  for (std::int64_t i = 0; i < 30; ++i) {
    damaged.push_back(bad.contains(i) ? -1 : i);
    if (!bad.contains(i)) whole.push_back(i);
  }
  const Score expected = evaluations(1, whole, 7)[0].score;
  ASSERT_EQ(expected.samples, 25);
  for (const int ranks : {1, 2, 3, 5})
    for (const std::int64_t batch : {7, 30})
      for (const Evaluation& found : evaluations(ranks, damaged, batch)) {
        EXPECT_EQ(found.score.samples, 25) << ranks << " ranks, batches of " << batch;
        EXPECT_EQ(found.score.top1, expected.top1);
        EXPECT_NEAR(found.score.loss, expected.loss, 1e-5 * expected.loss);
      }
}

}  // namespace
}  // namespace ronde::train
