#include "ronde/data/pipeline/engine.h"

#include <algorithm>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/data/pipeline/tuning.h"
#include "ronde/topology/host.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::data {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFirstAhead = 2, kMostAhead = 64;
constexpr auto kBetweenTunings = 50ms;

}  // namespace

Engine::Engine(const PipelineOptions& options, int parts, Budget* all)
    : options_(options),
      threads_(options.threads > 0 ? options.threads : topology::usable_cores()),
      all_(options.memory, all),
      budget_((options.memory - options.memory / 4) / static_cast<std::size_t>(std::max(parts, 1)), &all_),
      scratch_(options.memory / 4, &all_),
      ahead_(options.ahead > 0 ? options.ahead : kFirstAhead),
      tuned_at_(monotonic_now()) {}

Engine::~Engine() {
  stop_.request_stop();
}

Issuer& Engine::begin(IssuerOptions options) {
  options.ahead = ahead_;
  auto issuer = std::make_unique<Issuer>(std::move(options), budget_, stop());
  issuer_ = issuer.get();
  last_ = std::move(issuer);
  return *issuer_;
}

void Engine::add_stage(StageOptions options, Stage::Work work, int fixed) {
  options.recorder = options_.recorder;
  if (fixed > 0) options.threads = fixed;
  const trace::Name counter =
      options_.recorder ? options_.recorder->intern(options.name + " ready") : trace::Name("ready");
  auto stage = std::make_unique<Stage>(std::move(options), std::move(last_), std::move(work), stop());
  stages_.push_back({stage.get(), fixed, counter});
  last_ = std::move(stage);
  stages_.back().stage->start();  // only now: if it fails, the others are told to stop before they are joined
}

void Engine::wrap(const std::function<std::unique_ptr<Stream>(std::unique_ptr<Stream>)>& make) {
  last_ = make(std::move(last_));
}

std::optional<Run> Engine::next() {
  const auto since = monotonic_now();
  trace::Span span(trace::span_names::kWaitForInput, "input");
  auto run = last_->next();
  span.end();
  waited_ += monotonic_now() - since;
  if (run) tune_now_and_then();
  return run;
}

std::vector<StageStats> Engine::stats() const {
  std::vector<StageStats> all;
  for (const Known& known : stages_) all.push_back(known.stage->stats());
  return all;
}

void Engine::tune_now_and_then() {
  const auto now = monotonic_now();
  if (now - tuned_at_ < kBetweenTunings) return;
  const std::vector<StageStats> all = stats();
  for (std::size_t i = 0; i < all.size(); ++i) trace::counter(stages_[i].counter, all[i].ready);
  const auto full = issuer_ ? issuer_->waited_for_turn() : std::chrono::nanoseconds(0);
  const std::size_t group = issuer_ ? issuer_->group_bytes() : 0;
  const std::size_t fitting = group > 0 ? budget_.limit() / 10 * 9 / group : kMostAhead;
  const Tuning tuning =
      tune({.stages = difference(all, stats_then_),
            .elapsed = now - tuned_at_,
            .starved = waited_ - waited_then_,
            .full = full - full_then_,
            .threads = threads_,
            .ahead = ahead_,
            .most_ahead = options_.ahead > 0 ? ahead_ : std::clamp<std::size_t>(fitting, 1, kMostAhead)});
  for (std::size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i].fixed == 0 && tuning.threads[i] != all[i].threads) stages_[i].stage->set_threads(tuning.threads[i]);
  if (issuer_ && tuning.ahead != ahead_) issuer_->set_ahead(tuning.ahead);
  ahead_ = tuning.ahead;
  tuned_at_ = now;
  waited_then_ = waited_;
  full_then_ = full;
  stats_then_ = all;
}

}  // namespace ronde::data
