#include "ronde/models/recompute.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/models/model.h"
#include "ronde/models/tensor_map.h"

namespace ronde::models {
namespace {

using torch::Tensor;

struct Run {
  Tensor output;
  TensorMap gradients, state;
};

class InBf16 {
 public:
  explicit InBf16(bool on) : before_(at::autocast::is_autocast_enabled(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, on);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  ~InBf16() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, before_);
  }

 private:
  const bool before_;
};

// No 3 x 3 convolution may see an image of one pixel: in bf16 oneDNN leaves numbers in the gradient of its weights that
// nobody has computed, and two trainings that should be alike are not.
std::int64_t extent_for(const std::string& name) {
  if (name == "resnet50") return 64;
  return name == "unet" ? 32 : 16;
}

// Two steps: the second begins with running statistics that the first has left.
Run train(const std::string& name, bool again, bool bf16 = false) {
  torch::set_num_threads(1);
  const std::int64_t extent = extent_for(name);
  torch::manual_seed(5);
  const auto network = make_model({.name = name,
                                   .classes = 5,
                                   .channels = 3,
                                   .height = extent,
                                   .width = extent,
                                   .filters = name == "unet" || name.starts_with("resnet") ? 8 : 0,
                                   .recompute = again});
  if (name != "transformer" && name != "mlp-deep") to_channels_last(*network);
  torch::manual_seed(6);
  Run run;
  for (int step = 0; step < 2; ++step) {
    const Tensor input = torch::randn({4, 3, extent, extent});
    {
      const InBf16 autocast(bf16);
      run.output = network->forward(input);
    }
    run.output.to(torch::kFloat).square().sum().backward();
  }
  for (const auto& item : network->named_parameters()) run.gradients[item.key()] = item.value().grad();
  run.state = state_of(*network);
  return run;
}

void expect_same(const Run& one, const Run& other) {
  EXPECT_TRUE(one.output.equal(other.output));
  ASSERT_EQ(one.gradients.size(), other.gradients.size());
  for (const auto& [name, gradient] : one.gradients) {
    ASSERT_TRUE(gradient.defined() && other.gradients.at(name).defined()) << name;
    EXPECT_TRUE(gradient.equal(other.gradients.at(name))) << name;
  }
  for (const auto& [name, tensor] : one.state) EXPECT_TRUE(tensor.equal(other.state.at(name))) << name;
}

class Models : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recompute, Models,
                         testing::Values("resnet20", "resnet18-cifar", "resnet50", "unet", "transformer", "mlp-deep"));

TEST_P(Models, GradientsAndStatisticsAreTheSameToTheBit) {
  expect_same(train(GetParam(), true), train(GetParam(), false));
}

TEST_P(Models, AlsoUnderAutocast) {
  expect_same(train(GetParam(), true, true), train(GetParam(), false, true));
}

TEST(Recompute, RandomNumbersAreTheSameAndGoOnFromTheSamePlace) {
  const auto run = [](bool again) {
    torch::manual_seed(9);
    Tensor input = torch::randn({64}).requires_grad_();
    const Part part = [](const Tensor& x) { return torch::dropout(x.sin(), 0.5, true).exp(); };
    const Tensor output = again ? recompute(part, {}, input) : part(input);
    const Tensor between = torch::rand({3});
    (output * output).sum().backward();
    return torch::cat({output.detach(), input.grad(), between, torch::rand({3})});
  };
  EXPECT_TRUE(run(true).equal(run(false)));
}

TEST(Recompute, KeepsNothingButTheInput) {
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> made;
  int calls = 0;
  const Part part = [&](const Tensor& x) {
    ++calls;
    const Tensor inside = x.exp();
    made.emplace_back(inside.storage().getWeakStorageImpl());
    return inside * 2;
  };
  const Tensor input = torch::randn({8}).requires_grad_();
  const Tensor plain = part(input);
  EXPECT_FALSE(made[0].expired());  // exp() keeps its result
  const Tensor output = recompute(part, {}, input);
  EXPECT_TRUE(made[1].expired());
  EXPECT_EQ(calls, 2);
  output.sum().backward();
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(made[2].expired());
}

TEST(Recompute, WithoutGradientsItIsThePartItself) {
  int calls = 0;
  const Part part = [&](const Tensor& x) {
    ++calls;
    return x + 1;
  };
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(recompute(part, {}, torch::ones({2})).requires_grad());
  EXPECT_EQ(calls, 1);
}

TEST(Recompute, APartWithNothingToLearnHasNoGradient) {
  const Tensor output = recompute([](const Tensor& x) { return x * 2; }, {}, torch::ones({2}));
  EXPECT_NO_THROW(output.sum().backward());
}

TEST(Recompute, NetworksWithoutBlocksSaySo) {
  for (const char* name : {"lstm", "lenet", "autoencoder", "mlp"}) {
    try {
      make_model({.name = name, .recompute = true});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      EXPECT_NE(std::string(error.what()).find(fmt::format("model {} has no blocks for model.recompute", name)),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ronde::models
