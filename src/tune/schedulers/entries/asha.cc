#include <cmath>
#include <map>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/rungs.h"
#include "ronde/tune/schedulers/scheduler.h"

// Asynchronous successive halving, stopping variant (Li et al., arXiv 1810.05934, as Ray Tune has it): a trial that
// reaches a rung goes on if it is among the best 1/factor of those that got there before it. Nothing is paused.
namespace ronde::tune {
namespace {

struct Rung {
  double time;
  std::map<int, double> scores;  // by trial
};

class Asha : public Scheduler {
 public:
  explicit Asha(const SchedulerOptions& options)
      : random_(options.seed, 0x61736861),
        longest_(number_option(options.options, "max_t", 100, 1)),
        factor_(number_option(options.options, "reduction_factor", 4, 1)),
        stop_last_(options.options.value("stop_last_trials", true)) {
    const double grace = number_option(options.options, "grace_period", 1, 0);
    const auto brackets = static_cast<int>(number_option(options.options, "brackets", 1, 1));
    if (!(factor_ > 1)) throw Error::bad_input("reduction_factor must be above 1, got {}", factor_);
    if (!(grace > 0) || grace > longest_)
      throw Error::bad_input("grace_period must be above 0 and at most max_t ({}), got {}", longest_, grace);
    for (int bracket = 0; bracket < brackets; ++bracket) {
      auto& rungs = brackets_.emplace_back();
      for (const double time : rung_times(grace, longest_, factor_, bracket)) rungs.push_back({time, {}});
    }
  }

  // Brackets with more rungs are likelier: in proportion to e^rungs.
  void on_add(int trial, Json& /*config*/) override {
    double sum = 0;
    for (const auto& rungs : brackets_) sum += std::exp(static_cast<double>(rungs.size()));
    double left = random_.uniform_double() * sum;
    std::size_t bracket = 0;
    while (bracket + 1 < brackets_.size() && left >= std::exp(static_cast<double>(brackets_[bracket].size())))
      left -= std::exp(static_cast<double>(brackets_[bracket++].size()));
    bracket_of_[trial] = bracket;
  }

  Decision on_report(const Report& report) override {
    if (stop_last_ && report.time >= longest_) return {.kind = Decision::Kind::Stop, .is_complete = true};
    const bool goes_on = record(report);
    return {.kind = goes_on ? Decision::Kind::Continue : Decision::Kind::Stop};
  }

  // The rung of the last report counts for those that follow, also where the trial was not to go on anyway.
  void on_complete(const Report& last) override { record(last); }

 private:
  // Whether it goes on. Only the highest rung that it has reached counts; a lower one that it has skipped is judged at
  // a later report, if that is still the highest without it.
  bool record(const Report& report) {
    const auto found = bracket_of_.find(report.trial);
    if (found == bracket_of_.end() || std::isnan(report.time)) return true;
    auto& rungs = brackets_[found->second];
    for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
      if (report.time < rung->time) continue;
      if (rung->scores.contains(report.trial)) {
        if (!stop_last_) return true;
        continue;
      }
      std::vector<double> others;
      for (const auto& [trial, score] : rung->scores) others.push_back(score);
      const auto cutoff = percentile(std::move(others), (1 - 1 / factor_) * 100);
      rung->scores[report.trial] = report.score;
      return !(cutoff && report.score < *cutoff);
    }
    return true;
  }

  Random random_;
  double longest_, factor_;
  bool stop_last_;
  std::vector<std::vector<Rung>> brackets_;
  std::map<int, std::size_t> bracket_of_;
};

}  // namespace

SchedulerEntry asha_entry() {
  return {.name = "asha",
          .aliases = {"async_hyperband", "asynchyperband"},
          .help = "stops a trial at a rung (1, 4, 16, ... iterations) where it is not among the best so far",
          .options = {"max_t", "grace_period", "reduction_factor", "brackets", "stop_last_trials"},
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            return std::make_unique<Asha>(options);
          }};
}

}  // namespace ronde::tune
