#include "ronde/train/evaluate/class_counts.h"

#include <vector>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

TEST(ClassCounts, OneClassByHand) {
  const ClassCount count{.hits = 6, .falses = 2, .misses = 4};
  EXPECT_DOUBLE_EQ(precision(count), 0.75);
  EXPECT_DOUBLE_EQ(recall(count), 0.6);
  EXPECT_DOUBLE_EQ(f1(count), 2 * 0.75 * 0.6 / (0.75 + 0.6));
  EXPECT_DOUBLE_EQ(iou(count), 0.5);
}

TEST(ClassCounts, WhatHasNothingToDivideByIsZero) {
  EXPECT_EQ(precision({.misses = 3}), 0);
  EXPECT_EQ(recall({.falses = 3}), 0);
  for (auto* value : {&precision, &recall, &f1, &iou}) EXPECT_EQ(value({}), 0);
}

TEST(ClassCounts, MicroIsOfAllTogetherAndMacroTheMeanOfClasses) {
  const std::vector<ClassCount> classes = {{.hits = 8, .falses = 2}, {.hits = 1, .falses = 0, .misses = 1}};
  const Average precisions = average(classes, &precision), f1s = average(classes, &f1);
  EXPECT_DOUBLE_EQ(precisions.micro, 9.0 / 11);
  EXPECT_DOUBLE_EQ(precisions.macro, (0.8 + 1) / 2);
  EXPECT_DOUBLE_EQ(f1s.micro, 18.0 / 21);
  EXPECT_DOUBLE_EQ(f1s.macro, (16.0 / 18 + 2.0 / 3) / 2) << "not that of the mean precision and recall";
}

TEST(ClassCounts, AClassThatIsNowhereHasNoPart) {
  const std::vector<ClassCount> with = {{.hits = 3, .misses = 1}, {}, {.falses = 2}}, without = {with[0], with[2]};
  for (auto* value : {&precision, &recall, &f1, &iou}) EXPECT_EQ(average(with, value), average(without, value));
  EXPECT_DOUBLE_EQ(average(with, &iou).macro, 0.375) << "what was only found falsely counts as 0";
  EXPECT_EQ(average({}, &f1), Average{});
}

}  // namespace
}  // namespace ronde::train
