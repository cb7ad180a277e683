#include "ronde/comm/math/reduce_into_all.h"

#include <array>

#include <gtest/gtest.h>

#include "ronde/comm/link/shm/mapping.h"
#include "ronde/comm/math/reduce.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::math {
namespace {

// Every memory holds what reduce() makes of all of them. `skew` elements of guard stand before each, and one behind.
void expect_everywhere(const Reduction& reduction, std::size_t members, std::size_t count, std::size_t skew) {
  const std::size_t size = size_of(reduction.dtype);
  std::mt19937_64 random(members * 1000 + count);
  std::vector<std::vector<std::byte>> memories;
  for (std::size_t m = 0; m < members; ++m)
    memories.push_back(random_elements(reduction.dtype, skew + count + 1, random));
  const auto before = memories;
  std::vector<std::byte*> starts;
  std::vector<const std::byte*> inputs;
  for (std::size_t m = 0; m < members; ++m) {
    starts.push_back(memories[m].data() + skew * size);
    inputs.push_back(before[m].data() + skew * size);
  }
  std::vector<std::byte> expected(count * size);
  reduce(reduction.dtype, reduction.op, expected.data(), inputs, count, reduction.scale);
  reduce_into_all(reduction, starts, count * size);
  for (std::size_t m = 0; m < members; ++m) {
    EXPECT_EQ(first_difference(reduction.dtype, starts[m], expected.data(), count), -1)
        << count << " elements, " << members << " members, in " << m;
    EXPECT_EQ(std::memcmp(memories[m].data(), before[m].data(), skew * size), 0);
    EXPECT_EQ(std::memcmp(starts[m] + count * size, before[m].data() + (skew + count) * size, size), 0);
  }
}

TEST(ReduceIntoAll, GivesTheBitsOfReduceInEveryMemory) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::I64, DType::U8})
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Average, ReduceOp::Max})
      for (const std::size_t members : {1, 2, 3, 5})
        for (const std::size_t count : {0, 1, 7, 8, 15, 1000, 5003})
          expect_everywhere({.dtype = dtype, .op = op, .scale = 1.0}, members, count, count % 3);
}

TEST(ReduceIntoAll, Scales) {
  expect_everywhere({.dtype = DType::F32, .op = ReduceOp::Average, .scale = 1.0 / 3}, 2, 4099, 1);
  expect_everywhere({.dtype = DType::F16, .op = ReduceOp::Average, .scale = 0.7}, 2, 4099, 1);
}

TEST(ReduceIntoAll, MemoriesMayShareTheTagsOfACache) {
  constexpr std::size_t kApart = 1 << 28, kCount = 5000;
  const detail::Mapping mapping = detail::Mapping::of_file(detail::Mapping::make_file(2 * kApart).get(), 2 * kApart);
  const std::array<std::byte*, 2> memories = {mapping.data(), mapping.data() + kApart};
  auto* a = reinterpret_cast<float*>(memories[0]);
  auto* b = reinterpret_cast<float*>(memories[1]);
  for (std::size_t i = 0; i < kCount; ++i) b[i] = 2 * (a[i] = static_cast<float>(i));
  reduce_into_all({}, memories, kCount * sizeof(float));
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(a[i], 3 * static_cast<float>(i));
    ASSERT_EQ(b[i], a[i]);
  }
}

}  // namespace
}  // namespace ronde::comm::math
