#include "ronde/train/loop/step_numbers.h"

#include <algorithm>
#include <utility>

#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::train {

// Pinning memory makes a GPU wait: what a training needs is there before its first step.
StepNumbers::StepNumbers(torch::Device device) : device_(device) {
  const auto stream = device::Stream::borrow(device.is_cuda() ? device.index() : device::kHost, nullptr);
  std::vector<Slot> some;
  for (int i = 0; i < 3; ++i) some.push_back(free_slot(stream));
  free_ = std::move(some);
}

StepNumbers::Slot StepNumbers::free_slot(const device::Stream& stream) {
  if (!free_.empty()) {
    Slot slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }
  return {.host = torch::empty({kStepValues}, torch::TensorOptions(torch::kFloat64).pinned_memory(device_.is_cuda())),
          .arrived = device::Event(stream),
          .facts = {}};
}

void StepNumbers::send(const StepFacts& facts, const torch::Tensor& values) {
  const torch::NoGradGuard no_grad;
  const device::Stream stream = parallel::current_stream(values.device());
  Slot slot = free_slot(stream);
  slot.facts = facts;
  slot.host.copy_(values, /*non_blocking=*/true);
  slot.arrived.record(stream);
  on_their_way_.push_back(std::move(slot));
}

std::optional<StepNumbers::Read> StepNumbers::read(std::size_t most_left) {
  if (on_their_way_.size() <= most_left) return {};
  Slot slot = std::move(on_their_way_.front());
  on_their_way_.pop_front();
  if (!slot.arrived.ready()) {
    RONDE_SPAN(trace::span_names::kWaitForDevice, "wait");
    slot.arrived.synchronize();
  }
  Read read{.facts = slot.facts, .values = {}};
  std::copy_n(slot.host.const_data_ptr<double>(), kStepValues, read.values.begin());
  free_.push_back(std::move(slot));
  return read;
}

}  // namespace ronde::train
