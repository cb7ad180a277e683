#include "ronde/data/picture/choose.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/data/picture/crop_plan.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::picture {
namespace {

bool inside(const Window& window, int width, int height) {
  return window.left >= 0 && window.top >= 0 && window.width >= 1 && window.height >= 1 &&
         window.left + window.width <= width && window.top + window.height <= height;
}

TEST(Choose, StaysInsideWhateverThePicture) {
  const PictureOptions options{.rotate = true, .jitter = 0.4, .cutout = 0.5};
  constexpr std::array<std::array<int, 2>, 8> kSizes = {
      {{1, 1}, {1, 2}, {2, 1}, {1, 5000}, {5000, 1}, {3, 4000}, {500, 375}, {65500, 65500}}};
  for (const auto& [width, height] : kSizes)
    for (std::uint64_t i = 0; i < 300; ++i) {
      const Change change = choose(options, width, height, Random(3, 1, i));
      ASSERT_TRUE(inside(change.crop, width, height)) << width << " x " << height;
      ASSERT_TRUE(inside(change.cutout, 224, 224));
      ASSERT_EQ(change.cutout.width, 112);
      ASSERT_TRUE(change.turns >= 0 && change.turns < 4);
      for (const float by : {change.brightness, change.contrast, change.saturation}) ASSERT_NEAR(by, 1, 0.4001);
    }
}

TEST(Choose, SharesAndAspectsAreSpreadEvenly) {
  const PictureOptions options;
  double shares = 0, logs = 0, left = 0;
  int flips = 0, small = 0;
  constexpr int kDraws = 4000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Change change = choose(options, 1000, 1000, Random(1, 7, i));
    const double share = change.crop.width * change.crop.height / 1e6;
    ASSERT_GE(share, 0.078);
    ASSERT_LE(share, 1.0);
    shares += share;
    small += share < 0.25;
    logs += std::log(static_cast<double>(change.crop.width) / change.crop.height);
    if (change.crop.width < 1000) left += change.crop.left / (1000.0 - change.crop.width);
    flips += change.flip;
    ASSERT_EQ(change.turns, 0);
    ASSERT_FALSE(change.recolours());
  }
  EXPECT_NEAR(shares / kDraws, 0.48, 0.03);  // large ones do not always fit, so less than 0.54
  EXPECT_NEAR(small / static_cast<double>(kDraws), 0.22, 0.03);
  EXPECT_NEAR(logs / kDraws, 0.0, 0.02);
  EXPECT_NEAR(left / kDraws, 0.5, 0.03);
  EXPECT_NEAR(flips / static_cast<double>(kDraws), 0.5, 0.03);
}

TEST(Choose, IsAFunctionOfTheDrawAndOptionsLeaveOneAnotherAlone) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Change plain = choose({}, 500, 375, Random(1, 2, i)), again = choose({}, 500, 375, Random(1, 2, i));
    EXPECT_EQ(plain.crop, again.crop);
    const Change much = choose({.rotate = true, .jitter = 0.3, .cutout = 0.2}, 500, 375, Random(1, 2, i));
    EXPECT_EQ(plain.crop, much.crop);
    EXPECT_EQ(plain.flip, much.flip);
  }
  EXPECT_NE(choose({}, 500, 375, Random(1, 2, 3)).crop, choose({}, 500, 375, Random(1, 3, 3)).crop);
}

TEST(Choose, EvaluationAndWholeCropsTakeTheMiddle) {
  const Change evaluated = choose({.augment = false}, 500, 400, Random(1));
  EXPECT_EQ(evaluated.crop, (Window{75, 25, 350, 350}));
  EXPECT_FALSE(evaluated.flip);
  EXPECT_EQ(choose({.crop = {1, 1}}, 500, 400, Random(1)).crop, (Window{50, 0, 400, 400}));
  EXPECT_EQ(choose({.augment = false}, 1, 1, Random(1)).crop, (Window{0, 0, 1, 1}));
}

TEST(CropPlan, ShrinksOnlyWhereEnoughIsLeft) {
  const Header jpeg{.format = Format::Jpeg, .width = 4000, .height = 3000};
  const auto shrink = [&](int width, int height) { return plan_for({7, 9, width, height}, jpeg, 224).shrink; };
  EXPECT_EQ(shrink(447, 2000), 1);
  EXPECT_EQ(shrink(448, 448), 2);
  EXPECT_EQ(shrink(896, 895), 2);
  EXPECT_EQ(shrink(896, 896), 4);
  EXPECT_EQ(shrink(1792, 2900), 8);
  EXPECT_EQ(plan_for({0, 0, 2000, 2000}, {.format = Format::Png, .width = 4000, .height = 3000}, 224).shrink, 1);
  const CropPlan plan = plan_for({7, 9, 450, 460}, jpeg, 224);
  EXPECT_EQ(plan.window, (Window{3, 4, 226, 231}));
  EXPECT_DOUBLE_EQ(plan.left, 0.5);
  EXPECT_DOUBLE_EQ(plan.top, 0.5);
  EXPECT_DOUBLE_EQ(plan.width, 225);
  EXPECT_DOUBLE_EQ(plan.height, 230);
}

TEST(PictureSettings, AreParsed) {
  EXPECT_EQ(parse_crop_scale("0.08/1"), (CropScale{0.08, 1}));
  EXPECT_EQ(parse_crop_scale("1/1"), (CropScale{1, 1}));
  for (const char* wrong : {"0.5", "0/1", "0.9/0.2", "0.1/1.5", "a/b", "0.1/0.2/0.3", ""})
    EXPECT_TRUE(message_of([&] { (void)parse_crop_scale(wrong); }).starts_with("data.crop_scale = ")) << wrong;
  EXPECT_EQ(parse_normalization("unit", 2), (Normalization{{0, 0}, {1, 1}}));
  EXPECT_EQ(parse_normalization("imagenet", 3), PictureOptions().normal);
  EXPECT_EQ(parse_normalization("imagenet", 1).mean.size(), 1u);
  EXPECT_EQ(parse_normalization("0.5, 0.4,0.3/0.25", 3), (Normalization{{0.5f, 0.4f, 0.3f}, {0.25f, 0.25f, 0.25f}}));
  for (const char* wrong : {"imagnet", "1,2/3,4", "0.5/0", "0.5/-1", "x/1", "0.5/nan", "1/1/1"})
    EXPECT_TRUE(message_of([&] { (void)parse_normalization(wrong, 3); }).starts_with("data.normalize = ")) << wrong;
}

}  // namespace
}  // namespace ronde::data::picture
