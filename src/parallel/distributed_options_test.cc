// What a user may do besides plain steps, and what is said when it is not right.
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/test_training.h"

namespace ronde::parallel {
namespace {

using namespace tests;
using torch::Tensor;

Tensor vector_of(double value, std::int64_t length = 4) {
  return torch::full({length}, value, torch::kFloat64).requires_grad_();
}

struct Fixture {
  explicit Fixture(comm::Engine& engine, DistributedOptions options = {})
      : world(engine.world()), optimizer(sgd, {{"used", used}, {"other", other}}, world, std::move(options)) {}
  comm::Group world;
  Tensor used = vector_of(1), other = vector_of(2);
  torch::optim::SGD sgd{{used, other}, torch::optim::SGDOptions(1.0).weight_decay(0.5)};
  DistributedOptimizer optimizer;
};

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
  return "nothing was thrown";
}

#define EXPECT_COMPLAINT(act, words) \
  EXPECT_NE(complaint([&] { act; }).find(words), std::string::npos) << complaint([&] { act; })

// 'other' has a gradient on rank 0 alone: it counts as zero elsewhere, and all step.
TEST(DistributedOptions, AGradientThatSomeRanksLack) {
  comm::run_ranks(3, [](comm::Engine& engine) {
    Fixture f(engine);
    for (int step = 0; step < 6; ++step) {  // the same on all ranks, though what each rank has changes
      f.optimizer.zero_grad();
      Tensor loss = f.used.sum();
      if (engine.rank() == step % 3) loss = loss + 3 * f.other.sum();
      loss.backward();
      const Tensor before = f.other.detach().clone();
      f.optimizer.step();
      EXPECT_TRUE(torch::allclose(f.other, before - (1.0 + 0.5 * before), 1e-12, 1e-12)) << f.other;
    }
  });
}

// On no rank: it is left alone, weight decay and all, as one rank would.
TEST(DistributedOptions, AGradientThatAllRanksLack) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    for (int step = 0; step < 4; ++step) {
      f.optimizer.zero_grad();
      f.used.sum().backward();
      f.optimizer.step();
    }
    EXPECT_TRUE(f.other.equal(vector_of(2))) << f.other;
    EXPECT_FALSE(f.used.equal(vector_of(1)));
  });
}

// A rank that has run out of samples takes part without a backward pass.
TEST(DistributedOptions, ARankWithoutABackwardPass) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    f.optimizer.zero_grad();
    if (engine.rank() == 0) (f.used.sum() + f.other.sum()).backward();
    f.optimizer.step();
    EXPECT_TRUE(torch::allclose(f.used, vector_of(1 - (0.5 + 0.5)), 1e-12, 1e-12)) << f.used;
  });
}

TEST(DistributedOptions, GroupsWhosePartsAreMissing) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine, {.group_count = 1});
    for (int step = 0; step < 4; ++step) {
      f.optimizer.zero_grad();
      (step % 2 == 0 ? f.used.sum() : f.used.sum() + f.other.sum()).backward();
      f.optimizer.step();
    }
    EXPECT_TRUE(torch::allclose(f.other, vector_of(2 - 2 + (0 - 1)), 1e-12, 1e-12)) << f.other;
  });
}

Tensor train_embedding(comm::Engine& engine, bool sparse, bool as_dense, bool again = false) {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(10, 3).sparse(sparse));
  embedding->to(torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    embedding->weight.copy_(torch::arange(30, torch::kFloat64).view({10, 3}) / 30);
  }
  torch::optim::SGD sgd(embedding->parameters(), torch::optim::SGDOptions(0.5));
  DistributedOptimizer optimizer(sgd, named(*embedding), engine.world(),
                                 {.sparse_as_dense = as_dense, .sparse_again = again});
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    // Rows overlap between ranks, come twice on one, and in one step rank 0 has none at all.
    const int rank = engine.rank();
    if (step != 3 || rank != 0)
      embedding->forward(torch::tensor({rank, rank, rank + 1, 9 - rank})).square().sum().backward();
    optimizer.step();
    if (const Tensor& gradient = embedding->weight.grad(); gradient.defined()) {
      EXPECT_EQ(gradient.is_sparse(), sparse && (again || !as_dense || engine.size() == 1));
    }
  }
  return embedding->weight.detach().clone();
}

TEST(DistributedOptions, SparseGradientsEqualDenseOnes) {
  for (const int ranks : {1, 2, 3})
    comm::run_ranks(ranks, [](comm::Engine& engine) {
      const Tensor dense = train_embedding(engine, false, false);
      EXPECT_TRUE(torch::allclose(train_embedding(engine, true, false), dense, 1e-12, 1e-12));
      EXPECT_TRUE(torch::allclose(train_embedding(engine, true, true), dense, 1e-12, 1e-12));
      EXPECT_TRUE(torch::allclose(train_embedding(engine, true, true, true), dense, 1e-12, 1e-12));
    });
}

// A convolution's weights, channels last on some ranks.
std::string train_convolution(comm::Engine& engine, bool channels_last) {
  const auto last = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  Tensor weight = torch::arange(8 * 3 * 3 * 3, torch::kFloat64).view({8, 3, 3, 3}).contiguous(last).requires_grad_();
  const Tensor start = weight.detach().clone();
  torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(1.0));
  DistributedOptimizer optimizer(sgd, {{"weight", weight}}, engine.world());
  const Tensor factors = torch::arange(8 * 3 * 3 * 3, torch::kFloat64).view({8, 3, 3, 3}) / 7;
  try {
    (weight * factors * (engine.rank() + 1)).sum().backward();
    optimizer.step();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Mismatch);
    return error.what();
  }
  const double mean = (engine.size() + 1) / 2.0;
  EXPECT_TRUE(torch::allclose(weight, start - factors * mean, 1e-12, 1e-12));
  return "";
}

TEST(DistributedOptions, MemoryOrdersThatDifferAreAMismatch) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    EXPECT_EQ(train_convolution(engine, true), "");
    EXPECT_EQ(train_convolution(engine, false), "");
    const std::string text = train_convolution(engine, engine.rank() == 1);
    EXPECT_NE(text.find("'weight': ranks asked for different things"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1: allreduce (average) of f64 [8, 3, 3, 3] in memory order 0 2 3 1 (channels last)"),
              std::string::npos)
        << text;
    EXPECT_EQ(train_convolution(engine, true), "") << "the engine goes on";
  });
}

TEST(DistributedOptions, GradientsOfAGroupStayInIt) {
  comm::run_ranks(4, [](comm::Engine& engine) {
    const comm::Group even = engine.make_group({0, 2}), odd = engine.make_group({1, 3});
    const comm::Group mine = engine.rank() % 2 == 0 ? even : odd;
    Tensor weight = vector_of(0);
    torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(1.0));
    DistributedOptimizer optimizer(sgd, {{"weight", weight}}, mine);
    (weight.sum() * engine.rank()).backward();
    optimizer.step();
    EXPECT_TRUE(weight.equal(vector_of(engine.rank() % 2 == 0 ? -1 : -2))) << weight;
  });
}

TEST(DistributedOptions, TwoOptimizersOfOneGroup) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Tensor a = vector_of(0), b = vector_of(0);
    torch::optim::SGD first({a}, torch::optim::SGDOptions(1.0)), second({b}, torch::optim::SGDOptions(1.0));
    DistributedOptimizer generator(first, {{"weight", a}}, engine.world(), {.prefix = "generator."});
    DistributedOptimizer critic(second, {{"weight", b}}, engine.world(), {.prefix = "critic."});
    (a.sum() * engine.rank() + b.sum()).backward();  // both travel at once
    generator.step();
    critic.step();
    EXPECT_TRUE(a.equal(vector_of(-0.5)));
    EXPECT_TRUE(b.equal(vector_of(-1)));
  });
}

TEST(DistributedOptions, LbfgsTakesAClosure) {
  for (const int ranks : {1, 2})
    comm::run_ranks(ranks, [](comm::Engine& engine) {
      Tensor x = vector_of(5);
      torch::optim::LBFGS lbfgs({x}, torch::optim::LBFGSOptions(1.0));
      DistributedOptimizer optimizer(lbfgs, {{"x", x}}, engine.world());
      const double aim = engine.rank() == 0 ? 1.0 : 3.0;  // the mean of the ranks' losses is least in between
      for (int step = 0; step < 3; ++step)
        optimizer.step([&] {
          optimizer.zero_grad();
          Tensor loss = (x - aim).square().sum();
          loss.backward();
          return loss;
        });
      EXPECT_TRUE(torch::allclose(x, vector_of(engine.size() == 1 ? 1 : 2), 1e-6, 1e-6)) << x;
    });
}

TEST(DistributedOptions, SynchronizeShowsTheReducedGradientOnce) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    ((f.used.sum() + f.other.sum()) * engine.rank()).backward();
    f.optimizer.synchronize();
    f.optimizer.synchronize();
    EXPECT_TRUE(f.used.grad().equal(torch::full({4}, 0.5, torch::kFloat64)));
    f.optimizer.step();
    EXPECT_TRUE(f.used.equal(vector_of(0)));
  });
}

TEST(DistributedOptions, ClippingSparesWhatIsNotFinite) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    (f.used.sum() * (engine.rank() == 0 ? INFINITY : 1.0) + f.other.sum()).backward();
    EXPECT_TRUE(std::isinf(f.optimizer.clip_grad_norm(1.0)));
    EXPECT_TRUE(f.other.grad().equal(torch::ones({4}, torch::kFloat64)));
  });
}

// On the device the same is done to gradients of every type, and the norm is the same number, though nobody waits.
TEST(DistributedOptions, ClippingOnTheDeviceIsThatOfTheHost) {
  const auto clipped = [](comm::Engine& engine, double factor, bool on_device) {
    const Tensor doubles = vector_of(1), floats = torch::ones({3, 2}).requires_grad_(),
                 halves = torch::ones({5}, torch::kBFloat16).requires_grad_(),
                 table = torch::ones({6, 2}).requires_grad_();
    torch::optim::SGD sgd{{doubles, floats, halves, table}, 1.0};
    DistributedOptimizer optimizer(sgd, {{"a", doubles}, {"b", floats}, {"c", halves}, {"d", table}}, engine.world());
    const Tensor rows = torch::embedding(table, torch::tensor({1, 4, 1}), -1, false, /*sparse=*/true);
    ((doubles * torch::arange(4)).sum() * factor + (floats * torch::arange(2)).sum() * 0.7 +
     (halves * torch::arange(5)).sum() * 0.3 + rows.sum())
        .backward();
    std::vector<Tensor> found;
    if (on_device) {
      const Tensor norm = optimizer.clip_grad_norm_on_device(2.0);
      EXPECT_EQ(norm.scalar_type(), torch::kFloat64);
      found.push_back(norm);
    } else {
      found.push_back(torch::tensor(optimizer.clip_grad_norm(2.0), torch::kFloat64));
    }
    for (const Tensor& one : {doubles, floats, halves, table})
      found.push_back(one.grad().is_sparse() ? one.grad().to_dense() : one.grad());
    return found;
  };
  for (const double factor : {1.0, 1e-3, 0.0, double{INFINITY}, double{NAN}})
    comm::run_ranks(2, [&](comm::Engine& engine) {
      const auto host = clipped(engine, factor, false), device = clipped(engine, factor, true);
      ASSERT_EQ(host.size(), device.size());
      for (std::size_t i = 0; i < host.size(); ++i)
        EXPECT_TRUE(torch::allclose(host[i], device[i], 0, 0, /*equal_nan=*/true)) << factor << " " << i;
    });
  comm::run_ranks(1, [](comm::Engine& engine) {
    Fixture f(engine);
    f.optimizer.zero_grad();
    EXPECT_EQ(f.optimizer.clip_grad_norm_on_device(1.0).item<double>(), 0);
  });
}

// --- what is said ----------------------------------------------------------------------------------------------------

TEST(DistributedOptionsComplaint, StepTwice) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    (f.used.sum() + f.other.sum()).backward();
    f.optimizer.step();
    EXPECT_COMPLAINT(f.optimizer.step(), "twice without a backward pass between");
  });
}

TEST(DistributedOptionsComplaint, BackwardTwice) {
  for (const int ranks : {1, 2})
    comm::run_ranks(ranks, [](comm::Engine& engine) {
      Fixture f(engine);
      (f.used.sum() + f.other.sum()).backward();
      EXPECT_COMPLAINT(f.used.sum().backward(), "'used' was computed");
      engine.world().barrier().wait();  // whoever left now would be missed by a rank that has not begun
    });
}

TEST(DistributedOptionsComplaint, BackwardAfterSynchronize) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    (f.used.sum() + f.other.sum()).backward();
    f.optimizer.synchronize();
    EXPECT_COMPLAINT(f.used.sum().backward(), "after synchronize()");
  });
}

TEST(DistributedOptionsComplaint, ZeroGradTooEarly) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    (f.used.sum() + f.other.sum()).backward();
    EXPECT_COMPLAINT(f.optimizer.zero_grad(), "the first is 'used'");
    f.optimizer.step();
  });
}

TEST(DistributedOptionsComplaint, OptionsThatCannotBe) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    EXPECT_COMPLAINT(Fixture(engine, {.op = comm::ReduceOp::Max}), "not reduced with 'max'");
    EXPECT_COMPLAINT(Fixture(engine, {.op = comm::ReduceOp::Sum, .predivide = 2}), "works with average only");
    EXPECT_COMPLAINT(Fixture(engine, {.predivide = 0}), "above 0");
    EXPECT_COMPLAINT(Fixture(engine, {.accumulate = 0}), "at least 1 backward pass");
    Tensor a = vector_of(0), b = vector_of(0);
    torch::optim::SGD sgd({a, b}, torch::optim::SGDOptions(1.0));
    EXPECT_COMPLAINT(DistributedOptimizer(sgd, {{"a", a}, {"a", b}}, engine.world()), "the name 'a'");
  });
}

// Nothing touches freed memory when a backward pass ends by an exception and all is taken down.
TEST(DistributedOptions, MayGoWhileGradientsAreOnTheirWay) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    if (engine.rank() == 1) return;
    Fixture f(engine);
    try {
      (f.used.sum() + f.other.sum()).backward();
    } catch (const Error& error) {  // rank 1 may be gone already
      EXPECT_EQ(error.kind(), Error::Kind::PeerLost);
    }
  });
}

}  // namespace
}  // namespace ronde::parallel
