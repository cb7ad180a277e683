#include "ronde/device/cuda/check.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/device/device.h"
#include "ronde/device/stream.h"

namespace ronde::device {
namespace {

TEST(DeviceWithCuda, ErrorsSayWhatWeDidAndWhatCudaSays) {
  check(cudaSuccess, "nothing");
  const unsigned line = __LINE__ + 2;
  try {
    check(cudaErrorInvalidValue, "copying the batch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_TRUE(error.message().starts_with("copying the batch")) << error.message();
    EXPECT_TRUE(
        error.message().ends_with(fmt::format(": invalid argument (cudaErrorInvalidValue), cuda_test.cc:{}", line)))
        << error.message();
  }
}

TEST(DeviceWithCuda, SaysWhatIsMissing) {
  EXPECT_FALSE(runtime_version().empty());
  if (count() > 0) GTEST_SKIP() << "nothing is missing here";
  const std::string missing = driver_version().empty() ? "no driver" : "no GPU";
  EXPECT_TRUE(why_none().starts_with("CUDA " + runtime_version() + " is built in, but there is " + missing))
      << why_none();
}

TEST(DeviceWithCuda, ErrorsThatWeReportTripNobodyElse) {
  if (count() == 0) GTEST_SKIP() << why_none();
  EXPECT_THROW(CurrentDevice{count()}, Error);
  EXPECT_THROW(check(cudaStreamWaitEvent(nullptr, nullptr, 0), "waiting for nothing"), Error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(DeviceWithCuda, TheCurrentDeviceIsPutBack) {
  if (count() == 0) GTEST_SKIP() << why_none();
  int before = -1;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  for (int device = 0; device < count(); ++device) {
    int now = -1;
    {
      const CurrentDevice current(device);
      ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
      EXPECT_EQ(now, device);
    }
    ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
    EXPECT_EQ(now, before);
  }
}

TEST(DeviceWithCuda, PrioritiesReachTheStream) {
  if (count() == 0) GTEST_SKIP() << why_none();
  const Stream normal(0);
  const Stream high(0, Priority::High);
  int of_normal = 0;
  int of_high = 0;
  ASSERT_EQ(cudaStreamGetPriority(normal.native(), &of_normal), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(high.native(), &of_high), cudaSuccess);
  EXPECT_LT(of_high, of_normal);  // CUDA counts downwards
}

}  // namespace
}  // namespace ronde::device
