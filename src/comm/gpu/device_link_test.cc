#include "ronde/comm/gpu/device_link.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

GpuPlace place(int rank, std::string host, int device, std::string bus_id) {
  return {.host = std::move(host), .device = device, .bus_id = std::move(bus_id), .rank = rank};
}

TEST(WhyNotNccl, OneGpuEachIsFine) {
  EXPECT_EQ(why_not_nccl({}), "");
  EXPECT_EQ(why_not_nccl({place(0, "a", 0, "0000:1b:00.0")}), "");
  EXPECT_EQ(why_not_nccl(
                {place(0, "a", 0, "0000:1b:00.0"), place(1, "a", 1, "0000:2b:00.0"), place(2, "b", 0, "0000:1b:00.0")}),
            "");
}

// Each process may see one GPU only, and call it 0.
TEST(WhyNotNccl, BusIdsCountNotNumbers) {
  EXPECT_EQ(why_not_nccl({place(0, "a", 0, "0000:1b:00.0"), place(1, "a", 0, "0000:2b:00.0")}), "");
  EXPECT_NE(why_not_nccl({place(0, "a", 0, "0000:1b:00.0"), place(1, "a", 1, "0000:1b:00.0")}), "");
  EXPECT_NE(why_not_nccl({place(0, "a", 0, ""), place(1, "a", 0, "")}), "");
  EXPECT_EQ(why_not_nccl({place(0, "a", 0, ""), place(1, "a", 1, "")}), "");
}

TEST(WhyNotNccl, SaysWhoSharesAGpu) {
  EXPECT_EQ(why_not_nccl({place(0, "node7", 0, "0000:1b:00.0"), place(1, "node7", 0, "0000:1b:00.0")}),
            "ranks 0 and 1 on node7 share GPU 0 (0000:1b:00.0), and NCCL needs one GPU per rank: buffers go through "
            "host memory instead");
  EXPECT_EQ(
      why_not_nccl({place(4, "a", 0, "x"), place(5, "b", 3, "y"), place(6, "b", 3, "y"), place(9, "b", 3, "y")}),
      "ranks 5, 6 and 9 on b share GPU 3 (y), and NCCL needs one GPU per rank: buffers go through host memory instead");
}

TEST(WhyNotNccl, SaysWhoHasNone) {
  EXPECT_EQ(why_not_nccl({place(0, "a", 0, "x"), place(1, "b", device::kHost, "")}),
            "rank 1 on b has no GPU, and NCCL needs one GPU per rank: buffers go through host memory instead");
}

TEST(NcclCan, ReduceWhatItHasTypesFor) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Average, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product})
      EXPECT_TRUE(nccl_can(dtype, op)) << name(dtype) << " " << name(op);
    EXPECT_FALSE(nccl_can(dtype, ReduceOp::Adasum)) << name(dtype);
  }
  for (const DType dtype : {DType::U8, DType::I8, DType::I32, DType::I64}) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product})
      EXPECT_TRUE(nccl_can(dtype, op)) << name(dtype) << " " << name(op);
    EXPECT_FALSE(nccl_can(dtype, ReduceOp::Average)) << name(dtype);
  }
  for (const DType dtype : {DType::U16, DType::I16, DType::Bool})
    for (int op = 0; op <= static_cast<int>(ReduceOp::Adasum); ++op)
      EXPECT_FALSE(nccl_can(dtype, static_cast<ReduceOp>(op))) << name(dtype) << " " << op;
}

TEST(GpuPlace, ComesBackFromItsText) {
  for (const GpuPlace& given :
       {place(17, "node7", 3, "0000:1b:00.0"), place(0, "", device::kHost, ""), place(1, "a host of blanks ", 0, "")}) {
    const GpuPlace read = GpuPlace::from_text(given.to_text());
    EXPECT_EQ(read.host, given.host);
    EXPECT_EQ(read.device, given.device);
    EXPECT_EQ(read.bus_id, given.bus_id);
    EXPECT_EQ(read.rank, given.rank);
  }
}

TEST(GpuPlace, AnEndlessHostIsCut) {
  const GpuPlace given = place(1, std::string(1000, 'h'), 0, "0000:1b:00.0");
  EXPECT_EQ(given.to_text().size(), GpuPlace::kMostBytes);
  EXPECT_EQ(GpuPlace::from_text(given.to_text()).bus_id, given.bus_id);
}

TEST(GpuPlace, GarbageIsRefused) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, " "s, "1"s, "1 0"s, "1 0 x"s, "a 0 x host"s, "1 b x host"s, "1 0  host"s, "1.5 0 x host"s,
        "99999999999 0 x host"s, "\0\0\0\0 \1 \2 \3"s, std::string(200, ' ')}) {
    try {
      GpuPlace::from_text(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Mismatch);
    }
  }
}

// As a peer may send it that is not one of ours.
TEST(GpuPlace, AWordWithoutAnEndIsNotReadBeyondIt) {
  GpuWord word;
  word.fill('x');
  EXPECT_EQ(text_of(word), std::string(word.size(), 'x'));
  EXPECT_THROW(GpuPlace::from_text(text_of(word)), Error);
  EXPECT_EQ(text_of(gpu_word("1 0 - host")), "1 0 - host");
  EXPECT_EQ(text_of(gpu_word(std::string(1000, 'h'))), std::string(GpuPlace::kMostBytes, 'h'));
  EXPECT_EQ(text_of(gpu_word("")), "");
}

TEST(GpuPlace, IsToldInWords) {
  EXPECT_EQ(place(1, "b2", 0, "0000:1b:00.0").to_words(), "rank 1 (host b2, GPU 0 0000:1b:00.0)");
  EXPECT_EQ(place(1, "b2", 0, "").to_words(), "rank 1 (host b2, GPU 0)");
}

TEST(GpuPlace, OfAGpuThatIsNotThere) {
  EXPECT_THROW(gpu_place(device::count(), 0, "a"), Error);
}

}  // namespace
}  // namespace ronde::comm::detail
