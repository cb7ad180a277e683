#include "ronde/data/training/dataset_source.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/split.h"

namespace ronde::data {
namespace {

Array row(std::initializer_list<float> values) {
  Array array(Type::F32, {std::ssize(values)});
  std::ranges::copy(values, array.values<float>().begin());
  return array;
}

// Sample i is (i, 2i), and the sum of the two is wanted.
Dataset sums(std::int64_t samples = 10) {
  return function(
      samples,
      [](std::int64_t index) {
        const auto i = static_cast<float>(index);
        Sample sample;
        sample.set("x", row({i, 2 * i}));
        sample.set("y", Array::scalar<double>(3 * i));
        return sample;
      },
      "sums");
}

std::string failure(const Dataset& dataset, const DatasetArrays& arrays = {.input = "x", .target = "y"}) {
  try {
    source_of(dataset, arrays, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}

TEST(DatasetSource, GivesNumbersAndWhatIsWanted) {
  const auto source = source_of(sums(), {.input = "x", .target = "y"}, 0);
  EXPECT_EQ(source->size(), 10);
  const SampleKind kind = source->kind();
  EXPECT_EQ(kind.target, Target::Values);
  EXPECT_EQ(kind.shape(), Shape{2});
  EXPECT_EQ(kind.values_shape, Shape{1});
  Pipeline batches = (from_source(*source) | global_batch(4)).open();
  const auto batch = batches.next_batch();
  EXPECT_EQ(std::vector<float>(batch->features().begin(), batch->features().end()),
            (std::vector<float>{0, 0, 1, 2, 2, 4, 3, 6}));
  EXPECT_EQ(std::vector<float>(batch->flags().begin(), batch->flags().end()), (std::vector<float>{0, 3, 6, 9}));
}

TEST(DatasetSource, TheTargetFollowsFromItsArray) {
  const auto target_of = [](const Array& input, const std::optional<Array>& target) {
    const auto one = [=](std::int64_t) {
      Sample sample;
      sample.set("input", input);
      if (target) sample.set("target", *target);
      return sample;
    };
    return source_of(function(3, one), {.classes = 4}, 0)->kind().target;
  };
  const Array picture(Type::F32, {3, 4, 5});
  EXPECT_EQ(target_of(picture, {}), Target::Input);
  EXPECT_EQ(target_of(picture, Array::scalar<std::int64_t>(2)), Target::Class);
  EXPECT_EQ(target_of(picture, Array(Type::I64, {4, 5})), Target::Mask);
  EXPECT_EQ(target_of(picture, Array(Type::F32, {4, 5})), Target::Values);
  EXPECT_EQ(target_of(picture, Array(Type::U8, {7})), Target::Values);
}

TEST(DatasetSource, MapsEachSampleWithNumbersOfItsOwn) {
  const auto noisy =
      sums() | map([](Sample sample, const Draw& draw) {
        Random random(draw.seed, static_cast<std::uint64_t>(draw.epoch), static_cast<std::uint64_t>(draw.index));
        sample.set("x", row({random.uniform(), 0}));
        return sample;
      });
  const auto firsts = [&](std::uint64_t seed, std::int64_t epoch) {
    const auto source = source_of(noisy, {.input = "x", .target = "y"}, seed);
    std::vector<float> found, x(2), y(1);
    for (std::int64_t i = 0; i < 3; ++i) {
      source->read(i, epoch, {.features = x, .flags = y});
      found.push_back(x[0]);
    }
    return found;
  };
  EXPECT_EQ(firsts(1, 0), firsts(1, 0));
  EXPECT_NE(firsts(1, 0), firsts(1, 1));
  EXPECT_NE(firsts(1, 0), firsts(2, 0));
}

TEST(DatasetSource, SaysWhatATrainingCannotTake) {
  EXPECT_EQ(
      failure(sums() | batch(4)),
      "the dataset 'sums' has a step 'batch', but a training takes only map(), and a decoder as the last step: it "
      "orders, divides and batches samples itself");
  EXPECT_NE(failure(generator([](std::int64_t) { return [] { return std::optional<Sample>(); }; })).find("by index"),
            std::string::npos);
  EXPECT_EQ(failure(sums(0)), "the dataset 'sums' has no samples");
  EXPECT_NE(failure(sums(), {.input = "z"}).find("the first sample of the dataset 'sums': "), std::string::npos);
  const auto classes = function(1, [](std::int64_t) {
    Sample sample;
    sample.set("x", row({1}));
    sample.set("y", Array::scalar<std::int64_t>(0));
    return sample;
  });
  EXPECT_NE(failure(classes).find("say how many classes there are"), std::string::npos);
}

TEST(DatasetSource, ASampleOfAnotherShapeIsRefused) {
  const auto ragged = function(2, [](std::int64_t index) {
    Sample sample;
    sample.set("input", index == 0 ? row({1, 2}) : row({1, 2, 3}));
    return sample;
  });
  const auto source = source_of(ragged, {}, 0);
  std::vector<float> x(2);
  try {
    source->read(1, 0, {.features = x});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "function, sample 1: its 'input' is f32[3], but that of the first sample is f32[2]");
  }
}

TEST(DatasetSource, IsDividedByShares) {
  const auto open = [](Split split) {
    return source_of(sums(split == Split::Train ? 10 : 4), {.input = "x", .target = "y"}, 0);
  };
  const Parts plain = divided(open, "", 0);
  EXPECT_EQ(plain.train->size(), 10);
  EXPECT_EQ(plain.validation, nullptr);
  EXPECT_EQ(plain.test->size(), 4);
  const Parts parts = divided(open, "60/20/20", 1);
  EXPECT_EQ(parts.train->size(), 6);
  EXPECT_EQ(parts.validation->size(), 2);
  EXPECT_EQ(parts.test->size(), 2);
  EXPECT_EQ(first_of(open(Split::Train), 3)->size(), 3);
}

TEST(Augmented, AppliesToEverySampleTheSameForAnyReader) {
  const Augment shift = [](const SampleSpace& sample, const SampleKind&, Random& random) {
    for (float& value : sample.features) value += 100 + random.uniform();
  };
  const auto source = augmented(source_of(sums(), {.input = "x", .target = "y"}, 7), {shift, shift}, 7);
  Pipeline batches = (from_source(*source) | global_batch(10)).open({.threads = 3});
  const auto batch = batches.next_batch();
  std::vector<float> x(2), y(1);
  source->read(4, 0, {.features = x, .flags = y});
  EXPECT_EQ(x[0], batch->features()[8]);
  EXPECT_GT(x[0], 204);
  EXPECT_LT(x[0], 206);
  source->read(4, 1, {.features = x, .flags = y});
  EXPECT_NE(x[0], batch->features()[8]) << "another epoch";
}

}  // namespace
}  // namespace ronde::data
