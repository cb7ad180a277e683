#include "ronde/train/loop/exchange.h"
#include "ronde/base/settings/settings.h"

#include <map>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

TrainingOptions with(const std::map<std::string, std::string>& changes) {
  Settings settings;
  for (const auto& [key, text] : changes) settings.set(key, text, "test");
  return training_options(settings);
}

TEST(Exchange, LocalSgdHasNoGradientsToSend) {
  EXPECT_EQ(checked_sync_every(with({})), 1);
  EXPECT_EQ(checked_sync_every(with({{"train.sync_every", "8"}})), 8);
  EXPECT_EQ(checked_sync_every(with({{"train.compression", "f16"}})), 1);
  for (const auto& [key, text] :
       std::map<std::string, std::string>{{"train.compression", "bf16"}, {"train.reduce", "adasum"}}) {
    try {
      checked_sync_every(with({{"train.sync_every", "8"}, {key, text}}));
      ADD_FAILURE() << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      EXPECT_EQ(
          error.message(),
          fmt::format(
              "{} is '{}', but with train.sync_every = 8 ranks average their weights and do not exchange gradients",
              key, text));
    }
  }
}

TEST(Exchange, NoiseIsMeasuredWhereItCanBe) {
  EXPECT_EQ(noise_interval(with({}), 2), 10);
  EXPECT_EQ(noise_interval(with({{"train.noise_scale", "3"}}), 2), 3);
  EXPECT_EQ(noise_interval(with({{"train.noise_scale", "0"}}), 2), 0);
  EXPECT_EQ(noise_interval(with({}), 1), 0) << "one rank has no part of a batch";
  EXPECT_EQ(noise_interval(with({{"train.accumulate", "2"}}), 1), 10) << "but for passes";
  EXPECT_EQ(noise_interval(with({{"train.reduce", "adasum"}}), 2), 0);
  EXPECT_EQ(noise_interval(with({{"train.sync_every", "4"}}), 2), 0);
}

}  // namespace
}  // namespace ronde::train
