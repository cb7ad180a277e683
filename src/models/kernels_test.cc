#include "ronde/models/kernels.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/models/costs.h"
#include "ronde/models/detail/kernel_calls.h"
#include "ronde/models/detail/op_watch.h"
#include "ronde/models/module_trace.h"
#include "ronde/models/recompute.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/span.h"

namespace ronde::models {
namespace {

using torch::Tensor;
using Form = std::function<Tensor(Tensor, const Tensor&)>;

Tensor plain(Tensor x, const Tensor& other) {
  return x.add_(other).relu_();
}

Tensor some(torch::IntArrayRef shape, int seed, torch::ScalarType type = torch::kFloat) {
  torch::manual_seed(seed);
  return torch::randn(shape).to(type);
}

std::vector<std::string> operations_of(const std::function<void()>& work) {
  std::vector<std::string> names;
  const detail::OpWatch watch([&](const detail::Operation& operation) { names.emplace_back(operation.name); });
  work();
  return names;
}

TEST(AddRelu, IsThePlainFormOnTheCpu) {
  const Tensor x = some({3, 4}, 1), other = some({3, 4}, 2), expected = torch::relu(x + other), before = other.clone();
  Tensor found;
  const auto names = operations_of([&] { found = add_relu(x, other); });
  EXPECT_EQ(names, (std::vector<std::string>{"add_", "relu_"}));
  EXPECT_TRUE(found.equal(expected));
  EXPECT_TRUE(found.is_same(x)) << "in place";
  EXPECT_TRUE(other.equal(before));
}

TEST(AddRelu, TakesTheShapesThatThePlainFormTakes) {
  const Tensor row = some({4}, 3), rows = some({3, 4}, 4);
  EXPECT_TRUE(add_relu(rows.clone(), row).equal(torch::relu(rows + row)));
  EXPECT_THROW(add_relu(row.clone(), rows), c10::Error);
  EXPECT_THROW(add_relu(rows.clone(), some({5}, 5)), c10::Error);
}

// What is around the kernel can be seen without one: the plain form then stands in its place.

struct Learned {
  Tensor output, by_x, by_other;
};

// `other` is what the layers before have made, and is needed by their backward operations: sin() keeps its input,
// sigmoid() its output.
Learned learn(const Form& form, torch::ScalarType type) {
  const Tensor a = some({2, 8, 3, 3}, 6, type).requires_grad_(), b = some({2, 8, 3, 3}, 7, type).requires_grad_();
  const Tensor shortcut = b.sigmoid() - 0.5;
  const Tensor output = form(a.sin() * 2, shortcut);
  (output * shortcut).sum().backward();
  return {output.detach(), a.grad(), b.grad()};
}

TEST(AddReluAsOne, HasTheGradientsOfThePlainForm) {
  for (const auto type : {torch::kFloat, torch::kBFloat16, torch::kDouble}) {
    const Learned expected = learn(plain, type), found = learn(detail::add_relu_as_one, type);
    EXPECT_TRUE(found.output.equal(expected.output)) << type;
    EXPECT_TRUE(found.by_x.equal(expected.by_x)) << type;
    EXPECT_TRUE(found.by_other.equal(expected.by_other)) << type;
  }
}

TEST(AddReluAsOne, OneSideMayHaveNoGradient) {
  for (const bool left : {true, false}) {
    Tensor a = some({9}, 8).requires_grad_(left), b = some({9}, 9).requires_grad_(!left);
    const Tensor output = detail::add_relu_as_one(a * 1, b);
    output.sum().backward();
    EXPECT_TRUE((left ? a : b).grad().equal((output > 0).to(torch::kFloat)));
    EXPECT_FALSE((left ? b : a).grad().defined());
  }
}

// As by the plain form, what somebody needs must not be overwritten unseen.
TEST(AddReluAsOne, WhatIsNeededAsItWasIsMissed) {
  for (const Form& form : {Form(plain), Form(detail::add_relu_as_one)}) {
    const Tensor a = some({5}, 10).requires_grad_(), made = a.exp();
    const auto version = made._version();
    const Tensor output = form(made, torch::ones({5}));
    EXPECT_GT(made._version(), version);
    EXPECT_THROW(output.sum().backward(), c10::Error);
    EXPECT_THROW(form(some({5}, 11).requires_grad_(), torch::ones({5})), c10::Error) << "a leaf";
  }
}

TEST(AddReluAsOne, WorksWithoutGradients) {
  const Tensor x = some({7}, 12).requires_grad_(), other = some({7}, 13), expected = torch::relu(x + other).detach();
  {
    const torch::NoGradGuard no_grad;
    const Tensor made = x * 1, found = detail::add_relu_as_one(made, other);
    EXPECT_TRUE(found.is_same(made) && found.equal(expected));
    EXPECT_FALSE(found.requires_grad());
  }
  const c10::InferenceMode inference;
  const Tensor made = x * 1, found = detail::add_relu_as_one(made, other);
  EXPECT_TRUE(found.is_same(made) && found.equal(expected));
}

TEST(AddReluAsOne, KeepsNothingButItsOutputAndThatNoLongerThanNeeded) {
  const Tensor a = some({64}, 14).requires_grad_();
  Tensor made = a * 1, other = a * 2;
  const auto kept = made.storage().getWeakStorageImpl(), around = other.storage().getWeakStorageImpl();
  Tensor output = detail::add_relu_as_one(std::move(made), other);
  other.reset();
  EXPECT_TRUE(around.expired());
  EXPECT_FALSE(kept.expired());
  output.reset();
  EXPECT_TRUE(kept.expired());
}

// A residual block that ends by one operation, kernel or none.
struct BlockImpl final : Network {
  BlockImpl() { conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 3).padding(1))); }
  Tensor forward(Tensor input) override { return detail::add_relu_as_one(conv->forward(input), input); }
  torch::nn::Conv2d conv = nullptr;
};
struct Blocks final : Network {
  explicit Blocks(bool again = false) : recomputed(again) {
    torch::manual_seed(15);
    block = register_module("block", std::make_shared<BlockImpl>());
  }
  Tensor forward(Tensor input) override { return run_part(*block, input, recomputed); }
  std::shared_ptr<BlockImpl> block;
  const bool recomputed;
};

TEST(AddReluAsOne, CanBeRecomputed) {
  const Tensor input = some({2, 2, 5, 5}, 16);
  Blocks once, again(true);
  for (Blocks* network : {&once, &again}) network->forward(input).square().sum().backward();
  const auto expected = once.parameters(), found = again.parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(found[i].grad().equal(expected[i].grad()));
}

TEST(AddReluAsOne, IsOneOperationToCosts) {
  Blocks network;
  const auto all = costs(network, {2, 5, 5}, 8);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "block.add_relu_");
  EXPECT_EQ(all[1].operation, "add_relu_");
  EXPECT_EQ(all[1].flops, 8 * 2 * 50);
  EXPECT_EQ(all[1].bytes, 8 * 3 * 50 * 4);
  EXPECT_EQ(all[1].activation_bytes, 0);
}

TEST(AddReluAsOne, HasASpanInBothPasses) {
  const ronde::tests::Folder folder;
  {
    Blocks network;
    trace::Recorder recorder({.folder = folder.path()});
    const trace::Scope scope(recorder, "training");
    ModuleTrace modules(network, recorder, {.modules = true, .operators = true});
    Tensor output;
    {
      RONDE_SPAN("forward");
      const ModuleTrace::Pass pass(&modules, ModuleTrace::Direction::Forward);
      output = network.forward(some({1, 2, 5, 5}, 17));
    }
    RONDE_SPAN("backward");
    const ModuleTrace::Pass pass(&modules, ModuleTrace::Direction::Backward);
    output.sum().backward();
  }
  const trace::Run run = trace::read_run(folder.path());
  const trace::Lane& lane = *run.ranks.at(0).training();
  std::multiset<std::string> names;
  for (const trace::LaneSpan& span : lane.spans) names.insert(run.names.text(span.name));
  EXPECT_EQ(names.count("block.add_relu_"), 2U);  // the module: forward and backward
  EXPECT_EQ(names.count("add_relu_"), 1U);        // the operators
  EXPECT_EQ(names.count("threshold_backward"), 1U);
  EXPECT_EQ(names.count("relu_"), 0U) << "what it is made of here";
}

}  // namespace
}  // namespace ronde::models
