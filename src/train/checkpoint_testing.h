#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/train/checkpoint.h"

// For tests of checkpoints.
namespace ronde::train::tests {

namespace fs = std::filesystem;

// A test with a folder of its own.
class InFolder : public testing::Test {
 protected:
  const ronde::tests::Folder kept_;
  const fs::path folder_ = kept_.path();
};

// Tensors that follow from the step, so that a reader can tell whether they belong together.
inline Checkpoint sample(std::int64_t step, std::int64_t values = 1000) {
  const auto fill = [&](std::int64_t extra) { return torch::full({values}, static_cast<double>(step + extra)); };
  return {.info = {.step = step,
                   .epoch = step / 10,
                   .samples = 32 * step,
                   .seed = 7,
                   .ranks = 1,
                   .settings = {{"train.batch", "64"}},
                   .extra = {{"best", "0.93"}}},
          .model = {{"fc.weight", fill(0).view({2, -1})},
                    {"fc.bias", torch::tensor(step)},
                    {"scale", fill(1).to(torch::kFloat64)}},
          .optimizer = {{"fc.weight/momentum_buffer", fill(2)}, {"fc.weight/step", torch::tensor(step)}}};
}

inline void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.info.step, b.info.step);
  EXPECT_EQ(a.info.epoch, b.info.epoch);
  EXPECT_EQ(a.info.samples, b.info.samples);
  EXPECT_EQ(a.info.seed, b.info.seed);
  EXPECT_EQ(a.info.settings, b.info.settings);
  EXPECT_EQ(a.info.extra, b.info.extra);
  const auto same = [](const TensorMap& x, const TensorMap& y) {
    ASSERT_EQ(x.size(), y.size());
    for (const auto& [name, tensor] : x) {
      ASSERT_TRUE(y.contains(name)) << name;
      EXPECT_EQ(tensor.dtype(), y.at(name).dtype()) << name;
      EXPECT_TRUE(tensor.equal(y.at(name))) << name;
    }
  };
  same(a.model, b.model);
  same(a.optimizer, b.optimizer);
}

// What a call fails with; empty: it does not.
template <class Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ronde::train::tests
