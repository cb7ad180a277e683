#include "ronde/device/cuda/activity_buffers.h"

#include <thread>

#include <gtest/gtest.h>

namespace ronde::device {
namespace {

TEST(ActivityBuffers, AreReadInTheOrderInWhichTheyWereFilled) {
  ActivityBuffers buffers;
  buffers.begin();
  std::uint8_t* const first = buffers.take();
  std::uint8_t* const second = buffers.take();
  buffers.put({second, 8});
  buffers.put({first, 16});
  std::stop_source stop;
  EXPECT_EQ(buffers.next(stop.get_token())->start, second);
  stop.request_stop();  // what was filled before is still given
  EXPECT_EQ(buffers.next(stop.get_token())->bytes, 16U);
  EXPECT_FALSE(buffers.next(stop.get_token()));
  buffers.give_back(first);
  EXPECT_EQ(buffers.take(), first);
  buffers.put({first, 0});
  buffers.give_back(second);
}

TEST(ActivityBuffers, ThereAreOnlySoMany) {
  ActivityBuffers buffers;
  std::vector<std::uint8_t*> all;
  while (std::uint8_t* buffer = buffers.take()) all.push_back(buffer);
  EXPECT_EQ(all.size(), ActivityBuffers::kMost);
  for (std::uint8_t* buffer : all) buffers.put({buffer, 8});  // nobody reads: thrown away
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(buffers.next(stop.get_token()));
  EXPECT_NE(buffers.take(), nullptr);
}

TEST(ActivityBuffers, AReaderIsWokenByABufferAndByTheEnd) {
  ActivityBuffers buffers;
  buffers.begin();
  int read = 0;
  {
    std::jthread reader([&](const std::stop_token& stop) {
      while (const auto filled = buffers.next(stop)) {
        ++read;
        buffers.give_back(filled->start);
      }
    });
    for (int i = 0; i < 200; ++i) {
      std::uint8_t* buffer = buffers.take();
      while (!buffer) buffer = buffers.take();
      buffers.put({buffer, 8});
    }
  }
  EXPECT_EQ(read, 200);
}

}  // namespace
}  // namespace ronde::device
