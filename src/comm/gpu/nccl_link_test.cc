#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/gpu/device_link.h"
#include "ronde/comm/math/half.h"
#include "ronde/device/memory.h"

// What one GPU can show: a communicator of one rank, and one that waits for a second in vain.
namespace ronde::comm::detail {
namespace {

using Memory = std::vector<std::byte>;

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!why_no_nccl().empty()) GTEST_SKIP() << why_no_nccl();
  }
};

std::unique_ptr<DeviceLink> begin_link(int size, std::chrono::nanoseconds deadline) {
  NcclOptions options{.id = make_nccl_id(),
                      .rank = 0,
                      .size = size,
                      .place = gpu_place(0, 0, "here"),
                      .places = {},
                      .deadline = deadline};
  options.places.push_back(options.place);
  for (int rank = 1; rank < size; ++rank)
    options.places.push_back({.host = "elsewhere", .device = 0, .bus_id = "0000:ff:00.0", .rank = rank});
  return make_nccl_link(std::move(options));
}

std::unique_ptr<DeviceLink> link_of_one() {
  auto link = begin_link(1, std::chrono::minutes(1));
  while (!link->ready()) std::this_thread::yield();
  return link;
}

// Values that every type has.
template <class Value, class Make>
Memory filled(std::size_t count, Make make) {
  Memory memory(count * sizeof(Value));
  for (std::size_t i = 0; i < count; ++i) {
    const Value value = make(static_cast<int>(i % 100));
    std::memcpy(memory.data() + i * sizeof(Value), &value, sizeof(Value));
  }
  return memory;
}

Memory values(DType dtype, std::size_t count) {
  const auto as_float = [](int value) { return static_cast<float>(value); };
  switch (dtype) {
    case DType::F16: return filled<std::uint16_t>(count, [&](int value) { return math::narrow_f16(as_float(value)); });
    case DType::BF16:
      return filled<std::uint16_t>(count, [&](int value) { return math::narrow_bf16(as_float(value)); });
    case DType::F32: return filled<float>(count, as_float);
    case DType::F64: return filled<double>(count, [](int value) { return static_cast<double>(value); });
    case DType::I32: return filled<std::int32_t>(count, [](int value) { return value - 50; });
    case DType::I64: return filled<std::int64_t>(count, [](int value) { return std::int64_t{value} << 40; });
    default: return filled<std::uint8_t>(count, [](int value) { return static_cast<std::uint8_t>(value); });
  }
}

device::DeviceBuffer upload(const Memory& memory, const device::Stream& stream) {
  device::DeviceBuffer there(0, memory.size());
  device::copy_async(there.data(), memory.data(), memory.size(), stream);
  stream.synchronize();
  return there;
}

// Not filled with what is expected by chance, or by the test before.
device::DeviceBuffer empty(std::size_t bytes, const device::Stream& stream) {
  return upload(Memory(bytes, std::byte{0x55}), stream);
}

Memory download(const device::DeviceBuffer& there, const device::Stream& stream) {
  Memory memory(there.size());
  device::copy_async(memory.data(), there.data(), memory.size(), stream);
  stream.synchronize();
  return memory;
}

Bytes bytes_of(const device::DeviceBuffer& buffer) {
  return {buffer.data(), buffer.size()};
}

TEST_F(Nccl, HasAVersionAndAName) {
  EXPECT_EQ(nccl_version().find("2."), 0u) << nccl_version();
  EXPECT_EQ(make_nccl_id().size(), 128u);
}

TEST_F(Nccl, ReducesEveryTypeInEveryWay) {
  const auto link = link_of_one();
  const device::Stream stream(0, device::Priority::High);
  constexpr std::size_t kCount = 1000;
  for (int type = 0; type < kDTypes; ++type) {
    for (int way = 0; way <= static_cast<int>(ReduceOp::Adasum); ++way) {
      const auto dtype = static_cast<DType>(type);
      const auto op = static_cast<ReduceOp>(way);
      if (!nccl_can(dtype, op)) continue;
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::string(name(op)));
      const Memory given = values(dtype, kCount);
      const auto in = upload(given, stream), all = empty(given.size(), stream), one = empty(given.size(), stream),
                 part = empty(given.size(), stream);
      // Two pieces, the second in place.
      const auto second = upload(given, stream);
      const std::vector<DeviceLink::Piece> pieces{{in.data(), all.data(), kCount},
                                                  {second.data(), second.data(), kCount}};
      link->allreduce(pieces, dtype, op, stream);
      link->reduce(bytes_of(in), bytes_of(one), 0, dtype, op, stream);
      link->reduce_scatter({bytes_of(in)}, bytes_of(part), dtype, op, stream);
      EXPECT_EQ(download(all, stream), given);
      EXPECT_EQ(download(second, stream), given);
      EXPECT_EQ(download(one, stream), given);
      EXPECT_EQ(download(part, stream), given);
    }
  }
  link->check();
}

TEST_F(Nccl, MovesBytes) {
  const auto link = link_of_one();
  const device::Stream stream(0, device::Priority::High);
  const Memory given = values(DType::U8, 100'003);
  const auto in = upload(given, stream), gathered = empty(given.size(), stream), turned = empty(given.size(), stream);
  link->broadcast(in.data(), in.size(), 0, stream);
  link->allgather(bytes_of(in), {bytes_of(gathered)}, stream);
  link->alltoall({bytes_of(in)}, {bytes_of(turned)}, stream);
  EXPECT_EQ(download(in, stream), given);
  EXPECT_EQ(download(gathered, stream), given);
  EXPECT_EQ(download(turned, stream), given);
  link->check();
}

TEST_F(Nccl, NothingIsMovedToo) {
  const auto link = link_of_one();
  const device::Stream stream(0);
  link->allreduce({}, DType::F32, ReduceOp::Sum, stream);
  link->alltoall({ConstBytes()}, {Bytes()}, stream);
  stream.synchronize();
}

TEST_F(Nccl, RegisteredMemoryIsMemory) {
  const device::Stream stream(0);
  const Memory given = values(DType::F32, 1 << 20);
  const auto out = empty(given.size(), stream);
  const auto link = link_of_one();
  std::byte* const known = link->make_registered(given.size());
  device::copy_async(known, given.data(), given.size(), stream);
  const DeviceLink::Piece piece{known, known, 1 << 20};
  link->allreduce({&piece, 1}, DType::F32, ReduceOp::Average, stream);
  device::copy_async(out.data(), known, given.size(), stream);
  EXPECT_EQ(download(out, stream), given);
}

// A stream's work as a graph, and that graph run.
class Captured {
 public:
  template <class Work>
  Captured(const device::Stream& stream, Work work) {
    EXPECT_EQ(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    work();
    EXPECT_EQ(cudaStreamEndCapture(stream.native(), &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&runnable_, graph_, 0), cudaSuccess);
  }
  ~Captured() {
    EXPECT_EQ(cudaGraphExecDestroy(runnable_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  void run(const device::Stream& stream) const { EXPECT_EQ(cudaGraphLaunch(runnable_, stream.native()), cudaSuccess); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

TEST_F(Nccl, WorksInsideAGraph) {
  const auto link = link_of_one();
  const device::Stream stream(0, device::Priority::High);
  const Memory first = values(DType::F32, 5000), second = values(DType::F32, 10'000);
  const auto in = upload(first, stream), summed = empty(in.size(), stream), gathered = empty(in.size(), stream),
             turned = empty(in.size(), stream);
  const DeviceLink::Piece piece{in.data(), summed.data(), 5000};
  const auto work = [&] {
    link->allreduce({&piece, 1}, DType::F32, ReduceOp::Average, stream);
    link->allgather(bytes_of(summed), {bytes_of(gathered)}, stream);
    link->alltoall({bytes_of(gathered)}, {bytes_of(turned)}, stream);
    link->broadcast(turned.data(), turned.size(), 0, stream);
  };
  work();  // once by itself, as whoever captures does: connections are made then
  stream.synchronize();
  {
    const Captured graph(stream, work);
    for (const int run : {1, 2}) {
      // Other values than those that were there when it was captured.
      const Memory given(second.begin() + run * 40, second.begin() + run * 40 + static_cast<int>(first.size()));
      device::copy_async(in.data(), given.data(), given.size(), stream);
      graph.run(stream);
      EXPECT_EQ(download(turned, stream), given);
    }
  }
  link->check();
}

TEST_F(Nccl, ErrorsSayWhereAndCarryItsWords) {
  const auto link = link_of_one();
  const device::Stream stream(0);
  const auto memory = empty(4096, stream);
  try {
    link->broadcast(memory.data(), memory.size(), 5, stream);
    FAIL() << "there is no root 5";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    const std::string where =
        "NCCL broadcast of 4 KiB on rank 0 (host here, GPU 0 " + device::bus_id(0) + "): invalid argument";
    EXPECT_EQ(error.message().find(where), 0u) << error.message();
    EXPECT_NE(error.message().find("; its last error: "), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("root"), std::string::npos) << error.message();
  }
  EXPECT_THROW(link->broadcast(memory.data(), memory.size(), 0, stream), Error);
}

TEST_F(Nccl, AfterAnAbortNothingHangs) {
  const auto link = link_of_one();
  const device::Stream stream(0);
  const auto memory = empty(4096, stream);
  link->broadcast(memory.data(), memory.size(), 0, stream);
  link->abort();
  link->abort();
  stream.synchronize();
  try {
    link->check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("was aborted before"), std::string::npos) << error.message();
  }
}

TEST_F(Nccl, WhoeverDoesNotComeIsNotWaitedForForEver) {
  const auto link = begin_link(2, std::chrono::seconds(1));
  try {
    while (!link->ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    FAIL() << "rank 1 does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Timeout) << error.message();
    EXPECT_NE(error.message().find("rank 1 (host elsewhere, GPU 0 0000:ff:00.0)"), std::string::npos)
        << error.message();
  }
}

TEST_F(Nccl, TwoRanksOnOneGpuAreRefusedBeforeItIsAsked) {
  NcclOptions options{.id = make_nccl_id(), .rank = 0, .size = 2, .place = gpu_place(0, 0, "here"), .places = {}};
  options.places = {options.place, gpu_place(0, 1, "here")};
  try {
    make_nccl_link(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("ranks 0 and 1 on here share GPU 0"), 0u) << error.message();
  }
}

}  // namespace
}  // namespace ronde::comm::detail
