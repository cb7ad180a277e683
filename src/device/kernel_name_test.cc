#include "ronde/device/kernel_name.h"

#include <gtest/gtest.h>

namespace ronde::device {
namespace {

TEST(KernelName, TemplatesParametersAndReturnTypesGo) {
  EXPECT_EQ(kernel_name("_ZN2at6native13reduce_kernelILi512EEEvi"), "at::native::reduce_kernel");
  EXPECT_EQ(kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                        "std::array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3>)"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(kernel_name("void cutlass::Kernel2<x>(x::Params)"), "cutlass::Kernel2");
  EXPECT_EQ(kernel_name("void outer<a>::inner<decltype(b->c)>(int)"), "outer::inner");
}

TEST(KernelName, AnonymousNamespacesGo) {
  EXPECT_EQ(kernel_name("void at::native::(anonymous namespace)::softmax<float>(float*, (anonymous namespace)::X)"),
            "at::native::softmax");
}

TEST(KernelName, PlainNamesStay) {
  const std::string plain = "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_kernel__5x_cudnn";
  EXPECT_EQ(kernel_name(plain), plain);
  EXPECT_EQ(kernel_name(""), "");
  EXPECT_EQ(kernel_name("_Znonsense"), "_Znonsense");
  EXPECT_EQ(kernel_name("<unknown>"), "<unknown>");
}

TEST(KernelName, NcclsKernelsAreCollectives) {
  EXPECT_TRUE(is_collective(kernel_name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")));
  EXPECT_FALSE(is_collective("at::native::reduce_kernel"));
}

}  // namespace
}  // namespace ronde::device
