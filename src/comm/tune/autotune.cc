#include "ronde/comm/tune/autotune.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::array kFusionGrid{256 * kKiB, 1 * kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB};
constexpr std::array kFirstGrid{64 * kKiB, 256 * kKiB, 1 * kMiB, 4 * kMiB, 16 * kMiB};

constexpr std::size_t kLeastSteps = 5, kMostSteps = 64;  // of a try
constexpr double kTryUs = 20'000;                        // a try of short steps should take this long
constexpr std::size_t kRacers = 2;                       // besides the defaults
constexpr std::size_t kTurns = 5, kLeastWins = 4;        // of the race
constexpr double kLeastGain = 0.02;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Autotune::Autotune(const AutotuneOptions& options)
    : options_(options), current_(options.defaults), wanted_(kLeastSteps) {}

bool Autotune::step(double us) {
  if (done()) return false;
  ++steps_;
  times_.push_back(us);
  if (times_.size() < wanted_) return false;
  const double middle = median(times_);
  // The first try finds out how many steps one should have.
  const double enough = std::ceil(kTryUs / std::max(middle, 1.0));
  const auto better = static_cast<std::size_t>(std::clamp<double>(enough, kLeastSteps, kMostSteps));
  if (tries_.empty() && times_.size() < better) {
    wanted_ = better;
    return false;
  }
  times_.clear();
  tries_.push_back({current_, middle});
  if (phase_ == Phase::Race) {
    const auto racer = std::ranges::find(racers_, current_) - racers_.begin();
    results_[static_cast<std::size_t>(racer)].push_back(middle);
  }
  const Tuning before = current_;
  while (queue_.empty() && !done()) next_phase();
  if (done()) return true;
  current_ = queue_.back();
  queue_.pop_back();
  return current_ != before;
}

// What fits into one bucket is not cut, whatever the limit.
bool Autotune::same_buckets(const Tuning& a, const Tuning& b) const {
  const auto effective = [this](std::size_t bytes) { return std::min(bytes, options_.step_bytes); };
  return a.algorithm == b.algorithm && effective(a.limits.bytes) == effective(b.limits.bytes) &&
         effective(a.limits.first_bytes) == effective(b.limits.first_bytes);
}

const Autotune::Try& Autotune::best() const {
  return *std::ranges::min_element(tries_, {}, &Try::us);
}

// Those of this phase that have not been tried, around the best so far.
std::vector<Tuning> Autotune::candidates() const {
  const Tuning center = best().tuning;
  std::vector<Tuning> wanted;
  const auto add = [&](auto change) {
    Tuning tuning = center;
    change(tuning);
    tuning.limits.first_bytes = std::min(tuning.limits.first_bytes, tuning.limits.bytes);
    const auto same = [&](const Tuning& other) { return same_buckets(other, tuning); };
    if (std::ranges::any_of(tries_, same, &Try::tuning) || std::ranges::any_of(wanted, same)) return;
    wanted.push_back(tuning);
  };
  if (phase_ == Phase::Algorithm)
    for (std::size_t i = 0; i < options_.algorithms; ++i) add([i](Tuning& tuning) { tuning.algorithm = i; });
  if (phase_ == Phase::Fusion)
    for (const std::size_t bytes : kFusionGrid) add([bytes](Tuning& tuning) { tuning.limits.bytes = bytes; });
  if (phase_ == Phase::First)
    for (const std::size_t bytes : kFirstGrid) add([bytes](Tuning& tuning) { tuning.limits.first_bytes = bytes; });
  if (phase_ == Phase::Refine) {
    add([](Tuning& tuning) { tuning.limits.bytes /= 2; });
    add([](Tuning& tuning) { tuning.limits.bytes *= 2; });
  }
  return wanted;
}

void Autotune::next_phase() {
  switch (phase_) {
    case Phase::Defaults: phase_ = Phase::Algorithm; break;
    case Phase::Algorithm: phase_ = Phase::Fusion; break;
    case Phase::Fusion: phase_ = Phase::First; break;
    case Phase::First: phase_ = Phase::Refine; break;
    case Phase::Refine: phase_ = Phase::Race; return prepare_race();
    default: return decide();
  }
  queue_ = candidates();
}

void Autotune::prepare_race() {
  racers_ = {options_.defaults};
  std::vector<Try> ranking = tries_;
  std::ranges::stable_sort(ranking, {}, &Try::us);
  for (const Try& one : ranking)
    if (racers_.size() <= kRacers && one.us < tries_.front().us && one.tuning != options_.defaults)
      racers_.push_back(one.tuning);
  results_.resize(racers_.size());
  if (racers_.size() == 1) return;
  // Now forwards, now backwards: what drifts does no harm.
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    queue_.insert(queue_.end(), racers_.begin(), racers_.end());
    if (turn % 2 == 1) std::reverse(queue_.end() - static_cast<std::ptrdiff_t>(racers_.size()), queue_.end());
  }
}

void Autotune::decide() {
  phase_ = Phase::Done;
  current_ = options_.defaults;
  default_us_ = results_[0].empty() ? tries_.front().us : median(results_[0]);
  chosen_us_ = default_us_;
  for (std::size_t racer = 1; racer < racers_.size(); ++racer) {
    std::size_t wins = 0;
    for (std::size_t turn = 0; turn < kTurns; ++turn) wins += results_[racer][turn] < results_[0][turn] ? 1 : 0;
    const double us = median(results_[racer]);
    if (wins < kLeastWins || us > default_us_ * (1 - kLeastGain) || us >= chosen_us_) continue;
    current_ = racers_[racer];
    chosen_us_ = us;
  }
}

}  // namespace ronde::comm::detail
