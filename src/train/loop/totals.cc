#include "ronde/train/loop/totals.h"

#include <algorithm>
#include <span>

namespace ronde::train {

TotalsOfSteps::Numbers TotalsOfSteps::numbers_of(const Totals& totals) {
  Numbers numbers{totals.input_wait,  totals.comm_wait,     totals.interrupted, totals.keep,     totals.leave,
                  totals.noise.small, totals.noise.inverse, totals.noise.parts, totals.noise.big};
  std::ranges::copy(train::numbers_of(totals.score), numbers.begin() + kOwn);
  return numbers;
}

Totals TotalsOfSteps::totals_of(const Numbers& numbers) {
  ScoreNumbers score;
  std::copy(numbers.begin() + kOwn, numbers.end(), score.begin());
  return {.score = score_from(score),
          .input_wait = numbers[0],
          .comm_wait = numbers[1],
          .interrupted = numbers[2],
          .keep = numbers[3],
          .leave = numbers[4],
          .noise = {.small = numbers[5], .inverse = numbers[6], .parts = numbers[7], .big = numbers[8]}};
}

std::optional<Totals> TotalsOfSteps::exchange(const Totals& mine) {
  const auto before = last();
  travelling_ = numbers_of(mine);
  step_ = mine.step;
  learning_rate_ = mine.learning_rate;
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
  Totals all = totals_of(travelling_);
  all.step = step_;
  all.learning_rate = learning_rate_;
  return all;
}

}  // namespace ronde::train
