#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/device/device.h"
#include "ronde/device/memory.h"
#include "ronde/device/memory_use.h"
#include "ronde/device/stream.h"

// What only a GPU can show. Skipped, with the reason, where there is none.
namespace ronde::device {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (count() == 0) GTEST_SKIP() << why_none();
  }
};

constexpr std::size_t kBytes = std::size_t{32} << 20;

void fill(const PinnedBuffer& buffer, unsigned char start) {
  std::iota(reinterpret_cast<unsigned char*>(buffer.data()),
            reinterpret_cast<unsigned char*>(buffer.data()) + buffer.size(), start);
}

bool same(const PinnedBuffer& a, const PinnedBuffer& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

TEST_F(Gpu, TellsWhatItIs) {
  const Info gpu = list().front();
  EXPECT_FALSE(gpu.name.empty());
  EXPECT_GE(gpu.major, 5);
  EXPECT_GT(gpu.total_bytes, std::size_t{1} << 30);
  EXPECT_GT(gpu.free_bytes, 0u);
  EXPECT_LE(gpu.free_bytes, gpu.total_bytes);
  EXPECT_GT(gpu.multiprocessors, 0);
  EXPECT_EQ(gpu.bus_id.size(), std::strlen("0000:1b:00.0")) << gpu.bus_id;
  EXPECT_EQ(gpu.bus_id.find_first_of("ABCDEF"), std::string::npos) << gpu.bus_id;
  EXPECT_EQ(bus_id(0), gpu.bus_id);
  const MemoryUse memory = memory_use(0);
  EXPECT_EQ(memory.total_bytes, gpu.total_bytes);
  EXPECT_GT(memory.free_bytes, 0u);
  EXPECT_FALSE(driver_version().empty());
}

TEST_F(Gpu, BytesComeBackFromAnotherStreamThatWaitedForThem) {
  const Stream up(0);
  const Stream down(0, Priority::High);
  const PinnedBuffer from(kBytes);
  const PinnedBuffer to(kBytes);
  const DeviceBuffer first(0, kBytes);
  const DeviceBuffer second(0, kBytes);
  fill(from, 3);
  std::memset(to.data(), 0, kBytes);
  Event arrived(up);
  copy_async(first.data(), from.data(), kBytes, up);
  copy_async(second.data(), first.data(), kBytes, up);
  arrived.record(up);
  down.wait(arrived);
  copy_async(to.data(), second.data(), kBytes, down);
  down.synchronize();
  EXPECT_TRUE(same(from, to));
  EXPECT_TRUE(arrived.ready());
  EXPECT_TRUE(up.idle());
}

TEST_F(Gpu, OrdinaryMemoryIsCopiedToo) {
  const Stream stream(0);
  std::vector<int> from(1000);
  std::vector<int> to(1000);
  std::iota(from.begin(), from.end(), 0);
  const DeviceBuffer there(0, 1000 * sizeof(int));
  copy_async(there.data(), from.data(), there.size(), stream);
  copy_async(to.data(), there.data(), there.size(), stream);
  stream.synchronize();
  EXPECT_EQ(to, from);
}

TEST_F(Gpu, CopiesFromPinnedMemoryDoNotMakeTheCallerWait) {
  const Stream stream(0);
  const PinnedBuffer from(kBytes * 8);
  const DeviceBuffer there(0, kBytes * 8);
  Event start(stream, {.timing = true});
  Event end(stream, {.timing = true});
  copy_async(there.data(), from.data(), there.size(), stream);  // the first one of a process sets things up
  stream.synchronize();
  const auto before = std::chrono::steady_clock::now();
  start.record(stream);
  for (int i = 0; i < 8; ++i) copy_async(there.data(), from.data(), there.size(), stream);
  end.record(stream);
  const std::chrono::duration<double> called = std::chrono::steady_clock::now() - before;
  end.synchronize();
  EXPECT_GT(elapsed(start, end).count(), 0.001);
  EXPECT_LT(called.count(), elapsed(start, end).count() / 2);
  EXPECT_TRUE(end.ready());
}

TEST_F(Gpu, EventsCanBeRecordedAgain) {
  const Stream stream(0);
  Event event(stream, {.timing = false, .sleep = false});
  EXPECT_TRUE(event.ready()) << "nothing was marked yet";
  for (int i = 0; i < 3; ++i) {
    event.record(stream);
    event.synchronize();
    EXPECT_TRUE(event.ready());
  }
}

TEST_F(Gpu, MemoryKnowsItsKind) {
  const PinnedBuffer pinned(100);
  const DeviceBuffer there(0, 100);
  std::vector<std::byte> shared(1 << 16);
  EXPECT_EQ(memory_kind(pinned.data()), MemoryKind::Pinned);
  EXPECT_EQ(memory_kind(there.data()), MemoryKind::Device);
  EXPECT_EQ(memory_kind(shared.data()), MemoryKind::Host);
  {
    const Pin pin(shared);
    EXPECT_TRUE(pin);
    EXPECT_EQ(memory_kind(shared.data()), MemoryKind::Pinned);
  }
  EXPECT_EQ(memory_kind(shared.data()), MemoryKind::Host);
}

TEST_F(Gpu, ABorrowedStreamIsNotDestroyed) {
  const Stream owner(0);
  {
    const Stream borrowed = Stream::borrow(0, owner.native());
    EXPECT_EQ(borrowed.native(), owner.native());
    borrowed.synchronize();
  }
  EXPECT_TRUE(owner.idle());
  const Stream by_default = Stream::borrow(0, nullptr);
  EXPECT_FALSE(by_default.on_host());
  by_default.synchronize();
}

TEST_F(Gpu, StreamsAndBuffersMove) {
  Stream stream(0);
  CUstream_st* const native = stream.native();
  const Stream moved = std::move(stream);
  EXPECT_EQ(moved.native(), native);
  moved.synchronize();
  EXPECT_TRUE(stream.on_host());  // NOLINT: a moved-from stream is the host's, by contract
  EXPECT_TRUE(stream.idle());
  DeviceBuffer buffer(0, 64);
  std::byte* const memory = buffer.data();
  DeviceBuffer other(0, 128);
  other = std::move(buffer);
  EXPECT_EQ(other.data(), memory);
  EXPECT_EQ(other.size(), 64u);
}

TEST_F(Gpu, ErrorsCarryCudasName) {
  try {
    DeviceBuffer buffer(0, std::size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_TRUE(error.message().starts_with("taking 1125899906842624 bytes on GPU 0: out of memory"))
        << error.message();
    EXPECT_NE(error.message().find("cudaErrorMemoryAllocation"), std::string::npos) << error.message();
  }
  Stream(0).synchronize();  // and nothing is left broken
}

TEST_F(Gpu, EventsStayWithTheirDevice) {
  Event event{Stream(0)};
  EXPECT_THROW(event.record(Stream()), Error);
}

}  // namespace
}  // namespace ronde::device
