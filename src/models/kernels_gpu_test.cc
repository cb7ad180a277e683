// What only a GPU can show: kernels give the same bits as the plain forms. Skipped, with the reason, where there is
// none. compute-sanitizer looks on here, so all memory is as small as it may be.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ATen/autocast_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "ronde/device/device.h"
#include "ronde/models/costs.h"
#include "ronde/models/detail/kernel_calls.h"
#include "ronde/models/detail/op_watch.h"
#include "ronde/models/kernels.h"
#include "ronde/models/model.h"

namespace ronde::models {
namespace {

using torch::Tensor;
using Form = std::function<Tensor(Tensor, const Tensor&)>;

const torch::Device kGpu(torch::kCUDA, 0);
constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;
constexpr std::array kTypes = {torch::kFloat32, torch::kBFloat16, torch::kFloat16};

class AddReluOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!has_kernels()) GTEST_SKIP() << "this build has no kernels: there was no nvcc";
    if (!torch::cuda::is_available()) GTEST_SKIP() << "this libtorch has no CUDA";
  }
};

// These call cuDNN, at which compute-sanitizer would look for minutes.
class ResidualBlocksOnGpu : public AddReluOnGpu {};

Tensor plain(Tensor x, const Tensor& other) {
  return x.add_(other).relu_();
}

Tensor some(torch::IntArrayRef shape, torch::ScalarType type, int seed) {
  torch::manual_seed(seed);
  return torch::randn(shape).to(type).to(kGpu);
}

// NaNs are all alike; of everything else each bit counts, the sign of 0 too.
bool same_bits(const Tensor& one, const Tensor& other) {
  const auto bits = one.scalar_type() == torch::kFloat32 ? torch::kInt32 : torch::kInt16;
  return one.sizes() == other.sizes() && one.scalar_type() == other.scalar_type() &&
         ((one.view(bits) == other.view(bits)) | (one.isnan() & other.isnan())).all().item<bool>();
}

std::vector<std::string> operations_of(const std::function<void()>& work) {
  std::vector<std::string> names;
  const detail::OpWatch watch([&](const detail::Operation& operation) { names.emplace_back(operation.name); });
  work();
  return names;
}

const std::vector<std::string> kOne = {"add_relu_"}, kTwo = {"add_", "relu_"};

void expect_same(const Tensor& x, const Tensor& other, const std::vector<std::string>& operations = kOne) {
  const Tensor expected = plain(x.clone(), other), before = other.clone(), mine = x.clone();
  Tensor found;
  EXPECT_EQ(operations_of([&] { found = add_relu(mine, other); }), operations);
  EXPECT_TRUE(found.is_same(mine)) << "in place";
  EXPECT_TRUE(same_bits(found, expected)) << x.toString() << " " << x.sizes() << " " << x.strides();
  EXPECT_TRUE(same_bits(other, before)) << "the other one has changed";
}

// Each with each: sums that are NaN, that overflow in one type or another, that are too small for it, zeros of both
// signs, and those that lie between two values of a short type.
TEST_F(AddReluOnGpu, GivesTheSameBitsForSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor values =
      torch::tensor({std::nanf(""), kInf,           -kInf,           0.0f,     -0.0f,       1.0f,        -1.0f,
                     65504.0f,      -65504.0f,      3.3e38f,         -3.3e38f, 1e-40f,      -1e-40f,     1e-38f,
                     6e-8f,         -6e-8f,         3e-8f,           -3e-8f,   1.00390625f, 0.00390625f, 0.001953125f,
                     -0.001953125f, 1.00048828125f, 0.000244140625f, 32.0f,    16.0f});
  const std::int64_t count = values.numel();
  const Tensor x = values.repeat_interleave(count), other = values.repeat({count});
  for (const auto type : kTypes) expect_same(x.to(type).to(kGpu), other.to(type).to(kGpu));
}

// Less than a pack, no pack at all, packs and some values, several blocks and some packs.
TEST_F(AddReluOnGpu, GivesTheSameBitsForOddSizes) {
  for (const auto type : kTypes)
    for (const std::int64_t count : {0, 1, 3, 4, 7, 8, 9, 255, 1023, 4096, 8192, 8193, 16391, 40007})
      expect_same(some({count}, type, 1), some({count}, type, 2));
}

TEST_F(AddReluOnGpu, TakesAnyLayoutThatBothHave) {
  for (const auto type : kTypes) {
    const Tensor x = some({3, 5, 7, 9}, type, 3), other = some({3, 5, 7, 9}, type, 4);
    expect_same(x, other);
    expect_same(x.contiguous(kChannelsLast), other.contiguous(kChannelsLast));
    expect_same(some({1, 16, 1, 1}, type, 5).contiguous(kChannelsLast), some({1, 16, 1, 1}, type, 6));
  }
}

// Memory before and behind stays as it was, wherever the values begin.
TEST_F(AddReluOnGpu, TakesMemoryThatIsNotAligned) {
  constexpr std::int64_t kCount = 4099, kAround = 16;
  for (const auto type : kTypes)
    for (const std::int64_t first : {0, 1, 3, 8})
      for (const std::int64_t second : {0, 1, 8}) {
        Tensor memory = some({kCount + 2 * kAround}, type, 7), beside = some({kCount + 2 * kAround}, type, 8);
        const Tensor x = memory.narrow(0, first, kCount), other = beside.narrow(0, second, kCount);
        Tensor expected = memory.clone();
        const Tensor before = beside.clone();
        plain(expected.narrow(0, first, kCount), other);
        EXPECT_TRUE(detail::add_relu_on_gpu(x, other));
        EXPECT_TRUE(same_bits(memory, expected)) << memory.toString() << " from " << first << " and " << second;
        EXPECT_TRUE(same_bits(beside, before));
      }
}

TEST_F(AddReluOnGpu, LeavesTheRestToTorch) {
  const Tensor x = some({2, 8, 4, 4}, torch::kFloat32, 9), other = some({2, 8, 4, 4}, torch::kFloat32, 10);
  expect_same(x, other.contiguous(kChannelsLast), kTwo);                         // they lie in another order
  expect_same(x, some({8, 4, 4}, torch::kFloat32, 11), kTwo);                    // it is broadcast
  expect_same(x, other.to(torch::kBFloat16), kTwo);                              // of another type
  expect_same(x, some({2, 8, 4, 8}, torch::kFloat32, 12).slice(3, 0, 4), kTwo);  // with gaps
  EXPECT_EQ(operations_of([&] {
              const Tensor mine = x.clone();
              add_relu(mine, mine);  // the same memory
            }),
            (std::vector<std::string>{"clone", "add_", "relu_"}));
  EXPECT_EQ(operations_of([&] { add_relu(x[0], other[0]); }),  // a view
            (std::vector<std::string>{"select", "select", "add_", "relu_"}));
  const Tensor wide = x.to(torch::kFloat64), as_wide = other.to(torch::kFloat64);
  EXPECT_EQ(operations_of([&] { add_relu(wide, as_wide); }), kTwo);
  EXPECT_THROW(add_relu(some({4}, torch::kFloat32, 13), x), c10::Error);
}

struct Learned {
  std::vector<Tensor> values;  // the output, and gradients
};

// As at the end of a block: the shortcut is what the layers before have made, and they need it again.
Learned learn(const Form& form, torch::ScalarType type) {
  const Tensor a = some({2, 8, 5, 5}, type, 14).requires_grad_(), b = some({2, 8, 5, 5}, type, 15).requires_grad_();
  const Tensor shortcut = b.sigmoid() - 0.5;
  const Tensor output = form(a.sin() * 2, shortcut);
  (output * shortcut).sum().backward();
  return {{output.detach(), a.grad(), b.grad()}};
}

void expect_same(const Learned& found, const Learned& expected) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    EXPECT_TRUE(same_bits(found.values[i], expected.values[i])) << i;
}

TEST_F(AddReluOnGpu, HasTheGradientsOfThePlainForm) {
  for (const auto type : kTypes) expect_same(learn(add_relu, type), learn(plain, type));
}

TEST_F(AddReluOnGpu, WhatIsNeededAsItWasIsMissed) {
  const Tensor a = some({5}, torch::kFloat32, 16).requires_grad_();
  const Tensor output = add_relu(a.exp(), some({5}, torch::kFloat32, 17));
  EXPECT_THROW(output.sum().backward(), c10::Error);
}

TEST_F(AddReluOnGpu, WorksWithoutGradients) {
  const Tensor x = some({100}, torch::kBFloat16, 18), other = some({100}, torch::kBFloat16, 19);
  {
    const torch::NoGradGuard no_grad;
    expect_same(x, other);
  }
  const c10::InferenceMode inference;
  expect_same(x, other);
}

// Short types for the GPU's convolutions, for a while.
class Autocast {
 public:
  explicit Autocast(torch::ScalarType type) : before_(at::autocast::get_autocast_dtype(at::kCUDA)) {
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, type);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
    at::autocast::set_autocast_dtype(at::kCUDA, before_);
  }

 private:
  const torch::ScalarType before_;
};

// A convolution and a norm with a way around them. Its input, `made`, is of the short type, as a block's is.
Learned learn_block(const Form& form, torch::ScalarType type) {
  torch::manual_seed(20);
  torch::nn::Conv2d stem(torch::nn::Conv2dOptions(3, 8, 1)), conv(torch::nn::Conv2dOptions(8, 8, 3).padding(1));
  torch::nn::BatchNorm2d norm(8);
  for (torch::nn::Module* module :
       {static_cast<torch::nn::Module*>(stem.get()), static_cast<torch::nn::Module*>(conv.get()),
        static_cast<torch::nn::Module*>(norm.get())})
    module->to(kGpu);
  const Tensor input = some({4, 3, 8, 8}, torch::kFloat32, 21).contiguous(kChannelsLast);
  Learned learned;
  {
    const Autocast autocast(type);
    const Tensor made = stem->forward(input), output = form(norm->forward(conv->forward(made)), made);
    EXPECT_EQ(output.scalar_type(), type);
    learned.values.push_back(output.detach());
    output.to(torch::kFloat32).square().sum().backward();
  }
  for (const Tensor& parameter : {stem->weight, conv->weight, norm->weight, norm->bias})
    learned.values.push_back(parameter.grad());
  return learned;
}

TEST_F(ResidualBlocksOnGpu, EndTheSameUnderAutocast) {
  at::globalContext().setDeterministicCuDNN(true);
  for (const auto type : {torch::kBFloat16, torch::kFloat16})
    expect_same(learn_block(add_relu, type), learn_block(plain, type));
  at::globalContext().setDeterministicCuDNN(false);
}

// What is before and behind it in another stream than the default one is before and behind it.
TEST_F(AddReluOnGpu, GoesIntoTheCurrentStream) {
  const Tensor x = some({1 << 16}, torch::kFloat32, 22), other = some({1 << 16}, torch::kFloat32, 23);
  const Tensor expected = (plain(x + 20, other) * 2).cpu();
  torch::cuda::synchronize();
  const c10::impl::VirtualGuardImpl gpu(torch::kCUDA);
  const c10::StreamGuard guard(gpu.getStreamFromGlobalPool(kGpu));
  Tensor made = x.clone();
  for (int i = 0; i < 20; ++i) made.add_(1);
  const Tensor found = add_relu(made, other).mul(2).cpu();
  EXPECT_TRUE(found.allclose(expected, 1e-5, 1e-4));
}

// The layers of a network on a GPU: what is two operations on the CPU is one there, with the same arithmetic.
TEST_F(ResidualBlocksOnGpu, EndByOneOperationInTheCosts) {
  const auto network = make_model({.name = "resnet20", .height = 16, .width = 16, .filters = 4});
  const LayerCost on_cpu = total(costs(*network, {3, 16, 16}, 2));
  network->to(kGpu);
  const auto all = costs(*network, {3, 16, 16}, 2);
  int ends = 0;
  for (const LayerCost& cost : all) {
    if (cost.operation != "add_relu_") continue;
    ++ends;
    EXPECT_EQ(cost.activation_bytes, 0);
  }
  EXPECT_EQ(ends, 9);
  EXPECT_EQ(total(all).flops, on_cpu.flops);
  EXPECT_EQ(total(all).parameters, on_cpu.parameters);
  EXPECT_EQ(total(all).activation_bytes, on_cpu.activation_bytes);
  EXPECT_LT(total(all).bytes, on_cpu.bytes);
}

}  // namespace
}  // namespace ronde::models
