#include "ronde/train/loop/loss_choice.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

using data::Target;

models::LossOptions chosen_loss(const TrainingOptions& asked, Target target) {
  data::SampleKind kind;
  kind.target = target;
  kind.classes = 3;
  return loss_options(asked, kind);
}

std::string failure(const TrainingOptions& asked, Target target) {
  try {
    (void)chosen_loss(asked, target);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}

TEST(LossChoice, FitsTheTargets) {
  EXPECT_EQ(chosen_loss({}, Target::Class).kind, "single-label");
  EXPECT_EQ(chosen_loss({}, Target::Mask).kind, "single-label");
  EXPECT_EQ(chosen_loss({}, Target::Labels).kind, "multi-label");
  EXPECT_EQ(chosen_loss({}, Target::Values).kind, "reconstruction");
  EXPECT_EQ(chosen_loss({.loss = "focal"}, Target::Labels).form, "focal");
  EXPECT_EQ(chosen_loss({.loss = "dice"}, Target::Mask).form, "dice");
  EXPECT_EQ(chosen_loss({.loss = "mine"}, Target::Mask).form, "entropy") << "a plugin's";
  EXPECT_TRUE(chosen_loss({.ignore_index = 0}, Target::Mask).ignores);
  EXPECT_FALSE(chosen_loss({}, Target::Mask).ignores);
  EXPECT_EQ(chosen_loss({.class_weights = "1, 0, 2.5"}, Target::Class).class_weights, (std::vector<double>{1, 0, 2.5}));
  EXPECT_TRUE(chosen_loss({.class_weights = " "}, Target::Class).class_weights.empty());
}

TEST(LossChoice, SaysWhatDoesNotGoTogether) {
  EXPECT_EQ(failure({.class_weights = "1,2"}, Target::Class),
            "train.class_weights has 2 numbers, but there are 3 classes");
  EXPECT_EQ(failure({.class_weights = "1,-2,3"}, Target::Class),
            "train.class_weights: '-2' is not a number of at least 0");
  EXPECT_EQ(failure({.class_weights = "0,0,0"}, Target::Mask),
            "train.class_weights is '0,0,0': one of them must be above 0");
  EXPECT_EQ(failure({.class_weights = "1,2,3"}, Target::Values),
            "train.class_weights is '1,2,3', but data.target = values has no classes");
  EXPECT_EQ(failure({.ignore_index = 2}, Target::Class),
            "train.ignore_index is 2, but only masks have pixels to ignore, and data.target is class");
  EXPECT_EQ(failure({.loss = "dice"}, Target::Class), "train.loss = dice compares masks, but data.target is class");
  EXPECT_EQ(failure({.loss = "focal"}, Target::Input), "train.loss = focal is for classes, but data.target is input");
  EXPECT_EQ(failure({.loss = "focal", .label_smoothing = 0.1}, Target::Class),
            "train.label_smoothing has no effect on train.loss = focal; remove it");
  EXPECT_EQ(failure({.data = {.mixup = 0.2}, .loss = "focal"}, Target::Class),
            "train.loss = focal takes no mixed samples; set data.mixup = 0");
}

}  // namespace
}  // namespace ronde::train
