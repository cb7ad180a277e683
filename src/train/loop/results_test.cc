#include "ronde/train/loop/results.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

using data::Target;

double value_of(const Results& results, const std::string& key) {
  for (const Measure& measure : results.measures)
    if (measure.key == key) return measure.value;
  ADD_FAILURE() << key;
  return 0;
}

TEST(Results, OfClasses) {
  const Results results = results_of(Score{.loss = 2, .samples = 4, .top1 = 3, .top5 = 4}, Target::Class);
  EXPECT_EQ(text_of(results, true), "loss 0.5000, accuracy 75.00% (top 5: 100.00%)");
  EXPECT_EQ(text_of(results, false), "loss 0.5000, accuracy 75.00%");
  EXPECT_TRUE(results.reached(0.75));
  EXPECT_FALSE(results.reached(0.76));
}

TEST(Results, AreComparedByAnyOfTheirMeasures) {
  const Results results = results_of(Score{.loss = 2, .samples = 4, .top1 = 3, .top5 = 4}, Target::Class);
  EXPECT_EQ(measure_keys(results), (std::vector<std::string>{"accuracy", "accuracy5", "loss"}));
  EXPECT_EQ(main_measure(results).key, "accuracy");
  EXPECT_EQ(main_measure({.loss = 3}).key, "loss");
  EXPECT_EQ(find_measure(results, "accuracy5")->value, 1);
  EXPECT_EQ(find_measure(results, "loss")->value, 0.5);
  EXPECT_FALSE(find_measure(results, "iou"));
  const auto accuracy = [](double value) { return Measure{.key = "accuracy", .name = "accuracy", .value = value}; };
  const auto loss = [](double value) {
    return Measure{.key = "loss", .name = "loss", .value = value, .lower_is_better = true};
  };
  EXPECT_TRUE(is_better(accuracy(0), {}));
  EXPECT_TRUE(is_better(accuracy(0.5), accuracy(0.4)));
  EXPECT_FALSE(is_better(accuracy(0.4), accuracy(0.4))) << "the first of equals is kept";
  EXPECT_TRUE(is_better(loss(0.3), loss(0.4)));
  EXPECT_FALSE(is_better(loss(0.5), loss(0.4)));
  EXPECT_FALSE(is_better(loss(std::nan("")), {}));
}

TEST(Results, OfLabels) {
  const Evaluation found{.score = {.loss = 1, .samples = 2},
                         .classes = {{.hits = 3, .falses = 1}, {.hits = 1, .misses = 3}},
                         .average_precision = {.mean = {.micro = 0.9, .macro = 0.8}, .classes = {0.6, {}}}};
  const Results results = results_of(found, Target::Labels);
  EXPECT_EQ(text_of(results, false), "loss 0.5000, F1 0.6667, mAP 0.8000");
  EXPECT_EQ(text_of(results, true),
            "loss 0.5000, F1 0.6667 (precision: 0.8000, recall: 0.5714, macro F1: 0.6286, precision: 0.8750, recall: "
            "0.6250), mAP 0.8000 (micro: 0.9000)");
  EXPECT_DOUBLE_EQ(value_of(results, "precision_macro"), 0.875);
  EXPECT_DOUBLE_EQ(value_of(results, "map_micro"), 0.9);
  EXPECT_EQ(results.by_class_key, "ap_by_class");
  EXPECT_EQ(by_class_text(results), "0.6000, -");
  EXPECT_TRUE(results.reached(0.66)) << "F1 is the main one";
  EXPECT_FALSE(results.reached(0.7));
}

TEST(Results, OfMasks) {
  const Evaluation found{
      .score = {.loss = 1, .samples = 2},
      .classes = {{.hits = 80, .falses = 5, .misses = 5}, {.hits = 10, .falses = 5, .misses = 5}, {}}};
  const Results results = results_of(found, Target::Mask);
  EXPECT_DOUBLE_EQ(value_of(results, "iou"), (80.0 / 90 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(value_of(results, "pixel_accuracy"), 0.9);
  EXPECT_EQ(by_class_text(results), "0.8889, 0.5000, -");
}

TEST(Results, OfInputsAreBetterTheLower) {
  const Results results = results_of(Score{.loss = 1, .samples = 4}, Target::Input);
  EXPECT_DOUBLE_EQ(value_of(results, "mse"), 0.25);
  EXPECT_TRUE(results.reached(0.25));
  EXPECT_FALSE(results.reached(0.2));
  EXPECT_FALSE(results_of(Score{}, Target::Input).reached(0.2)) << "nothing has been looked at";
}

}  // namespace
}  // namespace ronde::train
