#include "ronde/report/compute/bottlenecks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ronde/base/text/format.h"
#include "ronde/report/compute/devices.h"
#include "ronde/report/compute/layer_roofline.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kBackward = 2;        // passes forward that one backward is worth
constexpr double kValue = 4;           // bytes of a weight, gradient or state
constexpr double kMuchWaiting = 0.05;  // for input, of a step
constexpr double kFar = 10;            // times the run's own speed: no limit that anybody meets

constexpr const char* kNoLayers =
    "The trace does not contain the cost of the network's layers: 'ronde train' records it, a training loop of your "
    "own does not.";
constexpr const char* kNoRates = "Run 'ronde bench roofline' on such a node to measure what the machine can do.";
constexpr const char* kNoSpeed = "The trace has no steps, or does not contain their batch size.";

double passes(const JobFacts& job) {
  return 1 + kBackward + (is_on(job, "model.recompute") ? 1 : 0);
}

// Values that the optimizer keeps for each weight.
double states(const JobFacts& job) {
  const auto is = [&](const char* name) { return job.optimizer.find(name) != std::string::npos; };
  return is("adam") || is("lamb") ? 2 : 1;
}

// What it keeps, and what a step reads and writes of it: `ronde limits` counts the same.
double model_bytes(const JobFacts& job) {
  return kValue * static_cast<double>(job.parameters) * (2 + states(job));
}
double update_bytes(const JobFacts& job) {
  return kValue * static_cast<double>(job.parameters) * (3 + 2 * states(job));
}

// What a step takes of devices, on the one that has most to do; 0: none was recorded.
struct DeviceSeconds {
  double computing = 0, collectives = 0;
};
DeviceSeconds device_seconds(const trace::Run& run, const Window& window) {
  DeviceSeconds most;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const TimeRange recorded = recorded_of_device(run.ranks[i], window.ranks[i]);
    const auto steps = std::ranges::count_if(run.ranks[i].steps, [&](const trace::TracedStep& step) {
      return step.time.begin >= recorded.begin && step.time.begin < recorded.end;
    });
    const DeviceUse use = device_use(run, run.ranks[i], window.ranks[i]);
    if (steps == 0) continue;
    most.computing = std::max(most.computing, use.computing / static_cast<double>(steps));
    most.collectives = std::max(most.collectives, use.collectives / static_cast<double>(steps));
  }
  return most;
}

// Of a step, a mean over ranks.
struct StepSeconds {
  double computing = 0;  // of the slowest rank
  double fixed = 0;      // whatever the batch is
};
StepSeconds step_seconds(const StepTable& table, const DeviceSeconds& of_devices) {
  StepSeconds seconds;
  if (table.numbers.empty() || table.ranks.empty()) return seconds;
  const auto steps = static_cast<double>(table.numbers.size());
  for (const RankSteps& rank : table.ranks) {
    seconds.computing = std::max(seconds.computing, (rank.all.compute + rank.all.optimizer) / steps);
    seconds.fixed += (rank.all.optimizer + rank.all.exposed) / steps / static_cast<double>(table.ranks.size());
  }
  if (of_devices.computing > 0) seconds.computing = of_devices.computing;  // the program only tells them what to do
  return seconds;
}

// The part of the steps that waited for input, on the rank that did so most often.
double starving_share(const StepTable& table) {
  double most = 0;
  for (const RankSteps& rank : table.ranks) {
    const auto starved = [](const Shares& step) { return step.total > 0 && step.input > kMuchWaiting * step.total; };
    if (rank.steps.empty()) continue;
    most = std::max(
        most, static_cast<double>(std::ranges::count_if(rank.steps, starved)) / static_cast<double>(rank.steps.size()));
  }
  return most;
}

class Finder {
 public:
  explicit Finder(const BottleneckFacts& facts)
      : facts_(facts),
        job_(facts.job),
        batch_(static_cast<double>(facts.job.batch)),
        rates_(rank_rates(facts.run, facts.job, facts.machine)),
        devices_(device_seconds(facts.run, facts.window)),
        step_(step_seconds(facts.steps, devices_)),
        speed_(samples_per_second(facts.job, facts.window, facts.window.seconds())) {
    for (const LayerFacts& layer : job_.layers) flops_ += layer.flops, bytes_ += layer.bytes;
  }

  Bottleneck compute() const {
    Bottleneck found{.name = "compute"};
    if (!(flops_ > 0)) return unknown(found, kNoLayers);
    if (!(batch_ > 0)) return unknown(found, kNoSpeed);
    if (!(rates_.flops > 0)) return unknown(found, kNoRates);
    const double step = passes(job_) * flops_, ranks = ranks_of();
    return known(found, batch_ * rates_.flops / step,
                 fmt::format("{} per sample at {} per rank in {}", amount_text(step * ranks / batch_ / 1e9, "GFLOP"),
                             amount_text(rates_.flops / 1e9, "GFLOP/s"), rates_.arithmetic));
  }

  Bottleneck memory_bandwidth() const {
    Bottleneck found{.name = "memory bandwidth"};
    if (!(bytes_ > 0)) return unknown(found, kNoLayers);
    if (!(batch_ > 0)) return unknown(found, kNoSpeed);
    if (!(rates_.bytes > 0)) return unknown(found, kNoRates);
    const double step = passes(job_) * bytes_ * width_of(job_.precision) + update_bytes(job_);
    return known(found, batch_ * rates_.bytes / step,
                 fmt::format("{} per step and rank at {}", size_text(step), amount_text(rates_.bytes / 1e9, "GB/s")));
  }

  Bottleneck memory_size() const {
    Bottleneck found{.name = "memory size"};
    if (!(job_.memory_limit_bytes > 0) || !(job_.memory_bytes > 0))
      return unknown(
          found,
          "The trace does not contain the memory in use, or the memory of the machine: 'ronde train' records both.");
    const std::string used =
        fmt::format("{} of {} in use", size_text(job_.memory_bytes), size_text(job_.memory_limit_bytes));
    const double largest = largest_batch(job_);
    if (!(largest > 0)) return unknown(found, used + "; the trace does not contain the batch size.");
    const std::string fits =
        fmt::format("{}: a batch of {:.0f} would fit, {:.1f} times this one", used, largest, largest / batch_);
    if (!(step_.fixed > 0)) return unknown(found, fits + "; it is not known how much time a larger batch would save.");
    if (is_far(largest / step_.fixed)) return far(found, fits);
    return known(found, largest / step_.fixed,
                 fmt::format("{}, and {} of each step do not depend on the batch", fits, milliseconds(step_.fixed)));
  }

  Bottleneck input() const {
    Bottleneck found{.name = "input"};
    if (!facts_.input) return unknown(found, "The trace contains no input pipeline.");
    if (!(speed_ > 0)) return unknown(found, kNoSpeed);
    const std::vector<InputStage>& stages = facts_.input->stages;
    const auto busiest = std::ranges::max_element(stages, {}, &InputStage::busy_share);
    const double busy = busiest == stages.end() ? 0 : busiest->busy_share();
    // Where every step waits for it, it makes one batch a step, however busy it looks.
    const double starving = starving_share(facts_.steps);
    if (!(busy > 0) && !(starving > 0))
      return unknown(found, "The times of its stages were not recorded; training does not wait for it.");
    if (starving >= busy)
      return known_if_near(found, speed_ / starving,
                           fmt::format("{} of the steps wait for it", percent_text(starving)));
    return known_if_near(
        found, speed_ / busy,
        fmt::format("its busiest stage, '{}', is busy {} of the time", busiest->name, percent_text(busy)));
  }

  Bottleneck communication() const {
    Bottleneck found{.name = "communication"};
    if (facts_.run.world_size < 2) return unknown(found, "One rank: there is no communication.");
    if (facts_.collectives.kinds.empty() && !(devices_.collectives > 0))
      return unknown(found, "No collective was recorded in these steps.");
    if (!(batch_ > 0) || facts_.window.steps <= 0) return unknown(found, kNoSpeed);
    if (facts_.collectives.kinds.empty())
      return known_if_near(
          found, batch_ / devices_.collectives,
          fmt::format("collectives take a device {} a step in this run", milliseconds(devices_.collectives)));
    const auto steps = static_cast<double>(facts_.window.steps);
    double seconds = 0, bytes = 0, recorded = 0;
    for (const CollectiveKind& kind : facts_.collectives.kinds) {
      bytes += kind.bytes / steps;
      recorded += kind.seconds / steps;
      seconds += seconds_of(kind) / steps;
    }
    if (!(seconds > 0)) return unknown(found, "The collectives of these steps took no time.");
    const std::string by =
        fmt::format("{} per step take {}{}", size_text(bytes), milliseconds(seconds),
                    facts_.measured.known() ? fmt::format(" as measured, {} in this run", milliseconds(recorded))
                                            : std::string(" in this run"));
    return is_far(batch_ / recorded) ? far(found, by) : known(found, batch_ / seconds, by);
  }

  // What each would allow in this run, as it is; 0: not known. Ceilings are for those that say nothing of it.
  double computing_speed() const { return step_.computing > 0 ? batch_ / step_.computing : 0; }
  double communication_speed() const {
    double seconds = 0;
    for (const CollectiveKind& kind : facts_.collectives.kinds) seconds += kind.seconds;
    seconds /= std::max(1.0, static_cast<double>(facts_.window.steps));
    seconds = std::max(seconds, devices_.collectives);  // what is exchanged inside graphs, the engine does not see
    return seconds > 0 && facts_.window.steps > 0 ? batch_ / seconds : 0;
  }

 private:
  static std::string milliseconds(double seconds) { return amount_text(1e3 * seconds, "ms"); }
  double ranks_of() const { return std::max(1, facts_.run.world_size); }

  double seconds_of(const CollectiveKind& kind) const {
    return kind.measured_gb_s > 0 ? kind.bytes / (kind.measured_gb_s * 1e9) : kind.seconds;
  }

  bool is_far(double speed) const { return speed_ > 0 && speed > kFar * speed_; }
  Bottleneck known_if_near(Bottleneck found, double speed, const std::string& by) const {
    return is_far(speed) ? far(std::move(found), by) : known(std::move(found), speed, by);
  }
  static Bottleneck known(Bottleneck found, double speed, const std::string& by) {
    if (!std::isfinite(speed)) return far(std::move(found), by);
    found.known = true;
    found.samples_per_second = speed;
    found.text = fmt::format("At most {} samples/s: {}.", speed_text(speed), by);
    return found;
  }
  static Bottleneck far(Bottleneck found, const std::string& by) {
    found.limits = false;
    return unknown(std::move(found), "It does not limit this run: " + by + ".");
  }
  static Bottleneck unknown(Bottleneck found, std::string why) {
    found.text = std::move(why);
    return found;
  }

  const BottleneckFacts& facts_;
  const JobFacts& job_;
  const double batch_;
  const RankRates rates_;
  const DeviceSeconds devices_;
  const StepSeconds step_;
  const double speed_;
  double flops_ = 0, bytes_ = 0;  // of a rank's forward pass
};

double speed_or_forever(double speed) {
  return speed > 0 ? speed : kForever;
}

void add_own_speed(double computing, Bottleneck& ceiling) {
  ceiling.text += fmt::format(" The run's own computing would allow {} samples/s", speed_text(computing));
  const double share = ceiling.known ? computing / ceiling.samples_per_second : 0;
  if (share > 1)
    ceiling.text += ": more than the ceiling, which was probably measured on another machine or on a busy one";
  else if (ceiling.known)
    ceiling.text += fmt::format(", {} of that", percent_text(share));
  ceiling.text += ".";
}

void choose_binding(const Finder& finder, std::vector<Bottleneck>& all) {
  Bottleneck &compute = all[0], &bandwidth = all[1], &memory = all[2], &input = all[3], &communication = all[4];
  Bottleneck& ceiling = speed_or_forever(bandwidth.samples_per_second) < speed_or_forever(compute.samples_per_second)
                            ? bandwidth
                            : compute;
  struct Candidate {
    Bottleneck* who;
    double speed;
  };
  const double computing = finder.computing_speed(), moving = finder.communication_speed();
  const std::vector<Candidate> candidates = {
      {&ceiling, speed_or_forever(computing > 0 ? computing : ceiling.samples_per_second)},
      {&memory, speed_or_forever(memory.samples_per_second)},
      {&input, speed_or_forever(input.samples_per_second)},
      {&communication, speed_or_forever(moving > 0 ? moving : communication.samples_per_second)}};
  const Candidate lowest = *std::ranges::min_element(candidates, {}, &Candidate::speed);
  if (lowest.speed == kForever) return;
  lowest.who->binds = true;
  if (lowest.who == &ceiling && computing > 0) add_own_speed(computing, ceiling);
}

}  // namespace

double largest_batch(const JobFacts& job) {
  if (job.batch <= 0 || !(job.memory_bytes > 0) || !(job.memory_limit_bytes > 0)) return 0;
  const double model = std::min(model_bytes(job), job.memory_bytes);
  const double grows = job.memory_bytes - model, room = std::max(0.0, job.memory_limit_bytes - model);
  // A model that takes everything would leave nothing to grow: then the whole counts.
  const double times = grows > 0.01 * job.memory_bytes ? room / grows : job.memory_limit_bytes / job.memory_bytes;
  return std::max(std::floor(static_cast<double>(job.batch) * times), 0.0);
}

std::vector<Bottleneck> bottlenecks_of(const BottleneckFacts& facts) {
  const Finder finder(facts);
  std::vector<Bottleneck> all = {finder.compute(), finder.memory_bandwidth(), finder.memory_size(), finder.input(),
                                 finder.communication()};
  choose_binding(finder, all);
  return all;
}

}  // namespace ronde::report
