// Fused optimizers against torch's own, and what a graph of whole steps asks of them.
#include "ronde/train/optim/fused.h"
#include "ronde/base/settings/settings.h"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/train/checkpoint/checkpoint_optimizer.h"
#include "ronde/train/checkpoint_testing.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

using torch::Tensor;
using torch::optim::Optimizer;
using Parameters = std::vector<Tensor>;
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const Parameters&)>;

struct Kind {
  const char* name;
  MakeOptimizer plain, fused;
};

template <class Plain, class Options>
Kind kind(const char* name, const Options& options) {
  return {
      name, [options](const Parameters& parameters) { return std::make_unique<Plain>(parameters, options); },
      [options](const Parameters& parameters) { return std::make_unique<FusedOptimizer<Plain>>(parameters, options); }};
}

std::vector<Kind> kinds() {
  using namespace torch::optim;
  std::vector<Kind> all{
      kind<SGD>("SGD", SGDOptions(0.1).weight_decay(0.01)),
      kind<SGD>("SGD with momentum", SGDOptions(0.1).momentum(0.9).weight_decay(0.01)),
      kind<SGD>("SGD, Nesterov", SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01)),
      kind<SGD>("SGD, dampened", SGDOptions(0.1).momentum(0.8).dampening(0.3)),
      kind<Adam>("Adam", AdamOptions(0.01).betas({0.8, 0.95}).weight_decay(0.02)),
      kind<Adam>("Adam, amsgrad", AdamOptions(0.01).amsgrad(true)),
      kind<AdamW>("AdamW", AdamWOptions(0.01).weight_decay(0.1)),
      kind<AdamW>("AdamW, amsgrad", AdamWOptions(0.01).amsgrad(true)),
  };
  if (has_fused_adagrad())
    all.push_back(kind<Adagrad>("Adagrad", AdagradOptions(0.1).lr_decay(0.1).weight_decay(0.01)));
  return all;
}

// One of several types and layouts; the third has no gradient in some steps.
Parameters parameters() {
  const auto wave = [](std::vector<std::int64_t> shape, torch::Dtype type) {
    const std::int64_t count = c10::multiply_integers(shape);
    return ((torch::arange(count, torch::kFloat64) * 1.3).cos() + 0.2).view(shape).to(type);
  };
  Parameters all{wave({5, 3, 2, 2}, torch::kFloat32).contiguous(torch::MemoryFormat::ChannelsLast),
                 wave({7}, torch::kFloat32), wave({4, 3}, torch::kFloat32), wave({3, 2}, torch::kFloat64)};
  for (Tensor& one : all) one.requires_grad_();
  return all;
}

double rate_of(int step) {
  return step < 4 ? 0.02 * step : 0.08 * (1 - (step - 4) / 20.0);
}

void set_gradients(const Parameters& parameters, int step) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& one = parameters[i];
    const Tensor wave = (torch::arange(one.numel(), torch::kFloat64) * 0.7 + step).sin().view(one.sizes());
    Tensor& gradient = const_cast<Tensor&>(one).mutable_grad();  // in a plain layout, whatever the parameter's is
    gradient = i == 2 && step % 3 == 0 ? Tensor() : (wave + one.detach() * 0.3).to(one.scalar_type()).contiguous();
  }
}

void train(const Parameters& parameters, Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    set_gradients(parameters, step);
    set_learning_rate(optimizer, rate_of(step));
    optimizer.step();
  }
}

void expect_close(const Parameters& a, const Parameters& b, const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(torch::allclose(a[i], b[i], 1e-6, 1e-6))
        << what << ", parameter " << i << ", apart by " << (a[i] - b[i]).abs().max().item<double>();
}

torch::OrderedDict<std::string, Tensor> names_of(const Parameters& parameters) {
  torch::OrderedDict<std::string, Tensor> named;
  for (std::size_t i = 0; i < parameters.size(); ++i) named.insert(fmt::format("p{}", i), parameters[i]);
  return named;
}

std::int64_t steps_of(const Optimizer& optimizer, const Parameters& parameters, const std::string& name = "p0") {
  return state_tensors(optimizer, names_of(parameters)).at(name + "/step").item<std::int64_t>();
}

TEST(Fused, StepsAsTorchDoes) {
  for (const Kind& kind : kinds()) {
    const Parameters one = parameters(), two = parameters();
    const auto plain = kind.plain(one), fast = kind.fused(two);
    EXPECT_EQ(fused(*plain), nullptr);
    EXPECT_NE(fused(*fast), nullptr);
    train(one, *plain, 0, 20);
    train(two, *fast, 0, 20);
    expect_close(one, two, kind.name);
    for (const Tensor& parameter : two) EXPECT_TRUE(parameter.isfinite().all().item<bool>()) << kind.name;
  }
}

// Each goes on where the other stopped, through a checkpoint and through torch's own archive.
TEST(Fused, StateIsTheOneOfTorch) {
  const ronde::tests::Folder folder;
  for (const Kind& kind : kinds()) {
    const Parameters straight = parameters();
    const auto whole = kind.plain(straight);
    train(straight, *whole, 0, 12);
    for (const bool fused_first : {true, false}) {
      const Parameters mine = parameters();
      const auto first = (fused_first ? kind.fused : kind.plain)(mine);
      const auto second = (fused_first ? kind.plain : kind.fused)(mine);
      train(mine, *first, 0, 5);
      Checkpoint kept;
      kept.info.step = 5;
      kept.optimizer = state_tensors(*first, names_of(mine));
      const auto path = save_checkpoint({.folder = folder.path(), .keep = 1}, kept);
      restore_state(*second, names_of(mine), load_checkpoint(path).optimizer);
      train(mine, *second, 5, 9);
      std::stringstream archive;
      torch::save(*second, archive);
      torch::load(*first, archive);
      train(mine, *first, 9, 12);
      expect_close(mine, straight, std::string(kind.name) + (fused_first ? ", fused first" : ", plain first"));
    }
  }
}

// The same number of steps, another state: what the device counts must be read again.
TEST(Fused, StateThatIsPutBack) {
  for (const Kind& kind : kinds()) {
    const Parameters one = parameters(), two = parameters();
    const auto plain = kind.plain(one), fast = kind.fused(two);
    std::map<std::string, Tensor> early;
    for (const auto& [optimizer, mine] : {std::pair{plain.get(), one}, {fast.get(), two}}) {
      train(mine, *optimizer, 1, 3);
      early.clear();
      for (const auto& [name, tensor] : state_tensors(*optimizer, names_of(mine))) early[name] = tensor.clone();
      train(mine, *optimizer, 3, 6);
      restore_state(*optimizer, names_of(mine), {early.begin(), early.end()});
      train(mine, *optimizer, 6, 9);
    }
    expect_close(one, two, kind.name);
  }
}

TEST(Fused, RatesAreWrittenWhenAStepIsPrepared) {
  Tensor w = torch::ones({2}, torch::kFloat64).requires_grad_();
  FusedSgd sgd(Parameters{w}, torch::optim::SGDOptions(0.5));
  w.mutable_grad() = torch::ones({2}, torch::kFloat64);
  sgd.prepare_step();
  set_learning_rate(sgd, 100);  // too late for this step
  sgd.step();
  EXPECT_EQ(w[0].item<double>(), 0.5);
  set_learning_rate(sgd, 0.25);
  sgd.step();  // prepares itself
  EXPECT_EQ(w[0].item<double>(), 0.25);
}

// What the host hears of a graph: that a step was captured, that it was run.
TEST(Fused, CountsFollowAGraph) {
  const Parameters mine = parameters();
  FusedAdam adam(mine, torch::optim::AdamOptions(0.01));
  train(mine, adam, 1, 3);  // all have a gradient but p2, in step 3
  EXPECT_EQ(steps_of(adam, mine), 2);
  set_gradients(mine, 3);
  adam.prepare_step();
  adam.captured();  // the capture failed before the step
  EXPECT_EQ(steps_of(adam, mine), 2);
  adam.prepare_step();
  adam.step();
  EXPECT_EQ(steps_of(adam, mine), 3);
  adam.captured();
  adam.captured();  // says nothing new
  EXPECT_EQ(steps_of(adam, mine), 2);
  for (int i = 0; i < 4; ++i) {
    adam.prepare_step();
    adam.replayed();
  }
  EXPECT_EQ(steps_of(adam, mine), 6);
  EXPECT_EQ(steps_of(adam, mine, "p2"), 2) << "it had no gradient when the step was captured";
}

// A step that found_inf forbids leaves no trace; the scale is taken out of the gradients.
TEST(Fused, ScalesAndSkips) {
  for (const Kind& kind : kinds()) {
    const Parameters one = parameters(), two = parameters();
    const auto plain = kind.plain(one), fast = kind.fused(two);
    const Tensor found_inf = torch::zeros({1}), scale = torch::full({1}, 64.0f);
    fused(*fast)->set_scaling(scale, found_inf);
    for (int step = 0; step < 12; ++step) {
      const bool skip = step == 3 || step == 7;
      found_inf.fill_(skip ? 1 : 0);
      set_gradients(two, step);
      for (const Tensor& parameter : two)
        if (parameter.grad().defined()) parameter.grad().mul_(skip ? INFINITY : 64);
      set_learning_rate(*fast, rate_of(step));
      fast->step();
      if (!skip) train(one, *plain, step, step + 1);
    }
    expect_close(one, two, kind.name);
    const auto a = state_tensors(*plain, names_of(one)), b = state_tensors(*fast, names_of(two));
    ASSERT_EQ(a.size(), b.size()) << kind.name;
    for (const auto& [name, tensor] : a) EXPECT_TRUE(torch::allclose(tensor, b.at(name), 1e-5, 1e-6)) << name;
    train(two, *fast, 12, 12);
    fused(*fast)->set_scaling({}, {});
    train(one, *plain, 12, 15);
    train(two, *fast, 12, 15);
    expect_close(one, two, kind.name);
  }
}

TEST(Fused, SparseGradientsAreForTorch) {
  const auto stepped = [](Optimizer& optimizer, Tensor& table) {
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      torch::embedding(table, torch::tensor({1, 4, 1}), -1, false, /*sparse=*/step == 1).square().sum().backward();
      optimizer.step();
    }
    return table.detach().clone();
  };
  Tensor one = torch::ones({6, 2}).requires_grad_(), two = torch::ones({6, 2}).requires_grad_();
  torch::optim::SGD plain(Parameters{one}, torch::optim::SGDOptions(0.1));
  FusedSgd fast(Parameters{two}, torch::optim::SGDOptions(0.1));
  EXPECT_TRUE(torch::allclose(stepped(plain, one), stepped(fast, two), 1e-6, 1e-6));
  fast.set_scaling(torch::ones({1}), torch::zeros({1}));
  EXPECT_NE(tests::failure([&] { stepped(fast, two); }).find("a gradient is sparse"), std::string::npos);
}

TEST(Fused, ClosureIsEvaluatedFirst) {
  Tensor w = torch::ones({2}).requires_grad_();
  FusedAdamW adamw(Parameters{w}, torch::optim::AdamWOptions(0.1));
  const Tensor loss = adamw.step([&] {
    adamw.zero_grad();
    Tensor sum = w.square().sum();
    sum.backward();
    return sum;
  });
  EXPECT_EQ(loss.item<double>(), 2);
  EXPECT_LT(w[0].item<double>(), 1);
}

OptimizerChoice with(const std::map<std::string, std::string>& changes) {
  Settings settings;
  for (const auto& [key, text] : changes) settings.set(key, text, "test");
  return training_options(settings).optimizer;
}

TEST(FusedSetting, Choices) {
  const Parameters mine = parameters();
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    EXPECT_NE(fused(*make_optimizer(with({{"optimizer.name", name}, {"optimizer.fused", "on"}}), mine)), nullptr);
    EXPECT_EQ(fused(*make_optimizer(with({{"optimizer.name", name}, {"optimizer.fused", "off"}}), mine)), nullptr);
    EXPECT_EQ(fused(*make_optimizer(with({{"optimizer.name", name}}), mine)), nullptr) << "auto, on a CPU";
  }
  for (const std::string name : {"rmsprop", "lars", "lamb"}) {
    EXPECT_EQ(fused(*make_optimizer(with({{"optimizer.name", name}}), mine)), nullptr);
    const std::string said =
        tests::failure([&] { make_optimizer(with({{"optimizer.name", name}, {"optimizer.fused", "on"}}), mine); });
    EXPECT_NE(said.find("optimizer.fused is on, but " + name + " has no fused kernel; use sgd, "), std::string::npos)
        << said;
  }
}

// With gradients of zero only weight decay moves anything: vectors are spared.
TEST(FusedSetting, SpareVectors) {
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    const Parameters one = parameters(), two = parameters();
    const std::map<std::string, std::string> wish{
        {"optimizer.name", name}, {"optimizer.spare_vectors", "true"}, {"optimizer.weight_decay", "0.1"}};
    auto fast_wish = wish;
    fast_wish["optimizer.fused"] = "on";
    const auto plain = make_optimizer(with(wish), one), fast = make_optimizer(with(fast_wish), two);
    for (const auto& [optimizer, mine] : {std::pair{plain.get(), one}, {fast.get(), two}})
      for (int step = 0; step < 3; ++step) {
        set_learning_rate(*optimizer, 0.3);
        for (Tensor parameter : mine) parameter.mutable_grad() = torch::zeros_like(parameter);
        optimizer->step();
      }
    expect_close(one, two, name);
    EXPECT_TRUE(two[1].equal(parameters()[1])) << name;
    EXPECT_FALSE(two[0].equal(parameters()[0])) << name;
  }
}

}  // namespace
}  // namespace ronde::train
