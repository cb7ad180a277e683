#include "ronde/comm/watch/status_area.h"

#include <cstring>
#include <new>
#include <thread>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using std::chrono::seconds;

// In zeroed memory, as in a fresh arena.
class StatusAreas : public testing::Test {
 protected:
  alignas(StatusArea) std::byte memory_[sizeof(StatusArea)] = {};
  StatusArea& area_ = *std::launder(reinterpret_cast<StatusArea*>(memory_));
};

TEST_F(StatusAreas, BeginWithNothing) {
  EXPECT_EQ(area_.text(seconds(5)), "no request so far");
}

TEST_F(StatusAreas, TellTheLastRequestAndTheStep) {
  area_.set_request(Operation::Allreduce, "w", seconds(10));
  EXPECT_EQ(area_.text(seconds(13)), "last request allreduce 'w' 3 s ago");
  area_.set_step(0);
  EXPECT_EQ(area_.text(seconds(13)), "step 0, last request allreduce 'w' 3 s ago");
  area_.set_step(17);
  area_.set_request(Operation::Barrier, "", seconds(12));
  EXPECT_EQ(area_.text(seconds(13)), "step 17, last request barrier without a name 1 s ago");
}

TEST_F(StatusAreas, ShowNamesOfAnyLengthAsFarAsTheyFit) {
  for (const std::size_t length : {1, 7, 8, 9, 16, 127, 128, 129, 1000}) {
    const std::string name(length, 'x');
    area_.set_request(Operation::Allreduce, name, seconds(1));
    EXPECT_EQ(area_.text(seconds(2)), "last request allreduce '" + name.substr(0, 128) + "' 1 s ago") << length;
  }
  area_.set_request(Operation::Allreduce, "short", seconds(1));
  EXPECT_EQ(area_.text(seconds(2)), "last request allreduce 'short' 1 s ago") << "nothing of the long one is left";
}

TEST_F(StatusAreas, CanBeReadWhileTheyAreWritten) {
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::int64_t step = 0; !stop.stop_requested(); ++step) {
      area_.set_step(step);
      area_.set_request(Operation::Allreduce, step % 2 == 0 ? "a long name of a layer" : "b", seconds(1));
    }
  });
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(area_.text(seconds(2)).empty());
}

}  // namespace
}  // namespace ronde::comm::detail
