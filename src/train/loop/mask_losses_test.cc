// Trainings with the losses of classes and masks (train.loss, train.class_weights, train.ignore_index).
#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/train/task.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

struct PixelNet : models::Network {
  PixelNet() : layer(register_module("layer", torch::nn::Conv2d(1, 3, 1))) {}
  torch::Tensor forward(torch::Tensor input) override { return layer->forward(input); }
  torch::nn::Conv2d layer;
};

// Pictures of 4 x 4 pixels whose class is where they lie, below -1/3, above 1/3 or between; the last row is of class
// `last` throughout, whatever it looks like; -1: as all the others.
data::Dataset banded_pictures(std::int64_t samples, std::int64_t last) {
  return data::function(samples, [last](std::int64_t index) {
    data::Random random(5, 0, static_cast<std::uint64_t>(index));
    data::Array picture(data::Type::F32, {1, 4, 4}), mask(data::Type::I64, {4, 4});
    for (std::size_t i = 0; i < 16; ++i) {
      const float value = picture.values<float>()[i] = random.uniform(-1, 1);
      const std::int64_t own = value < -1.0F / 3 ? 0 : value > 1.0F / 3 ? 2 : 1;
      mask.values<std::int64_t>()[i] = i >= 12 && last >= 0 ? last : own;
    }
    data::Sample sample;
    sample.set("input", picture);
    sample.set("target", mask);
    return sample;
  });
}

class MaskLosses : public tests::Trainings {
 protected:
  void use(std::int64_t last) {
    auto registry = std::make_shared<Registry>();
    add_task(*registry, {.name = "bands",
                         .network = [](const models::ModelOptions&) { return std::make_shared<PixelNet>(); },
                         .samples =
                             [last](const Settings&, data::Split split) {
                               return banded_pictures(split == data::Split::Train ? 200 : 40, last);
                             },
                         .arrays = {.classes = 3}});
    registry_ = registry;
    settings_ = Settings();
    for (const auto& [key, text] : std::map<std::string, std::string>{{"data.name", "bands"},
                                                                      {"model.name", "bands"},
                                                                      {"train.batch", "20"},
                                                                      {"train.epochs", "6"},
                                                                      {"optimizer.name", "adam"},
                                                                      {"optimizer.lr", "0.1"},
                                                                      {"comm.deterministic", "true"},
                                                                      {"memory.arena", "false"},
                                                                      {"train.device", "cpu"}})
      set(key, text);
    set("output.dir", (folder_ / "out").string());
  }

  // Trains in a folder of its own; returns the last evaluation.
  Results results(int ranks) {
    std::filesystem::remove_all(folder_ / "out");
    return train(ranks).results;
  }
};

double pixel_accuracy(const Results& results) {
  return find_measure(results, "pixel_accuracy").value().value;
}

// On one rank: ranks that are threads draw their first weights from one generator, in any order, and from some of them
// dice does not find the class in the middle.
TEST_F(MaskLosses, LearnWithEachOfThem) {
  for (const char* loss : {"", "focal", "dice", "dice-entropy"}) {
    use(-1);
    set("train.loss", loss);
    EXPECT_GT(pixel_accuracy(results(1)), 0.8) << loss;
  }
}

TEST_F(MaskLosses, TakeNoNoticeOfIgnoredPixels) {
  for (const std::int64_t number : {1, 255}) {  // one of the classes, or none of them
    use(number);
    set("train.ignore_index", fmt::format("{}", number));
    const Results found = results(1);
    EXPECT_GT(pixel_accuracy(found), 0.8) << number;
    EXPECT_LT(found.loss, 0.6) << number;
  }
  use(0);
  EXPECT_LT(pixel_accuracy(results(1)), 0.8) << "what cannot be known is counted";
}

TEST_F(MaskLosses, GiveClassesTheirWeights) {
  use(-1);
  set("train.class_weights", "1,0,1");  // the middle is never asked for
  const Results found = results(1);
  ASSERT_EQ(found.by_class.size(), 3u);
  EXPECT_LT(found.by_class[1], 0.2) << "IoU";
  EXPECT_GT(found.by_class[0], 0.5);
}

TEST_F(MaskLosses, AreTheSameOnAnyNumberOfRanks) {
  use(2);
  for (const auto& [key, text] : std::map<std::string, std::string>{
           {"train.loss", "dice-entropy"}, {"train.ignore_index", "2"}, {"train.class_weights", "1,2,3"}})
    set(key, text);
  begin_again();
  train(1);
  const TensorMap alone = weights();
  begin_again();
  train(3);
  EXPECT_LT(tests::distance(alone, weights()), 1e-4);
  begin_again();
  set("train.steps", "23");
  train(3);
  const TensorMap begun = weights();
  set("train.steps", "0");
  const Outcome whole = train(3);
  EXPECT_EQ(whole.steps, 60);
  EXPECT_GT(tests::distance(begun, weights()), 0);
}

}  // namespace
}  // namespace ronde::train
