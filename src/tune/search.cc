#include "ronde/tune/search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::tune {

std::string_view name(TrialState state) {
  switch (state) {
    case TrialState::Pending: return "PENDING";
    case TrialState::Running: return "RUNNING";
    case TrialState::Paused: return "PAUSED";
    case TrialState::Terminated: return "TERMINATED";
    case TrialState::Error: return "ERROR";
  }
  return "";
}

Json to_json(const Trial& trial) {
  return {{"number", trial.number},           {"config", trial.config},         {"state", name(trial.state)},
          {"last_result", trial.last_result}, {"reports", trial.reports},       {"error", trial.error},
          {"failures", trial.failures},       {"checkpoint", trial.checkpoint}, {"stopped_early", trial.stopped_early}};
}

Json to_json(const SearchOptions& options) {
  return {{"space", options.space},
          {"metric", options.metric},
          {"mode", options.mode},
          {"seed", options.seed},
          {"samples", options.samples},
          {"slots", options.slots},
          {"sampler", options.sampler},
          {"sampler_options", options.sampler_options},
          {"scheduler", options.scheduler},
          {"scheduler_options", options.scheduler_options},
          {"time_attribute", options.time_attribute},
          {"stop", options.stop},
          {"points", options.points},
          {"constant_grid", options.constant_grid},
          {"max_failures", options.max_failures},
          {"can_save", options.can_save},
          {"command", options.command}};
}

SearchOptions search_options(const Json& json) {
  SearchOptions options;
  try {
    options.space = json.value("space", options.space);
    options.metric = json.value("metric", options.metric);
    options.mode = json.value("mode", options.mode);
    options.seed = json.value("seed", options.seed);
    options.samples = json.value("samples", options.samples);
    options.slots = json.value("slots", options.slots);
    options.sampler = json.value("sampler", options.sampler);
    options.sampler_options = json.value("sampler_options", options.sampler_options);
    options.scheduler = json.value("scheduler", options.scheduler);
    options.scheduler_options = json.value("scheduler_options", options.scheduler_options);
    options.time_attribute = json.value("time_attribute", options.time_attribute);
    options.stop = json.value("stop", options.stop);
    options.points = json.value("points", options.points);
    options.constant_grid = json.value("constant_grid", options.constant_grid);
    options.max_failures = json.value("max_failures", options.max_failures);
    options.can_save = json.value("can_save", options.can_save);
    options.command = json.value("command", options.command);
  } catch (const Json::exception& error) {
    throw Error::bad_input("options of a search: {}", error.what());
  }
  return options;
}

struct Search::State {
  SearchOptions options;
  Space space;
  Space::Compute compute;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Scheduler> scheduler;
  bool sampler_learns = false;
  std::string time_attribute;
  std::vector<Trial> trials;
  Observations observations;  // of trials, by number
  std::deque<int> pending;    // made, or to be tried again
  std::vector<Change> changes;
  std::size_t sample = 0, grid_point = 0;  // of the trial that is made next
  std::set<int> paused;
  std::map<int, bool> stop_when_paused;  // whether that is early
  TrialCounts counts;

  int& count_of(TrialState which) {
    switch (which) {
      case TrialState::Pending: return counts.pending;
      case TrialState::Running: return counts.running;
      case TrialState::Paused: return counts.paused;
      case TrialState::Terminated: return counts.terminated;
      case TrialState::Error: break;
    }
    return counts.failed;
  }

  void set(Trial& trial, TrialState now) {
    --count_of(trial.state);
    ++count_of(now);
    if (trial.state == TrialState::Paused) paused.erase(trial.number);
    if (now == TrialState::Paused) paused.insert(trial.number);
    trial.state = now;
  }

  std::map<std::string, Json> fixed_of(std::size_t sample_number) const {
    return sample_number < options.points.size() ? flatten(options.points[sample_number])
                                                 : std::map<std::string, Json>();
  }
  bool all_added() const {
    return options.samples >= 0 && sample >= static_cast<std::size_t>(options.samples) && pending.empty();
  }

  int add(const Json* replayed);
  void take_others();
  void end(Trial& trial, TrialState how);
  void stop_paused(Trial& trial, bool early);
  void start_again(Trial& trial);
  Report report_of(const Trial& trial) const;
  bool meets_stop(const Json& result) const;
};

namespace {

double score_of(const SearchOptions& options, const Json& result) {
  const auto found = result.find(options.metric);
  if (found == result.end() || !found->is_number()) return std::numeric_limits<double>::quiet_NaN();
  return options.mode == "min" ? -found->get<double>() : found->get<double>();
}

void check(const SearchOptions& options, const SamplerEntry& sampler, const SchedulerEntry& scheduler,
           const Space& space) {
  if (options.mode != "min" && options.mode != "max")
    throw Error::bad_input("tune.mode must be 'min' or 'max', got '{}'", options.mode);
  if (options.samples < -1 || options.samples == 0)
    throw Error::bad_input("tune.samples must be at least 1, or -1 for no limit, got {}", options.samples);
  if (options.slots < 1)
    throw Error::bad_input("the number of trials at once must be at least 1, got {}", options.slots);
  if (options.metric.empty() && (sampler.learns || scheduler.name != "fifo"))
    throw Error::bad_input("{} '{}' needs a metric to compare trials by (tune.metric)",
                           sampler.learns ? "sampler" : "scheduler", sampler.learns ? sampler.name : scheduler.name);
  if (sampler.learns && space.grid_points() > 1)
    throw Error::bad_input("sampler '{}' cannot be used with grid_search; use choice instead", sampler.name);
  if (scheduler.needs_checkpoints && !options.can_save)
    throw Error::bad_input("scheduler '{}' pauses trials, so they must save and load checkpoints", scheduler.name);
}

}  // namespace

Search::Search(SearchOptions options, Space::Compute compute) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.space = Space::parse(options.space);
  state.compute = std::move(compute);
  const SamplerEntry sampler = find_sampler(options.sampler);
  const SchedulerEntry scheduler = find_scheduler(options.scheduler);
  check(options, sampler, scheduler, state.space);
  state.sampler = make_sampler(sampler, {.seed = options.seed, .options = options.sampler_options});
  state.scheduler =
      make_scheduler(scheduler, {.seed = options.seed, .options = options.scheduler_options, .slots = options.slots});
  state.sampler_learns = sampler.learns;
  state.time_attribute = options.time_attribute.empty() ? scheduler.time_attribute : options.time_attribute;
  state.options = std::move(options);
}

Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

int Search::State::add(const Json* replayed) {
  const auto number = static_cast<int>(trials.size());
  const std::map<std::string, Json> fixed = fixed_of(sample);
  const int drawn_as = options.constant_grid ? static_cast<int>(sample) : number;
  Trial trial{.number = number};
  if (replayed) {
    trial.config = (*replayed)["config"];
    trial.drawn = (*replayed)["drawn"].get<std::map<std::string, Json>>();
  } else {
    const std::map<std::string, Json> together = sampler->draw_together(space, observations, drawn_as);
    Random random = random_of(options.seed, drawn_as, "");
    trial.config = space.resolve(
        grid_point, fixed,
        [&](const std::string& path, const Domain& domain) {
          const auto found = together.find(path);
          Json value =
              found != together.end() ? found->second : sampler->draw_one(path, domain, observations, drawn_as);
          trial.drawn[path] = value;
          return value;
        },
        compute, [&random] { return random.uniform_double(); });
    for (const auto& [path, value] : fixed) trial.drawn[path] = value;
  }
  scheduler->on_add(number, trial.config);
  observations.push_back({.number = number, .values = trial.drawn});
  trials.push_back(std::move(trial));
  ++counts.pending;
  if (++grid_point >= space.grid_points(fixed)) {
    grid_point = 0;
    ++sample;
  }
  return number;
}

Search::Next Search::next(const Json* config) {
  State& state = *state_;
  std::optional<int> resumed;
  if (const std::vector<int> paused(state.paused.begin(), state.paused.end()); !paused.empty())
    resumed = state.scheduler->resume(paused, state.all_added(), state.counts.running);
  state.take_others();
  if (resumed) {
    state.set(state.trials[static_cast<std::size_t>(*resumed)], TrialState::Running);
    return {Next::Kind::Resume, *resumed};
  }
  const bool can_add = state.options.samples < 0 || state.sample < static_cast<std::size_t>(state.options.samples);
  if (!state.pending.empty() || can_add) {
    int number = 0;
    if (state.pending.empty()) {
      number = state.add(config);
    } else {
      number = state.pending.front();
      state.pending.pop_front();
    }
    state.set(state.trials[static_cast<std::size_t>(number)], TrialState::Running);
    return {Next::Kind::Start, number};
  }
  if (state.counts.running > 0) return {Next::Kind::Wait};
  // Nothing runs that could decide about those that are paused: they have been as far as the scheduler lets them.
  while (!state.paused.empty()) state.stop_paused(state.trials[static_cast<std::size_t>(*state.paused.begin())], true);
  return {Next::Kind::Finished};
}

Report Search::State::report_of(const Trial& trial) const {
  Report report{.trial = trial.number, .config = trial.config, .others_to_come = options.samples >= 0 && !all_added()};
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  report.time = trial.last_result.is_object() && trial.last_result.contains(time_attribute) &&
                        trial.last_result[time_attribute].is_number()
                    ? trial.last_result[time_attribute].get<double>()
                    : nothing;
  report.score = trial.score.value_or(nothing);
  return report;
}

Json Search::filled_in(int number, Json result, double seconds) const {
  const Trial& trial = state_->trials[static_cast<std::size_t>(number)];
  if (!result.contains("training_iteration")) result["training_iteration"] = trial.reports + 1;
  result["time_this_iter_s"] =
      seconds - (trial.last_result.is_object() ? trial.last_result.value("time_since_restore", 0.0) : 0.0);
  result["time_since_restore"] = seconds;
  result["time_total_s"] = trial.seconds + seconds;
  result["trial_id"] = fmt::format("{:05d}", trial.number);
  return result;
}

bool Search::State::meets_stop(const Json& result) const {
  if (result.value("done", false)) return true;
  return std::ranges::any_of(options.stop.items(), [&](const auto& limit) {
    const auto found = result.find(limit.key());
    return found != result.end() && found->is_number() &&
           found->template get<double>() >= limit.value().template get<double>();
  });
}

Decision Search::report(int number, Json& result, double seconds) {
  State& state = *state_;
  Trial& trial = state.trials[static_cast<std::size_t>(number)];
  result = filled_in(number, std::move(result), seconds);
  ++trial.reports;
  trial.last_result = result;
  Observation& observation = state.observations[static_cast<std::size_t>(number)];
  if (!state.options.metric.empty()) {
    const double score = score_of(state.options, result);
    trial.score = score;
    if (!(trial.best_score >= score) && !std::isnan(score)) trial.best_score = score;
    const Report report = state.report_of(trial);
    if (!std::isnan(score)) observation.steps.emplace_back(report.time, -score);
  }
  if (state.meets_stop(result)) {
    result["done"] = true;
    return {.kind = Decision::Kind::Stop};
  }
  Decision decision = state.scheduler->on_report(state.report_of(trial));
  state.take_others();
  if (!state.options.can_save && decision.kind != Decision::Kind::Stop) decision = {};
  trial.stopped_early = decision.kind == Decision::Kind::Stop && !decision.is_complete;
  if (decision.kind == Decision::Kind::Exploit) trial.config = decision.config;
  result["done"] = decision.kind == Decision::Kind::Stop;
  return decision;
}

void Search::State::take_others() {
  for (auto& [number, decision] : scheduler->others()) {
    Trial& trial = trials[static_cast<std::size_t>(number)];
    if (decision.kind == Decision::Kind::Stop && trial.state == TrialState::Paused)
      stop_paused(trial, !decision.is_complete);
    else if (decision.kind == Decision::Kind::Stop)
      stop_when_paused[number] = !decision.is_complete;  // it is saving its checkpoint
    if (decision.kind == Decision::Kind::Exploit) trial.config = decision.config;
    changes.push_back({number, std::move(decision)});
  }
}

void Search::State::stop_paused(Trial& trial, bool early) {
  trial.stopped_early = early;
  end(trial, TrialState::Terminated);
}

// What it did after its last checkpoint is done again.
void Search::State::start_again(Trial& trial) {
  trial.reports = trial.checkpoint.empty() ? 0 : trial.checkpoint_reports;
  set(trial, TrialState::Pending);
  pending.push_back(trial.number);
}

std::vector<Search::Change> Search::changes() {
  return std::exchange(state_->changes, {});
}

void Search::State::end(Trial& trial, TrialState how) {
  set(trial, how);
  Observation& observation = observations[static_cast<std::size_t>(trial.number)];
  if (how == TrialState::Error) {
    scheduler->on_lost(trial.number);
    observation.loss.reset();
    observation.state = Observation::State::Complete;
  } else {
    counts.stopped_early += trial.stopped_early;
    if (trial.reports > 0) scheduler->on_complete(report_of(trial));
    observation.state = trial.stopped_early ? Observation::State::Pruned : Observation::State::Complete;
    if (trial.score && !std::isnan(*trial.score)) observation.loss = -*trial.score;
  }
}

void Search::saved(int trial, std::string checkpoint) {
  Trial& saved = state_->trials[static_cast<std::size_t>(trial)];
  saved.checkpoint = std::move(checkpoint);
  saved.checkpoint_reports = saved.reports;
}

void Search::paused(int number) {
  Trial& trial = state_->trials[static_cast<std::size_t>(number)];
  trial.seconds += trial.last_result.value("time_since_restore", 0.0);
  trial.last_result["time_since_restore"] = 0.0;
  state_->set(trial, TrialState::Paused);
  if (const auto stop = state_->stop_when_paused.extract(number)) state_->stop_paused(trial, stop.mapped());
}

void Search::ended(int number) {
  Trial& trial = state_->trials[static_cast<std::size_t>(number)];
  if (trial.last_result.is_object()) trial.seconds += trial.last_result.value("time_since_restore", 0.0);
  state_->end(trial, TrialState::Terminated);
  state_->take_others();
}

bool Search::failed(int number, const std::string& error) {
  State& state = *state_;
  Trial& trial = state.trials[static_cast<std::size_t>(number)];
  trial.error = error;
  ++trial.failures;
  if (state.options.max_failures < 0 || trial.failures <= state.options.max_failures) {
    state.start_again(trial);
    return true;
  }
  state.end(trial, TrialState::Error);
  state.take_others();
  return false;
}

void Search::interrupted(int number) {
  Trial& trial = state_->trials[static_cast<std::size_t>(number)];
  if (trial.state == TrialState::Running) state_->start_again(trial);
}

void Search::set_limits(int samples, int max_failures) {
  state_->options.samples = samples;
  state_->options.max_failures = max_failures;
}

const SearchOptions& Search::options() const {
  return state_->options;
}
const Space& Search::space() const {
  return state_->space;
}
const std::vector<Trial>& Search::trials() const {
  return state_->trials;
}

const TrialCounts& Search::counts() const {
  return state_->counts;
}

const Observations& Search::observations() const {
  return state_->observations;
}

std::optional<int> Search::best() const {
  std::optional<int> best;
  for (const Trial& trial : state_->trials) {
    if (!trial.score || std::isnan(*trial.score)) continue;
    if (!best || *trial.score > *state_->trials[static_cast<std::size_t>(*best)].score) best = trial.number;
  }
  return best;
}

std::optional<std::size_t> Search::planned() const {
  const State& state = *state_;
  if (state.options.samples < 0) return {};
  std::size_t planned = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(state.options.samples); ++i) {
    if (i >= state.options.points.size())
      return planned + (static_cast<std::size_t>(state.options.samples) - i) * state.space.grid_points();
    planned += state.space.grid_points(state.fixed_of(i));
  }
  return planned;
}

}  // namespace ronde::tune
