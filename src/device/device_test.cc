#include "ronde/device/device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/device/memory.h"
#include "ronde/device/memory_use.h"
#include "ronde/device/stream.h"

// What holds with and without CUDA, with and without a GPU.
namespace ronde::device {
namespace {

template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput) << error.what();
    return error.message();
  }
  return "none";
}

TEST(Device, CountListAndReasonAgree) {
  EXPECT_GE(count(), 0);
  EXPECT_EQ(list().size(), static_cast<std::size_t>(count()));
  EXPECT_EQ(why_none().empty(), count() > 0) << why_none();
}

TEST(Device, AskingForAGpuThatIsNotThereSaysWhy) {
  const std::string reason = count() == 0 ? why_none() : "this machine has " + std::to_string(count());
  for (const int missing : {count(), -2}) {
    EXPECT_NE(complaint([&] { Stream stream(missing); }).find(reason), std::string::npos);
    EXPECT_NE(complaint([&] { Stream::borrow(missing, nullptr); }).find(reason), std::string::npos);
    EXPECT_NE(complaint([&] { DeviceBuffer buffer(missing, 16); }).find(reason), std::string::npos);
    EXPECT_NE(complaint([&] { CurrentDevice current(missing); }).find(reason), std::string::npos);
    EXPECT_NE(complaint([&] { bus_id(missing); }).find(reason), std::string::npos);
    EXPECT_NE(complaint([&] { memory_use(missing); }).find(reason), std::string::npos);
  }
}

TEST(Device, TheHostsStreamIsAlwaysDone) {
  const Stream stream;
  EXPECT_TRUE(stream.on_host());
  EXPECT_EQ(stream.device(), kHost);
  EXPECT_EQ(stream.native(), nullptr);
  EXPECT_TRUE(Stream(kHost, Priority::High).on_host());
  EXPECT_TRUE(Stream::borrow(kHost, nullptr).on_host());
  const CurrentDevice nothing(kHost);
  Event event(stream);
  EXPECT_TRUE(event.ready());
  event.record(stream);
  stream.wait(event);
  stream.synchronize();
  event.synchronize();
  EXPECT_TRUE(stream.idle());
  EXPECT_TRUE(event.ready());
}

TEST(Device, HostEventsTellTime) {
  const Stream stream;
  Event from(stream, {.timing = true});
  Event to(stream, {.timing = true});
  from.record(stream);
  EXPECT_EQ(complaint([&] { elapsed(from, to); }),
            "cannot measure the time between two events: one of them was never recorded");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  to.record(stream);
  EXPECT_GE(elapsed(from, to).count(), 0.005);
  EXPECT_LT(elapsed(to, from).count(), 0);
  const Event untimed(stream);
  EXPECT_EQ(complaint([&] { elapsed(from, untimed); }),
            "cannot measure the time between two events: one of them was created without timing");
}

TEST(Device, CopiesOnTheHostAreDoneOnReturn) {
  const std::vector<int> from{1, 2, 3};
  std::vector<int> to(3);
  copy_async(to.data(), from.data(), sizeof(int) * 3, Stream());
  EXPECT_EQ(to, from);
  copy_async(nullptr, nullptr, 0, Stream());
}

TEST(Device, PinnedBuffersAreWholePagesThatCanBeMoved) {
  PinnedBuffer buffer(100);
  EXPECT_EQ(buffer.size(), 100u);
  EXPECT_EQ(buffer.bytes().size(), 100u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0u);
  EXPECT_EQ(buffer.pinned(), count() > 0);
  EXPECT_EQ(memory_kind(buffer.data()), count() > 0 ? MemoryKind::Pinned : MemoryKind::Host);
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{7});

  PinnedBuffer other(5000);
  other = std::move(buffer);
  EXPECT_EQ(other.size(), 100u);
  EXPECT_EQ(other.bytes().back(), std::byte{7});
  EXPECT_EQ(buffer.size(), 0u);  // NOLINT: a moved-from buffer is empty, by contract
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(PinnedBuffer(0).data(), nullptr);
}

TEST(Device, TooMuchHostMemoryIsAnErrorNotACrash) {
  try {
    PinnedBuffer buffer(SIZE_MAX);
    ADD_FAILURE() << "such a machine is not known";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_EQ(error.message(), "cannot allocate 18446744073709551615 bytes of host memory");
  }
}

TEST(Device, OrdinaryMemoryIsHostMemory) {
  const int here = 0;
  EXPECT_EQ(memory_kind(&here), MemoryKind::Host);
  EXPECT_EQ(name(MemoryKind::Managed), "managed");
}

}  // namespace
}  // namespace ronde::device
