#include "ronde/data/array.h"

#include <cstdint>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/sample.h"

namespace ronde::data {
namespace {

TEST(Array, HoldsNumbersOfItsTypeRowByRow) {
  Array array(Type::F32, {2, 3});
  EXPECT_EQ(array.size(), 6u);
  EXPECT_EQ(array.bytes(), 24u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
  array.values<float>()[5] = 2.5F;
  const Array copy = array;
  EXPECT_EQ(copy.values<float>()[5], 2.5F);  // shares the memory
  EXPECT_EQ(to_text(array.type(), array.shape()), "f32[2,3]");
  EXPECT_THROW(array.values<double>(), Error);
}

TEST(Array, ViewKeepsItsOwnerAndCannotBeWritten) {
  auto owner = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{1, 2, 3});
  const std::weak_ptr<std::vector<std::uint8_t>> watch = owner;
  Array view = Array::view(Type::U8, {3}, owner->data(), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(view.text(), std::string_view("\1\2\3"));
  EXPECT_THROW(view.writable(), Error);
  view = {};
  EXPECT_TRUE(watch.expired());
}

TEST(Array, RefusesShapesThatCannotBe) {
  EXPECT_THROW(Array(Type::U8, {-1}), Error);
  EXPECT_THROW(Array(Type::F64, {std::numeric_limits<std::int64_t>::max(), 3}), Error);
  EXPECT_EQ(Array(Type::F64, {std::numeric_limits<std::int64_t>::max(), 0}).size(), 0u);
}

TEST(Array, NumberIsTheOneOfAnyType) {
  EXPECT_EQ(Array::scalar<std::int64_t>(-7).number(), -7);
  EXPECT_EQ(Array::scalar<std::uint8_t>(200).number(), 200);
  EXPECT_EQ(Array::scalar(Bf16{0x3fc0}).number(), 1.5);
  EXPECT_THROW(Array(Type::F32, {2}).number(), Error);
}

TEST(Sample, FindsArraysByNameAndSaysWhatThereIsInstead) {
  Sample sample;
  sample.set("class", Array::scalar<std::int64_t>(3));
  sample.set("image", Array::bytes_of("abcd"));
  sample.set("class", Array::scalar<std::int64_t>(4));
  EXPECT_EQ(sample.at("class").number(), 4);
  EXPECT_EQ(sample.bytes(), 12u);
  EXPECT_EQ(sample.find("labels"), nullptr);
  try {
    sample.at("label");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the sample has no 'label'; it has class, image");
  }
  EXPECT_TRUE(sample.erase("image"));
  EXPECT_FALSE(sample.erase("image"));
}

}  // namespace
}  // namespace ronde::data
