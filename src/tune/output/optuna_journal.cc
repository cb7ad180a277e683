#include "ronde/tune/output/optuna_journal.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::tune {
namespace {

// Optuna's numbers of what a line does, of directions and of states.
enum Operation { kCreateStudy = 0, kCreateTrial = 4 };
enum Direction { kMinimize = 1, kMaximize = 2 };
enum State { kRunning = 0, kComplete = 1, kPruned = 2, kFail = 3, kWaiting = 4 };

constexpr const char* kWorker = "ronde";

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Optuna's choices are plain values; a list or a table is its text.
Json plain(const Json& value) {
  return value.is_structured() ? Json(text_of(value)) : value;
}

std::optional<double> finite(const Json& result, const std::string& name) {
  if (!result.is_object() || !result.contains(name) || !result[name].is_number()) return {};
  const auto value = result[name].get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// ISO 8601 in UTC, with microseconds.
std::string time_text(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.{:06d}+00:00", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     static_cast<int>((seconds - static_cast<double>(whole)) * 1e6));
}

struct Parameter {
  Domain domain;
  Json value;
};

// What was drawn for a trial, with where it was drawn from.
std::map<std::string, Parameter> parameters_of(const Search& search, const Trial& trial) {
  std::map<std::string, Parameter> found;
  const auto take = [&](const std::string& path, const Domain& domain) -> Json {
    const auto drawn = trial.drawn.find(path);
    if (drawn == trial.drawn.end())
      return domain.kind == Domain::Kind::Choice ? domain.choices.front() : Json(domain.low);
    const Json::json_pointer place("/" + path);
    const bool is_changed = domain.kind != Domain::Kind::Choice && trial.config.contains(place);  // by PBT, say
    found[path] = {domain, is_changed ? trial.config[place] : drawn->second};
    return drawn->second;
  };
  const auto nothing = [](const Json&, const Json&) { return Json(); };
  search.space().resolve(0, {}, take, nothing, [] { return 0.5; });
  // Grids: any of their values, as a choice.
  for (const auto& [path, value] : flatten(trial.config)) {
    const Json::json_pointer place("/" + path);
    const Json& tree = search.space().tree();
    if (!tree.contains(place) || !tree[place].is_object() || tree[place].size() != 1) continue;
    const std::string function = tree[place].begin().key();
    if (function == "grid_search" || function == "grid")
      found[path] = {domain_of("choice", tree[place].begin().value(), path), value};
  }
  return found;
}

// As Optuna keeps it: the number of a choice, a number itself. Nothing for what is not among the choices.
std::optional<Json> internal_value(const Parameter& parameter) {
  if (parameter.domain.kind != Domain::Kind::Choice)
    return parameter.value.is_number() ? std::optional(Json(parameter.value.get<double>())) : std::nullopt;
  const auto found = std::ranges::find(parameter.domain.choices, parameter.value);
  if (found == parameter.domain.choices.end()) return {};
  return Json(found - parameter.domain.choices.begin());
}

int state_of(const Trial& trial, bool has_value) {
  switch (trial.state) {
    case TrialState::Running: return kRunning;
    case TrialState::Pending:
    case TrialState::Paused: return kWaiting;
    case TrialState::Terminated: return trial.stopped_early ? kPruned : has_value ? kComplete : kFail;
    case TrialState::Error: break;
  }
  return kFail;
}

void add_times(Json& line, const Trial& trial, bool has_ended) {
  line["datetime_start"] = nullptr;
  const auto last = finite(trial.last_result, "timestamp");
  if (!last) return;
  line["datetime_start"] = time_text(*last - finite(trial.last_result, "time_total_s").value_or(0));
  if (has_ended) line["datetime_complete"] = time_text(*last);
}

Json line_of(const Search& search, const Trial& trial) {
  const std::string& metric = search.options().metric;
  const auto value = finite(trial.last_result, metric);
  const int state = state_of(trial, value.has_value());
  Json line = {{"op_code", kCreateTrial}, {"worker_id", kWorker}, {"study_id", 0}, {"state", state}};
  add_times(line, trial, state == kComplete || state == kPruned || state == kFail);
  Json attributes = Json::object(), params = Json::object(), distributions = Json::object(), steps = Json::object();
  for (const auto& [path, parameter] : parameters_of(search, trial)) {
    const std::string distribution = optuna_distribution(parameter.domain);
    const auto internal = internal_value(parameter);
    if (distribution.empty() || !internal) {
      attributes[path] = parameter.value;
      continue;
    }
    params[path] = *internal;
    distributions[path] = distribution;
  }
  int report = 0;
  for (const auto& [time, loss] : search.observations()[static_cast<std::size_t>(trial.number)].steps) {
    ++report;
    if (std::isfinite(loss)) steps[std::to_string(report)] = search.options().mode == "min" ? loss : -loss;
  }
  if (trial.last_result.is_object()) attributes["last_result"] = trial.last_result;
  if (!trial.error.empty()) attributes["error"] = trial.error;
  if (value && (state == kComplete || state == kPruned)) line["value"] = *value;
  line["params"] = params;
  line["distributions"] = distributions;
  line["intermediate_values"] = steps;
  line["user_attrs"] = attributes;
  line["system_attrs"] = Json::object();
  return line;
}

}  // namespace

std::string optuna_distribution(const Domain& domain) {
  const auto named = [](const char* name, Json attributes) {
    return text_of({{"name", name}, {"attributes", std::move(attributes)}});
  };
  switch (domain.kind) {
    case Domain::Kind::Normal: return "";
    case Domain::Kind::Choice: {
      Json choices = Json::array();
      for (const Json& choice : domain.choices) choices.push_back(plain(choice));
      return named("CategoricalDistribution", {{"choices", choices}});
    }
    case Domain::Kind::Integer:
      return named("IntDistribution", {{"step", domain.log ? 1 : static_cast<std::int64_t>(domain.step)},
                                       {"low", static_cast<std::int64_t>(domain.low)},
                                       {"high", static_cast<std::int64_t>(domain.high)},
                                       {"log", domain.log}});
    case Domain::Kind::Float: break;
  }
  // Optuna has no steps in the logarithm.
  const Json step = domain.step > 0 && !domain.log ? Json(domain.step) : Json();
  return named("FloatDistribution", {{"step", step}, {"low", domain.low}, {"high", domain.high}, {"log", domain.log}});
}

std::string optuna_journal(const Search& search, const std::string& study_name) {
  if (search.options().metric.empty())
    throw Error::bad_input("the search has no metric (tune.metric), and Optuna's journal needs one");
  const int direction = search.options().mode == "min" ? kMinimize : kMaximize;
  std::string text = text_of({{"op_code", kCreateStudy},
                              {"worker_id", kWorker},
                              {"study_name", study_name},
                              {"directions", Json::array({direction})}}) +
                     "\n";
  for (const Trial& trial : search.trials()) text += text_of(line_of(search, trial)) + "\n";
  return text;
}

}  // namespace ronde::tune
