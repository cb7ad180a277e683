#include "ronde/train/totals.h"

namespace ronde::train {
namespace {

std::array<double, 6> numbers_of(const Totals& totals) {
  return {totals.loss, totals.correct, totals.samples, totals.input_wait, totals.comm_wait, totals.interrupted};
}

Totals totals_of(const std::array<double, 6>& numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

}  // namespace

void Totals::count(const torch::Tensor& outputs, const torch::Tensor& labels, const models::Loss& loss_sum) {
  torch::NoGradGuard no_grad;
  samples += static_cast<double>(labels.size(0));
  loss += loss_sum(outputs, labels).item<double>();
  correct += static_cast<double>((outputs.argmax(1) == labels).sum().item<std::int64_t>());
}

Totals& Totals::operator+=(const Totals& other) {
  auto sums = numbers_of(*this);
  const auto more = numbers_of(other);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  return *this = totals_of(sums);
}

Totals Totals::over_all(const comm::Group& group) const {
  auto numbers = numbers_of(*this);
  if (group.size() > 1) group.run({.input = comm::buffer_of(std::span(numbers))});
  return totals_of(numbers);
}

std::optional<Totals> TotalsOfSteps::exchange(const Totals& mine) {
  const auto before = last();
  travelling_ = numbers_of(mine);
  comm::Request request;
  request.name = "totals of a step";
  request.input = comm::buffer_of(std::span(travelling_));
  handle_ = group_.submit(std::move(request));
  return before;
}

std::optional<Totals> TotalsOfSteps::last() {
  if (!handle_) return {};
  handle_.wait();
  handle_ = {};
  return totals_of(travelling_);
}

}  // namespace ronde::train
