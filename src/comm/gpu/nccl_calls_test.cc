#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nccl.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/gpu/device_link.h"

// What the link asks of NCCL, without NCCL and without a GPU: this program brings functions of the same names, which
// write down what they were asked and answer as the test likes. So here is what one GPU cannot show.
namespace {

struct Script {
  std::vector<std::string> asked;
  ncclResult_t call = ncclSuccess;                   // what every collective answers
  ncclResult_t group = ncclSuccess;                  // what ncclGroupEnd answers
  std::vector<ncclResult_t> states = {ncclSuccess};  // what the communicator is at; the last one stays
  std::string last_words;

  ncclResult_t note(std::string what) {
    asked.push_back(std::move(what));
    return call;
  }
  ncclResult_t state() {
    const ncclResult_t result = states.front();
    if (states.size() > 1) states.erase(states.begin());
    return result;
  }
};

Script& script() {
  static Script only;
  return only;
}

unsigned long long address(const void* pointer) {
  return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace

struct ncclComm {};

extern "C" {
ncclResult_t ncclGetVersion(int* version) {
  *version = 22803;
  return ncclSuccess;
}
const char* ncclGetLastError(ncclComm_t) {
  return script().last_words.c_str();
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote error" : "another error";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId, int rank, ncclConfig_t* config) {
  *comm = new ncclComm;
  (void)script().note(fmt::format("init {} of {} blocking {}", rank, size, config->blocking));
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = script().state();
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  (void)script().note("finalize");
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return script().note("destroy");
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return script().note("abort");
}
ncclResult_t ncclGroupStart() {
  (void)script().note("(");
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  (void)script().note(")");
  return script().group;
}
ncclResult_t ncclAllReduce(const void* in, void* out, std::size_t count, ncclDataType_t, ncclRedOp_t op, ncclComm_t,
                           cudaStream_t) {
  return script().note(
      fmt::format("allreduce {}>{} x{} op {}", address(in), address(out), count, static_cast<int>(op)));
}
ncclResult_t ncclReduce(const void* in, void* out, std::size_t count, ncclDataType_t, ncclRedOp_t, int root, ncclComm_t,
                        cudaStream_t) {
  return script().note(fmt::format("reduce {}>{} x{} to {}", address(in), address(out), count, root));
}
ncclResult_t ncclReduceScatter(const void* in, void* out, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t) {
  return script().note(fmt::format("reducescatter {}>{} x{}", address(in), address(out), count));
}
ncclResult_t ncclBroadcast(const void* in, void* out, std::size_t count, ncclDataType_t, int root, ncclComm_t,
                           cudaStream_t) {
  return script().note(fmt::format("broadcast {}>{} x{} from {}", address(in), address(out), count, root));
}
ncclResult_t ncclAllGather(const void* in, void* out, std::size_t count, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return script().note(fmt::format("allgather {}>{} x{}", address(in), address(out), count));
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  return script().note(fmt::format("send {} x{} to {}", address(from), count, peer));
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  return script().note(fmt::format("recv {} x{} from {}", address(to), count, peer));
}
ncclResult_t ncclMemAlloc(void** memory, std::size_t bytes) {
  *memory = reinterpret_cast<void*>(std::uintptr_t{64});
  return script().note(fmt::format("alloc x{}", bytes));
}
ncclResult_t ncclMemFree(void* memory) {
  return script().note(fmt::format("free {}", address(memory)));
}
ncclResult_t ncclCommRegister(ncclComm_t, void* memory, std::size_t bytes, void** handle) {
  *handle = memory;
  return script().note(fmt::format("register {} x{}", address(memory), bytes));
}
ncclResult_t ncclCommDeregister(ncclComm_t, void* handle) {
  return script().note(fmt::format("deregister {}", address(handle)));
}
}

namespace ronde::comm::detail {
namespace {

using Asked = std::vector<std::string>;

// Never looked at: addresses only.
template <class Byte = std::byte>
std::span<Byte> memory(std::uintptr_t at, std::size_t bytes) {
  return {reinterpret_cast<Byte*>(at), bytes};
}

// Member 1 of 2.
class NcclCalls : public testing::Test {
 protected:
  NcclCalls() { script() = Script(); }

  std::unique_ptr<DeviceLink> begin(std::chrono::nanoseconds deadline = std::chrono::minutes(1)) {
    const GpuPlace here{.host = "b2", .device = device::kHost, .bus_id = "0000:1b:00.0", .rank = 7};
    return make_nccl_link({.id = make_nccl_id(),
                           .rank = 1,
                           .size = 2,
                           .place = here,
                           .places = {{.host = "b1", .device = 0, .bus_id = "0000:1b:00.0", .rank = 4},
                                      {.host = "b2", .device = 0, .bus_id = "0000:1b:00.0", .rank = 7}},
                           .deadline = deadline});
  }
  std::unique_ptr<DeviceLink> connected(std::chrono::nanoseconds deadline = std::chrono::minutes(1)) {
    auto link = begin(deadline);
    EXPECT_TRUE(link->ready());
    script().asked.clear();
    return link;
  }
  template <class Action>
  static Error failure(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    return {Error::Kind::Bug, "it did not fail"};
  }

  const device::Stream stream_;
};

TEST_F(NcclCalls, ALifeWithoutTrouble) {
  script().states = {ncclInProgress, ncclInProgress, ncclSuccess};
  {
    const auto link = begin();
    EXPECT_FALSE(link->ready());
    EXPECT_FALSE(link->ready());
    EXPECT_TRUE(link->ready());
    EXPECT_EQ(link->make_registered(8), memory(64, 8).data());
    script().states = {ncclInProgress, ncclSuccess};
  }
  EXPECT_EQ(script().asked, (Asked{"init 1 of 2 blocking 0", "alloc x8", "register 64 x8", "deregister 64", "finalize",
                                   "destroy", "free 64"}));
}

TEST_F(NcclCalls, PiecesAreOneGroup) {
  const auto link = connected();
  const std::vector<DeviceLink::Piece> pieces{{memory(8, 0).data(), memory(16, 0).data(), 2},
                                              {memory(32, 0).data(), memory(32, 0).data(), 5}};
  link->allreduce(pieces, DType::BF16, ReduceOp::Average, stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "allreduce 8>16 x2 op 4", "allreduce 32>32 x5 op 4", ")"}));
}

TEST_F(NcclCalls, EqualPiecesInOnePieceOfMemoryAreOneCall) {
  const auto link = connected();
  link->allgather(memory<const std::byte>(900, 8), {memory(64, 8), memory(72, 8)}, stream_);
  link->reduce_scatter({memory<const std::byte>(64, 8), memory<const std::byte>(72, 8)}, memory(900, 8), DType::F32,
                       ReduceOp::Sum, stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "allgather 900>64 x8", ")", "(", "reducescatter 64>900 x2", ")"}));
}

TEST_F(NcclCalls, OtherPiecesAreACallEach) {
  const auto link = connected();
  link->allgather(memory<const std::byte>(900, 4), {memory(64, 8), memory(72, 4)}, stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "broadcast 64>64 x8 from 0", "broadcast 900>72 x4 from 1", ")"}));
  script().asked.clear();
  link->allgather(memory<const std::byte>(900, 8), {memory(64, 8), memory(80, 8)}, stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "broadcast 64>64 x8 from 0", "broadcast 900>80 x8 from 1", ")"}));
  script().asked.clear();
  link->reduce_scatter({memory<const std::byte>(64, 8), memory<const std::byte>(72, 4)}, memory(900, 4), DType::F32,
                       ReduceOp::Sum, stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "reduce 64>0 x2 to 0", "reduce 72>900 x1 to 1", ")"}));
}

TEST_F(NcclCalls, WhatIsEmptyIsNotSent) {
  const auto link = connected();
  link->alltoall({memory<const std::byte>(64, 8), memory<const std::byte>(72, 0)}, {memory(200, 0), memory(200, 0)},
                 stream_);
  EXPECT_EQ(script().asked, (Asked{"(", "send 64 x8 to 0", ")"}));
  script().asked.clear();
  link->alltoall({memory<const std::byte>(64, 8), memory<const std::byte>(72, 3)}, {memory(200, 5), memory(205, 3)},
                 stream_);
  EXPECT_EQ(script().asked,
            (Asked{"(", "send 64 x8 to 0", "recv 200 x5 from 0", "send 72 x3 to 1", "recv 205 x3 from 1", ")"}));
}

TEST_F(NcclCalls, ACallIsThroughWhenTheCommunicatorSaysSo) {
  const auto link = connected();
  script().group = ncclInProgress;
  script().states = {ncclInProgress, ncclInProgress, ncclSuccess};
  link->broadcast(memory(64, 8).data(), 8, 0, stream_);
  EXPECT_EQ(script().states.size(), 1u);
  EXPECT_EQ(script().asked, (Asked{"(", "broadcast 64>64 x8 from 0", ")"}));
}

TEST_F(NcclCalls, AFailureClosesTheGroupSaysWhereAndAborts) {
  {
    const auto link = connected();
    script().call = ncclRemoteError;
    script().last_words = "b1 hung up";
    const Error error = failure([&] { link->broadcast(memory(64, 0).data(), 4 << 20, 0, stream_); });
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_EQ(
        error.message(),
        "NCCL broadcast of 4 MiB on rank 7 (host b2, GPU -1 0000:1b:00.0): remote error; its last error: b1 hung up");
    EXPECT_EQ(failure([&] { link->check(); }).message(),
              "NCCL communicator on rank 7 (host b2, GPU -1 0000:1b:00.0): the communicator was aborted before");
  }
  EXPECT_EQ(script().asked, (Asked{"(", "broadcast 64>64 x4194304 from 0", ")", "abort"}));
}

TEST_F(NcclCalls, ErrorsThatCameLaterAreFoundByChecking) {
  const auto link = connected();
  link->check();
  script().states = {ncclRemoteError};
  EXPECT_EQ(failure([&] { link->check(); }).message(),
            "NCCL communicator on rank 7 (host b2, GPU -1 0000:1b:00.0): remote error");
}

TEST_F(NcclCalls, ASetUpThatIsLateIsGivenUp) {
  script().states = {ncclInProgress};
  {
    const auto link = begin(std::chrono::milliseconds(20));
    const Error error = failure([&] {
      while (!link->ready()) continue;
    });
    EXPECT_EQ(error.kind(), Error::Kind::Timeout);
    EXPECT_EQ(error.message(),
              "NCCL set-up on rank 7 (host b2, GPU -1 0000:1b:00.0): not complete after 20 ms, given up; it needs all "
              "of rank 4 (host b1, GPU 0 0000:1b:00.0), rank 7 (host b2, GPU 0 0000:1b:00.0)");
  }
  EXPECT_EQ(script().asked.back(), "abort");
}

TEST_F(NcclCalls, ACallThatIsLateIsGivenUp) {
  {
    const auto link = connected(std::chrono::milliseconds(20));
    script().group = ncclInProgress;
    script().states = {ncclInProgress};
    const Error error = failure([&] { link->broadcast(memory(64, 8).data(), 8, 0, stream_); });
    EXPECT_EQ(error.kind(), Error::Kind::Timeout);
    EXPECT_EQ(error.message().find("NCCL broadcast of 8 B on rank 7"), 0u) << error.message();
  }
  EXPECT_EQ(script().asked.back(), "abort");
}

TEST_F(NcclCalls, WhoeverDoesNotLeaveIsNotWaitedForForEver) {
  {
    const auto link = connected(std::chrono::milliseconds(20));
    script().states = {ncclInProgress};
  }
  EXPECT_EQ(script().asked, (Asked{"finalize", "abort"}));
}

TEST_F(NcclCalls, SharedGpusAreRefusedBeforeNcclIsAsked) {
  const GpuPlace here{.host = "b2", .device = 0, .bus_id = "0000:1b:00.0", .rank = 0};
  const Error error = failure([&] { make_nccl_link({.id = make_nccl_id(), .place = here, .places = {here, here}}); });
  EXPECT_EQ(error.message().find("ranks 0 and 0 on b2 share GPU 0"), 0u) << error.message();
  EXPECT_EQ(failure([] { make_nccl_link({.id = "short"}); }).kind(), Error::Kind::Bug);
  EXPECT_TRUE(script().asked.empty());
}

}  // namespace
}  // namespace ronde::comm::detail
