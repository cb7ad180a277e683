#include "ronde/parallel/distributed_optimizer.h"

#include <chrono>
#include <cmath>

#include "ronde/base/clock.h"
#include "ronde/base/error.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/gradient_set.h"
#include "ronde/trace/span.h"

namespace ronde::parallel {
struct DistributedOptimizer::Impl {
  Impl(torch::optim::Optimizer& inner, const NamedTensors& names, const comm::Group& ranks, DistributedOptions options)
      : optimizer(inner), group(ranks), local(options.local), gradients(names, ranks, std::move(options)) {}

  torch::optim::Optimizer& optimizer;
  comm::Group group;
  const bool local;
  GradientSet gradients;
  bool stepped = false;  // and nothing since
  double seconds_waited = 0;

  std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> all;
    for (const auto& one : optimizer.param_groups()) all.insert(all.end(), one.params().begin(), one.params().end());
    return all;
  }
};

DistributedOptimizer::DistributedOptimizer(torch::optim::Optimizer& optimizer, const NamedTensors& names,
                                           comm::Group group, DistributedOptions options)
    : impl_(std::make_unique<Impl>(optimizer, names, group, std::move(options))) {
  impl_->gradients.follow(impl_->parameters());
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::synchronize() {
  if (impl_->gradients.reduced()) return;
  if (impl_->stepped && !impl_->gradients.any())
    throw Error::bad_input(
        "step() or synchronize() was called again without a backward pass since the last step(): the gradients have "
        "been "
        "used already");
  RONDE_SPAN("synchronize");
  const auto begin = monotonic_now();
  impl_->gradients.reduce();
  impl_->stepped = false;
  impl_->seconds_waited += std::chrono::duration<double>(monotonic_now() - begin).count();
}

double DistributedOptimizer::clip_grad_norm(double most) {
  synchronize();
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients, norms;
  for (const torch::Tensor& parameter : impl_->parameters())
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  for (const torch::Tensor& gradient : gradients)
    norms.push_back((gradient.is_sparse() ? gradient.coalesce().values() : gradient).norm().to(torch::kFloat64));
  if (norms.empty()) return 0;
  const double norm = torch::stack(norms).norm().item<double>();
  constexpr double kTiny = 1e-6;  // as torch has it
  const double scale = most / (norm + kTiny);
  if (std::isfinite(norm) && scale < 1)
    for (torch::Tensor& gradient : gradients) gradient.mul_(scale);
  return norm;
}

void DistributedOptimizer::measure_gradients(bool on) {
  impl_->gradients.measure(on);
}

GradientNorms DistributedOptimizer::gradient_norms() {
  synchronize();
  RONDE_SPAN("gradient norms");
  return {.local = impl_->gradients.local_squared_norm(), .reduced = impl_->gradients.part_of_reduced_norm()};
}

torch::Tensor DistributedOptimizer::step(const torch::optim::Optimizer::LossClosure& closure) {
  torch::Tensor loss;
  if (closure) {
    loss = impl_->optimizer.step([&] {
      torch::Tensor mine = closure();
      synchronize();
      impl_->gradients.begin_round();  // the optimizer may call again
      return impl_->local ? mine.detach() : average(mine, impl_->group);
    });
  } else {
    synchronize();
    RONDE_SPAN("optimizer");
    loss = impl_->optimizer.step();
  }
  impl_->gradients.begin_round();
  impl_->gradients.follow(impl_->parameters());
  impl_->stepped = true;
  return loss;
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  if (const std::string name = impl_->gradients.first_on_its_way(); !name.empty())
    throw Error::bad_input(
        "zero_grad() was called while gradients are on their way ('{}' is the first): call step() or synchronize() "
        "after "
        "backward(), and zero_grad() after that",
        name);
  impl_->gradients.begin_round();
  impl_->gradients.follow(impl_->parameters());
  impl_->optimizer.zero_grad(set_to_none);
  impl_->stepped = false;
}

double DistributedOptimizer::seconds_waited() const {
  return impl_->seconds_waited;
}

torch::optim::Optimizer& DistributedOptimizer::optimizer() const {
  return impl_->optimizer;
}

NamedTensors named(const torch::nn::Module& module) {
  NamedTensors all;
  for (const auto& item : module.named_parameters()) all.emplace_back(item.key(), item.value());
  return all;
}

}  // namespace ronde::parallel
