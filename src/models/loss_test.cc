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

TEST(Loss, WeightsOfClassesByHand) {
  const double each[] = {std::log(1 + std::exp(-2.0)), std::log(1 + std::exp(1.0)), std::log(2.0)};
  const std::vector<double> weights = {1, 3};
  EXPECT_NEAR(value({.class_weights = weights, .sum = true}, kOutput, kClasses), each[0] + each[1] + 3 * each[2], 1e-6);
  EXPECT_NEAR(value({.class_weights = weights}, kOutput, kClasses), (each[0] + each[1] + 3 * each[2]) / 3, 1e-6);
  const auto yes = [](double x) { return std::log(1 + std::exp(-x)); };
  EXPECT_NEAR(
      value({.kind = "multi-label", .class_weights = weights}, torch::tensor({{2.0, 1.0}}), torch::tensor({{1, 0}})),
      (yes(2) + 3 * yes(-1)) / 2, 1e-6);
}

TEST(Loss, FocalByHand) {
  const auto focal = [](double entropy) { return std::pow(1 - std::exp(-entropy), 2) * entropy; };
  const double each[] = {std::log(1 + std::exp(-2.0)), std::log(1 + std::exp(1.0)), std::log(2.0)};
  EXPECT_NEAR(value({.form = "focal", .sum = true}, kOutput, kClasses),
              focal(each[0]) + focal(each[1]) + focal(each[2]), 1e-6);
  EXPECT_NEAR(value({.form = "focal", .class_weights = {1, 3}}, kOutput, kClasses),
              (focal(each[0]) + focal(each[1]) + 3 * focal(each[2])) / 3, 1e-6);
  const auto yes = [](double x) { return std::log(1 + std::exp(-x)); };
  EXPECT_NEAR(value({.kind = "multi-label", .form = "focal"}, torch::tensor({{2.0, 1.0}}), torch::tensor({{1, 0}})),
              (focal(yes(2)) + focal(yes(-1))) / 2, 1e-6);
}

// Two pictures of 1 x 2 pixels and two classes.
TEST(Loss, DiceByHand) {
  const torch::Tensor output = torch::tensor({0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0}).view({2, 2, 1, 2});
  const torch::Tensor target = torch::tensor({0, 0, 1, 0}).view({2, 1, 2});
  const auto p = [](double x) { return 1 / (1 + std::exp(-x)); };  // of class 0, by the difference of the outputs
  const auto dice = [](double both, double found, double there) { return (2 * both + 1) / (found + there + 1); };
  const double a = p(0) + p(2), b = p(1) + p(0);
  const double first[] = {dice(a, a, 2), dice(0, 2 - a, 0)};
  const double second[] = {dice(p(0), b, 1), dice(1 - p(1), 2 - b, 1)};
  const double sum = 2 - (first[0] + first[1]) / 2 - (second[0] + second[1]) / 2;
  EXPECT_NEAR(value({.form = "dice", .sum = true}, output, target), sum, 1e-6);
  EXPECT_NEAR(value({.form = "dice"}, output, target), sum / 2, 1e-6);
  EXPECT_NEAR(value({.form = "dice-entropy", .sum = true}, output, target), sum + value({.sum = true}, output, target),
              1e-6);
  EXPECT_NEAR(value({.form = "dice", .class_weights = {3, 1}, .sum = true}, output, target),
              2 - (3 * first[0] + first[1]) / 4 - (3 * second[0] + second[1]) / 4, 1e-6);
  EXPECT_LT(value({.form = "dice"}, 100 * (torch::one_hot(target, 2).movedim(3, 1) - 0.5), target), 1e-6)
      << "all right";
}

// As if the pixels were not there.
TEST(Loss, LeavesIgnoredPixelsOut) {
  torch::manual_seed(1);
  const torch::Tensor output = torch::randn({3, 4, 2, 6}, torch::kFloat64);
  torch::Tensor target = torch::randint(4, {3, 2, 6});
  target.slice(2, 4, 6).fill_(kIgnoredClass);
  const torch::Tensor some = output.slice(3, 0, 4), theirs = target.slice(2, 0, 4);
  for (const char* form : {"entropy", "focal", "dice", "dice-entropy"})
    for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{1, 2, 0, 4}})
      for (const bool sum : {false, true})
        EXPECT_NEAR(value({.form = form, .class_weights = weights, .ignores = true, .sum = sum}, output, target),
                    value({.form = form, .class_weights = weights, .sum = sum}, some, theirs), 1e-9)
            << form;
  const torch::Tensor none = torch::full({1, 2, 6}, kIgnoredClass);
  torch::Tensor learned = output.slice(0, 0, 1).clone().set_requires_grad(true);
  for (const char* form : {"entropy", "focal", "dice-entropy"}) {
    const torch::Tensor loss = make_loss({.form = form, .ignores = true, .sum = true})(learned, none);
    EXPECT_NEAR(loss.item<double>(), 0, 1e-12) << form;
    loss.backward();
    EXPECT_EQ(learned.grad().abs().max().item<double>(), 0) << form;
  }
}

TEST(Loss, HasFiniteGradientsWhereAllIsCertain) {
  for (const char* form : {"focal", "dice", "dice-entropy"}) {
    torch::Tensor output =
        torch::tensor({1000.0F, -1000.0F, -1000.0F, 1000.0F}).view({1, 2, 1, 2}).set_requires_grad(true);
    make_loss({.form = form})(output, torch::tensor({0, 0}).view({1, 1, 2})).backward();
    EXPECT_TRUE(output.grad().isfinite().all().item<bool>()) << form;
  }
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
  EXPECT_EQ(failure({.form = "hinge"}, kOutput, kClasses),
            "unknown loss 'hinge'; choose one of entropy, focal, dice, dice-entropy");
  EXPECT_EQ(failure({.form = "focal", .label_smoothing = 0.1}, kOutput, kClasses),
            "the loss focal has no label smoothing");
  EXPECT_EQ(failure({}, kOutput, torch::tensor({0, -100, 1})),
            "label -100 is out of range: the model has 2 classes (0 to 1)");
  EXPECT_EQ(failure({.label_smoothing = 2}, kOutput, kClasses), "label smoothing must be between 0 and 1, got 2");
}

}  // namespace
}  // namespace ronde::models
