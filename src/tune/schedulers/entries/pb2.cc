#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/changing_process.h"
#include "ronde/tune/schedulers/population.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kMostRows = 200;  // the newest: what was learned long ago is worth little
constexpr int kStarts = 10;

struct Bounds {
  Json::json_pointer path;
  double low = 0, high = 1;
};

std::vector<Bounds> bounds_of(const Json& options) {
  const auto found = options.find("hyperparam_bounds");
  if (found == options.end() || !found->is_object() || found->empty())
    throw Error::bad_input("hyperparam_bounds must name at least one parameter, with its lowest and highest value");
  std::vector<Bounds> all;
  for (const auto& [name, range] : found->items()) {
    const bool is_range = range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number();
    if (!is_range || !(range[0].get<double>() < range[1].get<double>()))
      throw Error::bad_input("hyperparam_bounds: {} must be [lowest, highest], got {}", name, range.dump());
    all.push_back({Json::json_pointer("/" + name), range[0].get<double>(), range[1].get<double>()});
  }
  return all;
}

// Learns how much the score grows per time, by time, score and parameters, and chooses parameters by an upper
// confidence bound (Parker-Holder et al., arXiv 2002.02518).
class Bandit : public Explorer {
 public:
  explicit Bandit(std::vector<Bounds> bounds, double interval) : bounds_(std::move(bounds)), interval_(interval) {}

  void complete(Json& config, Random& random) const override {
    for (const Bounds& one : bounds_)
      if (!config.contains(one.path)) config[one.path] = one.low + random.uniform_double() * (one.high - one.low);
  }

  void heard(const Report& report) override {
    chosen_.erase(report.trial);
    if (std::isnan(report.score)) return;
    const auto before = last_.find(report.trial);
    if (before != last_.end() && report.time > before->second.time) {
      const double growth = (report.score - before->second.score) / (report.time - before->second.time);
      rows_.push_back({{report.time / interval_, before->second.score, point_of(report.config)}, growth});
      if (rows_.size() > kMostRows) rows_.erase(rows_.begin());
    }
    last_[report.trial] = {report.time, report.score};
  }

  Json explore(int trial, int source, const Json& config, Random& random) override {
    last_[trial] = last_[source];
    Json explored = config;
    const std::vector<double> point = choose(last_[source], random);
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      const Bounds& one = bounds_[i];
      const double value = one.low + point[i] * (one.high - one.low);
      Json& place = explored[one.path];
      if (place.is_number_integer())
        place = static_cast<std::int64_t>(std::llround(value));
      else
        place = value;
    }
    chosen_[trial] = {last_[source].time / interval_, last_[source].score, point};
    return explored;
  }

 private:
  struct Seen {
    double time = 0, score = 0;
  };

  std::vector<double> point_of(const Json& config) const {
    std::vector<double> point;
    for (const Bounds& one : bounds_) {
      const bool has = config.contains(one.path) && config[one.path].is_number();
      const double value = has ? config[one.path].get<double>() : one.low;
      point.push_back(std::clamp((value - one.low) / (one.high - one.low), 0.0, 1.0));
    }
    return point;
  }

  std::vector<double> choose(const Seen& from, Random& random) const {
    std::vector<std::vector<double>> starts(kStarts, std::vector<double>(bounds_.size()));
    for (auto& start : starts)
      for (double& value : start) value = random.uniform_double();
    if (rows_.empty()) return starts[0];
    std::vector<ChangingProcess::Place> running;
    for (const auto& [trial, place] : chosen_) running.push_back(place);
    const ChangingProcess process(rows_, running);
    return process.most_promising(from.time / interval_, from.score, starts);
  }

  const std::vector<Bounds> bounds_;
  const double interval_;
  std::map<int, Seen> last_;
  std::map<int, ChangingProcess::Place> chosen_;  // by trials that have not reported since
  std::vector<ChangingProcess::Row> rows_;
};

}  // namespace

SchedulerEntry pb2_entry() {
  return {.name = "pb2",
          .help =
              "a population in which the worst quarter takes over weights of the best, with settings that a model of "
              "all results so far proposes",
          .options = {"perturbation_interval", "burn_in_period", "hyperparam_bounds", "quantile_fraction", "synch"},
          .time_attribute = "time_total_s",
          .needs_checkpoints = true,
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            const double interval = number_option(options.options, "perturbation_interval", 60, 0);
            return make_population(options, std::make_unique<Bandit>(bounds_of(options.options), interval));
          }};
}

}  // namespace ronde::tune
