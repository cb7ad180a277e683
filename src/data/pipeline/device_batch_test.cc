#include "ronde/data/pipeline/device_batch.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/dataset.h"
#include "ronde/device/device.h"
#include "ronde/device/memory.h"

namespace ronde::data {
namespace {

Dataset batches(std::int64_t count) {
  const auto sample = [](std::int64_t index) {
    Sample made;
    made.set("x", Array::scalar<std::int64_t>(index));
    return made;
  };
  return function(count, sample) | shuffle(3) | batch(8) | prefetch();
}

TEST(ToDevice, LeavesBatchesOnTheHostWhenAskedTo) {
  std::int64_t count = 0;
  for (const Sample& one : batches(20) | to_device(device::kHost)) {
    EXPECT_LT(one.at("x").device(), 0);
    count += one.at("x").shape()[0];
  }
  EXPECT_EQ(count, 20);
}

TEST(ToDevice, TakesBatchesThatADecoderFills) {
  std::int64_t count = 0;
  for (const Sample& one : known({.samples = 20}) | batch(8) | to_device(device::kHost))
    count += one.at("image").shape()[0];
  EXPECT_EQ(count, 20);
}

TEST(ToDevice, SaysWhyThereIsNoGpu) {
  try {
    (batches(20) | to_device(100)).open();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput) << error.what();
  }
}

TEST(ToDevice, CopiesBatchesToTheGpu) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  Pipeline here = batches(100).open(), there = (batches(100) | to_device(0)).open();
  while (const auto expected = here.next()) {
    const auto copied = there.next();
    ASSERT_TRUE(copied);
    const Array& array = copied->at("x");
    EXPECT_EQ(array.device(), 0);
    EXPECT_THROW(array.text(), Error);
    std::vector<std::int64_t> back(array.size());
    const device::Stream stream(0);
    device::copy_async(back.data(), array.data(), array.bytes(), stream);
    stream.synchronize();
    const auto wanted = expected->at("x").values<std::int64_t>();
    EXPECT_EQ(back, std::vector<std::int64_t>(wanted.begin(), wanted.end()));
  }
  EXPECT_FALSE(there.next());
}

}  // namespace
}  // namespace ronde::data
