#include "ronde/train/totals.h"

#include <cmath>
#include <span>

namespace ronde::train {

TotalsOfSteps::Numbers TotalsOfSteps::numbers_of(const Totals& totals) {
  const Score& score = totals.score;
  return {score.loss,
          static_cast<double>(score.samples),
          static_cast<double>(score.top1),
          static_cast<double>(score.top5),
          totals.input_wait,
          totals.comm_wait,
          totals.interrupted,
          totals.keep,
          totals.leave};
}

Totals TotalsOfSteps::totals_of(const Numbers& numbers) {
  const auto count = [&](std::size_t i) { return std::llround(numbers[i]); };
  return {.score = {.loss = numbers[0], .samples = count(1), .top1 = count(2), .top5 = count(3)},
          .input_wait = numbers[4],
          .comm_wait = numbers[5],
          .interrupted = numbers[6],
          .keep = numbers[7],
          .leave = numbers[8]};
}

std::optional<Totals> TotalsOfSteps::exchange(const Totals& mine) {
  const auto before = last();
  travelling_ = numbers_of(mine);
  comm::Request request;
  request.name = "totals of a step";
  request.input = comm::buffer_of(std::span<double>(travelling_));
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
