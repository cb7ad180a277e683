#include "ronde/parallel/distributed_optimizer.h"

#include <chrono>
#include <cmath>
#include <map>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/gradient_set.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::parallel {
namespace {

using torch::Tensor;

constexpr double kTiny = 1e-6;  // beside a norm, as torch has it

// Over all of them, in f64. REQUIRES: there is one.
Tensor norm_of(const std::vector<Tensor>& gradients) {
  std::vector<Tensor> dense;
  for (const Tensor& gradient : gradients)
    dense.push_back(gradient.is_sparse() ? gradient.coalesce().values() : gradient);
  return torch::stack(at::_foreach_norm(dense)).to(torch::kFloat64).norm();
}

// By a number in device memory. Those of a short type are multiplied in f32, as they are by a number of the host.
void multiply(const std::vector<Tensor>& gradients, const Tensor& factor) {
  std::map<torch::ScalarType, std::vector<Tensor>> by_type;
  for (const Tensor& gradient : gradients) {
    const Tensor values = gradient.is_sparse() ? gradient._values() : gradient;
    if (c10::isReducedFloatingType(values.scalar_type()))
      values.copy_(values.to(torch::kFloat32).mul_(factor.to(torch::kFloat32)));
    else
      by_type[values.scalar_type()].push_back(values);
  }
  for (auto& [type, some] : by_type) at::_foreach_mul_(some, factor.to(type));
}

}  // namespace

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

  std::vector<Tensor> defined_gradients() const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : parameters())
      if (parameter.grad().defined()) all.push_back(parameter.grad());
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
        "step() or synchronize() was called twice without a backward pass between: the gradients were already used");
  RONDE_SPAN(trace::span_names::kSynchronize);
  const auto begin = monotonic_now();
  impl_->gradients.reduce();
  impl_->stepped = false;
  impl_->seconds_waited += std::chrono::duration<double>(monotonic_now() - begin).count();
}

double DistributedOptimizer::clip_grad_norm(double most) {
  synchronize();
  torch::NoGradGuard no_grad;
  std::vector<Tensor> gradients = impl_->defined_gradients();
  if (gradients.empty()) return 0;
  const double norm = norm_of(gradients).item<double>();
  const double scale = most / (norm + kTiny);
  if (std::isfinite(norm) && scale < 1)
    for (torch::Tensor& gradient : gradients) gradient.mul_(scale);
  return norm;
}

Tensor DistributedOptimizer::clip_grad_norm_on_device(double most) {
  synchronize();
  torch::NoGradGuard no_grad;
  const std::vector<Tensor> gradients = impl_->defined_gradients();
  if (gradients.empty()) return torch::zeros({}, torch::kFloat64);
  const Tensor norm = norm_of(gradients);
  // A factor of 1 leaves every bit as it is. (A number divided by a tensor would be its reciprocal, multiplied.)
  const Tensor scale = torch::full_like(norm, most).div_(norm + kTiny).clamp_max_(1);
  multiply(gradients, torch::where(norm.isfinite(), scale, torch::ones_like(scale)));
  return norm;
}

void DistributedOptimizer::measure_gradients(bool on) {
  impl_->gradients.measure(on);
}

GradientNorms DistributedOptimizer::gradient_norms() {
  synchronize();
  RONDE_SPAN("gradient norms");
  const Tensor values = gradient_norm_values().to(torch::kCPU);
  return {.local = values[0].item<double>(), .reduced = values[1].item<double>()};
}

torch::Tensor DistributedOptimizer::gradient_norm_values() {
  synchronize();
  const Tensor reduced = impl_->gradients.part_of_reduced_norm();
  return torch::stack({impl_->gradients.local_squared_norm().to(reduced.device()), reduced});
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
    RONDE_SPAN(trace::span_names::kOptimizer);
    loss = impl_->optimizer.step();
  }
  impl_->gradients.begin_round();
  impl_->gradients.follow(impl_->parameters());
  impl_->stepped = true;
  return loss;
}

void DistributedOptimizer::reduce_by(ReduceBucket reduce) {
  impl_->gradients.reduce_by(std::move(reduce));
}

std::vector<std::vector<torch::Tensor>> DistributedOptimizer::buckets() const {
  return impl_->gradients.buckets();
}

std::string DistributedOptimizer::why_not_reduced_by() const {
  return impl_->gradients.why_not_reduced_by();
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  if (const std::string name = impl_->gradients.first_on_its_way(); !name.empty())
    throw Error::bad_input(
        "zero_grad() was called while gradients are being reduced (the first is '{}'): call step() or synchronize() "
        "after backward(), and zero_grad() after that",
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
