// LARS and LAMB against what the papers say, written once more in plain loops.
#include "ronde/train/optim/lars.h"
#include "ronde/base/settings/settings.h"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/thread_job.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/train/optim/lamb.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

using torch::Tensor;
using Numbers = std::vector<double>;

double norm_of(const Numbers& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

Numbers numbers_of(const Tensor& tensor) {
  const Tensor flat = tensor.detach().contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

double distance(const Tensor& tensor, const Numbers& expected) {
  const Numbers found = numbers_of(tensor);
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) most = std::max(most, std::abs(found[i] - expected[i]));
  return most;
}

// Gradients that differ from step to step, and learning rates that warm up from zero and fall.
Tensor gradient_of(const Tensor& parameter, int step) {
  const auto i = torch::arange(parameter.numel(), torch::kFloat64);
  return ((i * 0.7 + step).sin() + parameter.detach().flatten() * 0.3).view(parameter.sizes());
}
double rate_of(int step) {
  return step < 4 ? 2.0 * step / 4 : 2.0 * (1 - (step - 4) / 20.0);
}
Tensor weights(std::vector<std::int64_t> shape) {
  const std::int64_t count = c10::multiply_integers(shape);
  return ((torch::arange(count, torch::kFloat64) * 1.3).cos() + 0.2).view(shape).set_requires_grad(true);
}

// Algorithm 1 of arXiv:1708.03888, with equation 12 of arXiv:1706.02677 for changes of the rate where `correct`.
struct PlainLars {
  double momentum, decay, trust;
  bool correct, nesterov;
  Numbers w, v = {};
  double last_rate = 0;

  void step(const Numbers& g, double rate) {
    if (v.empty()) v.assign(w.size(), 0.0);
    const double local = trust * norm_of(w) / (norm_of(g) + decay * norm_of(w));
    const double change = correct && last_rate > 0 ? rate / last_rate : 1;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double now = rate * local * (g[i] + decay * w[i]);
      v[i] = momentum * change * v[i] + now;
      w[i] -= nesterov ? momentum * v[i] + now : v[i];
    }
    last_rate = rate;
  }
};

TEST(Lars, IsThatOfThePaperStepByStep) {
  for (const bool correct : {false, true}) {
    for (const bool nesterov : {false, true}) {
      Tensor w = weights({5, 3});
      Lars lars({w}, LarsOptions(0).momentum(0.9).weight_decay(1e-2).trust(0.02).correct(correct).nesterov(nesterov));
      PlainLars plain{
          .momentum = 0.9, .decay = 1e-2, .trust = 0.02, .correct = correct, .nesterov = nesterov, .w = numbers_of(w)};
      // A corrected rate of zero has nothing to divide by: the plain form begins above it.
      for (int step = correct ? 1 : 0; step < 20; ++step) {
        w.mutable_grad() = gradient_of(w, step);
        set_learning_rate(lars, rate_of(step));
        plain.step(numbers_of(w.grad()), rate_of(step));
        lars.step();
        ASSERT_LT(distance(w, plain.w), 1e-13) << "step " << step << (correct ? ", corrected" : "");
      }
    }
  }
}

TEST(Lars, CorrectionMattersOnlyWhereTheRateChanges) {
  const auto after = [](bool correct, bool changing) {
    Tensor w = weights({4, 4});
    Lars lars({w}, LarsOptions(1).correct(correct));
    for (int step = 0; step < 12; ++step) {
      w.mutable_grad() = gradient_of(w, step);
      if (changing) set_learning_rate(lars, rate_of(step));
      lars.step();
    }
    return numbers_of(w);
  };
  EXPECT_LT(distance(torch::tensor(after(true, false), torch::kFloat64), after(false, false)), 1e-14);
  EXPECT_GT(distance(torch::tensor(after(true, true), torch::kFloat64), after(false, true)), 1e-5);
}

TEST(Lars, ARateOfZeroIsNoTrouble) {
  Tensor w = weights({3, 2});
  Lars lars({w}, LarsOptions(0));
  w.mutable_grad() = gradient_of(w, 0);
  const Numbers before = numbers_of(w);
  lars.step();
  EXPECT_EQ(distance(w, before), 0);
  set_learning_rate(lars, 1);
  lars.step();
  EXPECT_TRUE(w.isfinite().all().item<bool>());
  EXPECT_GT(distance(w, before), 0);
}

// Zero weights with a gradient move as in plain SGD; zero gradients do no harm.
TEST(Lars, NormsOfZeroGiveARatioOfOne) {
  Tensor bias = torch::zeros({3}, torch::kFloat64).requires_grad_(), still = weights({2, 2});
  Lars lars({bias, still}, LarsOptions(0.5).momentum(0).weight_decay(0.1));
  bias.mutable_grad() = torch::ones({3}, torch::kFloat64);
  still.mutable_grad() = torch::zeros({2, 2}, torch::kFloat64);
  const Tensor before = still.detach().clone();
  lars.step();
  EXPECT_LT(distance(bias, {-0.5, -0.5, -0.5}), 1e-15);
  EXPECT_LT(distance(still, numbers_of(before * (1 - 0.5 * 0.1))), 1e-15);
}

TEST(Lars, AZeroLayerAtTheStartIsRefused) {
  torch::nn::Sequential net(torch::nn::Linear(3, 2));
  auto linear = net->ptr<torch::nn::LinearImpl>(0);
  torch::nn::init::zeros_(linear->bias);
  Lars lars(net->parameters(), LarsOptions(1));
  EXPECT_NO_THROW(require_norms(lars, *net)) << "biases may begin at zero";
  torch::nn::init::zeros_(linear->weight);
  try {
    require_norms(lars, *net);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("that of '0.weight' is zero"), std::string::npos) << error.message();
  }
  torch::optim::SGD sgd(net->parameters(), 0.1);
  EXPECT_NO_THROW(require_norms(sgd, *net));
}

// Algorithm 2 of arXiv:1904.00962.
struct PlainLamb {
  double beta1, beta2, eps, decay;
  Numbers w, m = {}, v = {};
  int t = 0;

  void step(const Numbers& g, double rate) {
    if (m.empty()) m.assign(w.size(), 0.0), v.assign(w.size(), 0.0);
    ++t;
    Numbers u(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(beta1, t)), v_hat = v[i] / (1 - std::pow(beta2, t));
      u[i] = m_hat / (std::sqrt(v_hat) + eps) + decay * w[i];
    }
    const double ratio = norm_of(w) / norm_of(u);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * ratio * u[i];
  }
};

TEST(Lamb, IsThatOfThePaperStepByStep) {
  Tensor w = weights({5, 3});
  Lamb lamb({w}, LambOptions(0).betas({0.8, 0.95}).weight_decay(0.02));
  PlainLamb plain{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .decay = 0.02, .w = numbers_of(w)};
  for (int step = 0; step < 20; ++step) {
    w.mutable_grad() = gradient_of(w, step);
    set_learning_rate(lamb, 0.02 * rate_of(step));
    plain.step(numbers_of(w.grad()), 0.02 * rate_of(step));
    lamb.step();
    ASSERT_LT(distance(w, plain.w), 1e-13) << "step " << step;
  }
}

TEST(Lamb, NormsOfZeroGiveARatioOfOne) {
  Tensor bias = torch::zeros({2}, torch::kFloat64).requires_grad_(), still = weights({2, 2});
  Lamb lamb({bias, still}, LambOptions(0.5));
  bias.mutable_grad() = torch::full({2}, 3.0, torch::kFloat64);
  still.mutable_grad() = torch::zeros({2, 2}, torch::kFloat64);
  const Numbers before = numbers_of(still);
  lamb.step();
  EXPECT_LT(distance(bias, {-0.5, -0.5}), 1e-5);  // Adam's first step is one of the learning rate
  EXPECT_EQ(distance(still, before), 0);
}

OptimizerChoice with(const std::map<std::string, std::string>& changes) {
  Settings settings;
  for (const auto& [key, text] : changes) settings.set(key, text, "test");
  return training_options(settings).optimizer;
}

// With gradients of zero only weight decay moves anything: that of vectors is spared, for every optimizer.
TEST(Optimizers, SpareVectors) {
  for (const std::string name : {"sgd", "adam", "adamw", "rmsprop", "adagrad", "lars", "lamb"}) {
    for (const bool spare : {false, true}) {
      const auto choice = with({{"optimizer.name", name},
                                {"optimizer.spare_vectors", spare ? "true" : "false"},
                                {"optimizer.weight_decay", "0.1"},
                                {"optimizer.momentum", "0"}});
      Tensor matrix = weights({3, 2}), vector = weights({4});
      const Numbers matrix_before = numbers_of(matrix), vector_before = numbers_of(vector);
      const auto optimizer = make_optimizer(choice, {matrix, vector});
      EXPECT_EQ(optimizer->param_groups().size(), spare ? 2u : 1u);
      set_learning_rate(*optimizer, 0.3);  // reaches all groups
      matrix.mutable_grad() = torch::zeros_like(matrix);
      vector.mutable_grad() = torch::zeros_like(vector);
      optimizer->step();
      EXPECT_GT(distance(matrix, matrix_before), 1e-3) << name;
      EXPECT_EQ(distance(vector, vector_before) > 1e-3, !spare) << name;
      EXPECT_EQ(distance(vector, vector_before) == 0, spare) << name;
    }
  }
}

TEST(Optimizers, SparedVectorsAreNotScaled) {
  Tensor matrix = weights({3, 2}), vector = weights({4});
  const Numbers before = numbers_of(vector);
  const auto lars =
      make_optimizer(with({{"optimizer.name", "lars"}, {"optimizer.spare_vectors", "true"}, {"optimizer.lr", "0.5"}}),
                     {matrix, vector});
  matrix.mutable_grad() = torch::ones_like(matrix);
  vector.mutable_grad() = torch::ones_like(vector);
  lars->step();
  Numbers expected = before;
  for (double& value : expected) value -= 0.5;
  EXPECT_LT(distance(vector, expected), 1e-15);
}

TEST(Optimizers, KnobsThatCannotBe) {
  const std::vector<Tensor> parameters{weights({2, 2})};
  EXPECT_THROW(make_optimizer(with({{"optimizer.nesterov", "true"}, {"optimizer.momentum", "0"}}), parameters), Error);
  for (const char* name : {"adam", "adamw", "lamb"})
    EXPECT_THROW(make_optimizer(with({{"optimizer.name", name}, {"optimizer.beta2", "1"}}), parameters), Error) << name;
}

// Three ranks with a third of a batch each give what one gives with all of it.
TEST(Optimizers, LarsAndLambShareGradients) {
  const auto train = [](int ranks, const std::string& name) {
    std::vector<Numbers> found(static_cast<std::size_t>(ranks));
    comm::run_ranks(ranks, [&](comm::Engine& engine) {
      Tensor w = weights({6, 4}), b = torch::zeros({6}, torch::kFloat64).requires_grad_();
      const auto inner =
          make_optimizer(with({{"optimizer.name", name}, {"optimizer.lr", "0.3"}, {"optimizer.trust", "0.1"}}), {w, b});
      DistributedOptimizer optimizer(*inner, {{"w", w}, {"b", b}}, engine.world());
      for (int step = 0; step < 8; ++step) {
        optimizer.zero_grad();
        const Tensor inputs = (torch::arange(12 * 4, torch::kFloat64).view({12, 4}) * 0.37 + step).sin();
        const Tensor mine = inputs.slice(0, 12 * engine.rank() / ranks, 12 * (engine.rank() + 1) / ranks);
        (torch::linear(mine, w, b).sub(1).square().sum() * ranks / 12.0).backward();
        optimizer.step();
      }
      found[static_cast<std::size_t>(engine.rank())] = numbers_of(torch::cat({w.flatten(), b}));
    });
    for (const Numbers& one : found) EXPECT_EQ(one, found[0]);
    return found[0];
  };
  for (const std::string name : {"lars", "lamb"})
    EXPECT_LT(distance(torch::tensor(train(3, name), torch::kFloat64), train(1, name)), 1e-9) << name;
}

}  // namespace
}  // namespace ronde::train
