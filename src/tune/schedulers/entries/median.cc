#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ronde/tune/schedulers/scheduler.h"

// The median stopping rule of Google Vizier, as Ray Tune has it.
namespace ronde::tune {
namespace {

class MedianStopping : public Scheduler {
 public:
  explicit MedianStopping(const SchedulerOptions& options)
      : grace_(number_option(options.options, "grace_period", 60, 0)),
        slice_(number_option(options.options, "min_time_slice", 0, 0)),
        required_(static_cast<std::size_t>(number_option(options.options, "min_samples_required", 3, 1))),
        hard_stop_(options.options.value("hard_stop", true)) {}

  void on_add(int trial, Json& /*config*/) override { waiting_.push_back(trial); }
  void on_lost(int trial) override {
    trials_.erase(trial);
    std::erase(waiting_, trial);
  }

  Decision on_report(const Report& report) override {
    Trial& trial = trials_[report.trial];
    std::erase(waiting_, report.trial);
    trial.reports.push_back({report.time, report.score});
    if (trial.unjudged || report.time < grace_) return {};
    const std::vector<double> others = means_of_others(report);
    if (others.size() < required_) return wait_for_others(trial, report);
    double best = -std::numeric_limits<double>::infinity();
    for (const auto& [time, score] : trial.reports)
      if (score > best) best = score;
    const auto median = percentile(others, 50);
    if (!median || !(best < *median)) return {};
    if (hard_stop_) return {.kind = Decision::Kind::Stop};
    trial.unjudged = true;
    waiting_.push_back(report.trial);
    return {.kind = Decision::Kind::Pause, .save = true};
  }

  std::optional<int> resume(std::span<const int> paused, bool all_added, int /*running*/) override {
    return all_added && !paused.empty() ? std::optional(paused.front()) : std::nullopt;
  }

 private:
  struct Trial {
    std::vector<std::pair<double, double>> reports;
    double last_pause = -std::numeric_limits<double>::infinity();
    bool unjudged = false;  // it was paused by the rule, and runs to its end now
  };

  // Of each other trial that has come as far: the mean of its scores from the grace period up to this time.
  std::vector<double> means_of_others(const Report& report) const {
    std::vector<double> means;
    for (const auto& [number, trial] : trials_) {
      if (number == report.trial || trial.reports.empty() || trial.reports.back().first < report.time) continue;
      double sum = 0;
      int count = 0;
      for (const auto& [time, score] : trial.reports)
        if (time >= grace_ && time <= report.time) {
          sum += score;
          ++count;
        }
      if (count > 0) means.push_back(sum / count);
    }
    return means;
  }

  // Too few others for a median: those that have not run yet go first, if trials may be paused so soon again.
  Decision wait_for_others(Trial& trial, const Report& report) {
    if (waiting_.empty() || !(report.time - trial.last_pause > slice_)) return {};
    trial.last_pause = report.time;
    waiting_.push_back(report.trial);
    return {.kind = Decision::Kind::Pause, .save = true};
  }

  double grace_, slice_;
  std::size_t required_;
  bool hard_stop_;
  std::map<int, Trial> trials_;
  std::vector<int> waiting_;  // made and without a report, or paused
};

}  // namespace

SchedulerEntry median_entry() {
  return {.name = "median_stopping_rule",
          .aliases = {"median", "medianstopping"},
          .help = "stops a trial whose best result is worse than the median of the others' means at that time",
          .options = {"grace_period", "min_samples_required", "min_time_slice", "hard_stop"},
          .time_attribute = "time_total_s",
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            return std::make_unique<MedianStopping>(options);
          }};
}

}  // namespace ronde::tune
