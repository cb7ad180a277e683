#include "ronde/models/loss.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::models {
namespace {

const torch::Tensor kOutput = torch::tensor({{2.0, 0.0}, {0.0, 1.0}, {3.0, 3.0}});
const torch::Tensor kClasses = torch::tensor({0, 0, 1});

double value(const LossOptions& options, const torch::Tensor& output, const torch::Tensor& target) {
  return make_loss(options)(output, target).item<double>();
}

TEST(Loss, SingleLabelByHand) {
  const double each[] = {std::log(1 + std::exp(-2.0)), std::log(1 + std::exp(1.0)), std::log(2.0)};
  EXPECT_NEAR(value({}, kOutput, kClasses), (each[0] + each[1] + each[2]) / 3, 1e-6);
  EXPECT_NEAR(value({.sum = true}, kOutput, kClasses), each[0] + each[1] + each[2], 1e-6);
}

TEST(Loss, SmoothingSpreadsTheLabel) {
  // Half of the label's tenth goes to each class.
  const double right = std::log(1 + std::exp(-2.0)), wrong = right + 2;
  EXPECT_NEAR(value({.label_smoothing = 0.1}, kOutput.slice(0, 0, 1), kClasses.slice(0, 0, 1)),
              0.95 * right + 0.05 * wrong, 1e-6);
}

TEST(Loss, MultiLabelByHand) {
  const torch::Tensor target = torch::tensor({{1, 0}, {0, 0}, {1, 1}});
  const auto yes = [](double x) { return std::log(1 + std::exp(-x)); };
  const double sum = yes(2) + yes(0) + yes(0) + yes(-1) + yes(3) + yes(3);
  EXPECT_NEAR(value({.kind = "multi-label"}, kOutput, target), sum / 6, 1e-6);
  EXPECT_NEAR(value({.kind = "multi-label", .sum = true}, kOutput, target), sum / 2, 1e-6);
  const double smooth = 0.9 * yes(2) + 0.1 * yes(-2);
  EXPECT_NEAR(value({.kind = "multi-label", .label_smoothing = 0.2}, torch::tensor({{2.0}}), torch::tensor({{1}})),
              smooth, 1e-6);
}

// What distributed evaluation counts on.
TEST(Loss, SumsOfPartsAreTheSumOfAll) {
  torch::manual_seed(1);
  const torch::Tensor output = torch::randn({7, 4, 3, 3}, torch::kFloat64), target = torch::randint(4, {7, 3, 3});
  const LossOptions options{.label_smoothing = 0.1, .sum = true};
  const double parts = value(options, output.slice(0, 0, 3), target.slice(0, 0, 3)) +
                       value(options, output.slice(0, 3, 7), target.slice(0, 3, 7));
  EXPECT_NEAR(value(options, output, target), parts, 1e-12);
  EXPECT_NEAR(value({.label_smoothing = 0.1}, output, target), parts / 7, 1e-12);
}

std::string failure(const LossOptions& options, const torch::Tensor& output, const torch::Tensor& target) {
  try {
    value(options, output, target);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
  return "";
}

TEST(Loss, SaysWhatIsWrong) {
  EXPECT_EQ(failure({}, kOutput, torch::tensor({0, 2, 1})),
            "label 2 is out of range: the model has 2 classes (0 to 1)");
  EXPECT_EQ(failure({}, kOutput, torch::tensor({0, -1, 1})),
            "label -1 is out of range: the model has 2 classes (0 to 1)");
  EXPECT_EQ(failure({.kind = "multi-label"}, kOutput, kClasses),
            "targets have shape [3], but the outputs of the model have shape [3, 2]");
  EXPECT_EQ(failure({.kind = "hinge"}, kOutput, kClasses),
            "unknown loss 'hinge'; choose one of single-label, multi-label, reconstruction");
  EXPECT_EQ(failure({.label_smoothing = 2}, kOutput, kClasses), "label smoothing must be between 0 and 1, got 2");
}

}  // namespace
}  // namespace ronde::models
