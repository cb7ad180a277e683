#include "ronde/data/pipeline/tuning.h"

#include <algorithm>
#include <cmath>

namespace ronde::data {
namespace {

constexpr double kStarving = 0.01;  // share of the time that may be waited for without doing anything about it
constexpr double kNoRoom = 0.05;
constexpr int kMostWaiting = 32;  // threads that wait for storage

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double cost_of(const StageStats& stage) {  // seconds a sample
  return stage.samples > 0 ? seconds(stage.busy) / static_cast<double>(stage.samples) : 0;
}

// Each stage gets one, and each further one goes where a thread has most to do.
void share_out(const TuningFacts& facts, std::vector<int>& threads) {
  int left = facts.threads;
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    if (facts.stages[i].waits) continue;
    threads[i] = 1;
    --left;
  }
  while (left-- > 0) {
    std::size_t neediest = facts.stages.size();
    double most = 0;
    for (std::size_t i = 0; i < facts.stages.size(); ++i) {
      const double load = facts.stages[i].waits ? 0 : cost_of(facts.stages[i]) / threads[i];
      if (load > most) {
        most = load;
        neediest = i;
      }
    }
    if (neediest == facts.stages.size()) return;
    ++threads[neediest];
  }
}

}  // namespace

Tuning tune(const TuningFacts& facts) {
  Tuning tuning{.threads = {}, .ahead = facts.ahead};
  for (const StageStats& stage : facts.stages) tuning.threads.push_back(stage.threads);
  if (seconds(facts.starved) < kStarving * seconds(facts.elapsed)) return tuning;

  share_out(facts, tuning.threads);
  double possible = 0;  // samples a second that the computing stages allow
  for (std::size_t i = 0; i < facts.stages.size(); ++i)
    if (const double cost = cost_of(facts.stages[i]); !facts.stages[i].waits && cost > 0) {
      const double rate = tuning.threads[i] / cost;
      possible = possible > 0 ? std::min(possible, rate) : rate;
    }
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    if (!facts.stages[i].waits) continue;
    const double wanted = std::ceil(possible * cost_of(facts.stages[i]));
    tuning.threads[i] = std::clamp(static_cast<int>(std::min<double>(wanted, kMostWaiting)), 1,
                                   std::min(kMostWaiting, 2 * facts.stages[i].threads));
  }
  const bool was_full = seconds(facts.full) > kNoRoom * seconds(facts.elapsed);
  if (was_full) tuning.ahead = std::max(facts.ahead, std::min(2 * facts.ahead, facts.most_ahead));
  return tuning;
}

}  // namespace ronde::data
