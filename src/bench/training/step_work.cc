#include "ronde/bench/training/step_work.h"

#include <chrono>
#include <ranges>

#include "ronde/base/error.h"

namespace ronde::bench::detail {
namespace {

// Keeps the core busy, as computation does.
void compute_for(double us) {
  if (us <= 0.0) return;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double, std::micro>(us);
  while (Clock::now() < end) {
  }
}

}  // namespace

StepWork::StepWork(comm::Engine& engine, std::vector<Parameter> parameters, double compute_us)
    : engine_(engine),
      handles_(parameters.size()),
      whole_(elements_of(parameters)),
      compute_us_(compute_us / static_cast<double>(parameters.size())) {
  for (auto& [name, shape] : std::views::reverse(parameters)) {
    Gradient gradient{.name = std::move(name), .values = std::vector<float>(shape.elements()), .buffer = {}};
    gradient.buffer = {.data = gradient.values.data(), .dtype = comm::DType::F32, .shape = shape};
    gradients_.push_back(std::move(gradient));
  }
}

double StepWork::time(const Command& command) {
  if (command.what == "step") {
    check_step();
    return time_rounds(command, [&] { step(); });
  }
  const comm::Group world = engine_.world();
  return time_rounds(command, [&] { world.run({.name = "contiguous", .input = comm::buffer_of(whole_)}); });
}

void StepWork::step() {
  const comm::Group world = engine_.world();
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    compute_for(compute_us_);
    handles_[i] = world.allreduce(gradients_[i].name, gradients_[i].buffer);
  }
  for (const comm::Handle& handle : handles_) handle.wait();
}

// One value of each tensor is 1 on every rank for one step, outside the time.
void StepWork::check_step() {
  for (Gradient& gradient : gradients_) gradient.values.back() = 1.0F;
  step();
  for (Gradient& gradient : gradients_) {
    if (gradient.values.back() != static_cast<float>(engine_.size()))
      throw Error(Error::Kind::Bug, fmt::format("gradient '{}': wrong sum of {} ones: got {}", gradient.name,
                                                engine_.size(), gradient.values.back()));
    gradient.values.back() = 0.0F;
  }
}

}  // namespace ronde::bench::detail
