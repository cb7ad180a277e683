#include <algorithm>
#include <cmath>
#include <map>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/rungs.h"
#include "ronde/tune/schedulers/scheduler.h"

// Asynchronous successive halving, promotion variant, as in the paper (Li et al., arXiv 1810.05934): every trial pauses
// at each rung. A free slot takes the best of a rung to the next one, if it is among the best 1/factor there, and
// starts a new trial otherwise. Weak trials that came early do not run on, which they do in the stopping variant.
namespace ronde::tune {
namespace {

struct Reached {
  double score;
  bool promoted = false;
};

struct Rung {
  double time;
  std::map<int, Reached> trials;
};

class AshaPromotion : public Scheduler {
 public:
  explicit AshaPromotion(const SchedulerOptions& options)
      : longest_(number_option(options.options, "max_t", 100, 1)),
        factor_(number_option(options.options, "reduction_factor", 4, 1)) {
    const double grace = number_option(options.options, "grace_period", 1, 0);
    if (!(factor_ > 1)) throw Error::bad_input("reduction_factor must be above 1, got {}", factor_);
    if (!(grace > 0) || grace > longest_)
      throw Error::bad_input("grace_period must be above 0 and at most max_t ({}), got {}", longest_, grace);
    for (const double time : rung_times(grace, longest_, factor_, 0)) rungs_.push_back({time, {}});
  }

  Decision on_report(const Report& report) override {
    if (report.time >= longest_) return {.kind = Decision::Kind::Stop, .is_complete = true};
    const bool reached = record(report);
    return {.kind = reached ? Decision::Kind::Pause : Decision::Kind::Continue, .save = reached};
  }

  void on_complete(const Report& last) override {
    record(last);
    for (Rung& rung : rungs_)
      if (const auto found = rung.trials.find(last.trial); found != rung.trials.end()) found->second.promoted = true;
  }

  void on_lost(int trial) override {
    for (Rung& rung : rungs_) rung.trials.erase(trial);
  }

  std::optional<int> resume(std::span<const int> paused, bool /*all_added*/, int /*running*/) override {
    for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung)
      if (const auto trial = best_to_promote(*rung, paused)) {
        rung->trials.at(*trial).promoted = true;
        return trial;
      }
    return {};
  }

 private:
  // Whether the report is the first at some rung, the highest that it has reached.
  bool record(const Report& report) {
    for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
      if (!(report.time >= rung->time)) continue;
      return rung->trials.emplace(report.trial, Reached{report.score}).second;
    }
    return false;
  }

  // The best floor(n / factor) of a rung's n trials may go on; the first of them that has not, and is paused.
  std::optional<int> best_to_promote(const Rung& rung, std::span<const int> paused) const {
    std::vector<std::pair<double, int>> ranked;
    for (const auto& [trial, reached] : rung.trials)
      ranked.emplace_back(std::isnan(reached.score) ? HUGE_VAL : -reached.score, trial);
    std::ranges::sort(ranked);
    const auto best = static_cast<std::size_t>(std::floor(static_cast<double>(ranked.size()) / factor_ + 1e-9));
    for (std::size_t i = 0; i < best; ++i) {
      const int trial = ranked[i].second;
      if (!rung.trials.at(trial).promoted && std::ranges::binary_search(paused, trial)) return trial;
    }
    return {};
  }

  double longest_, factor_;
  std::vector<Rung> rungs_;
};

}  // namespace

SchedulerEntry asha_promotion_entry() {
  return {.name = "asha_promotion",
          .help = "pauses every trial at each rung, and resumes the best of a rung when a slot is free",
          .options = {"max_t", "grace_period", "reduction_factor"},
          .needs_checkpoints = true,
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            return std::make_unique<AshaPromotion>(options);
          }};
}

}  // namespace ronde::tune
