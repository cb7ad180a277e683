#include "ronde/tune/output/overview.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kMostColumns = 12;  // of parameters: more do not fit beside each other

std::string cell(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

// As people say it: a trial that the scheduler stopped is no failure.
std::string state_text(const Trial& trial) {
  switch (trial.state) {
    case TrialState::Pending: return "waits";
    case TrialState::Running: return "runs";
    case TrialState::Paused: return "paused";
    case TrialState::Terminated: return trial.stopped_early ? "stopped" : "done";
    case TrialState::Error: return "failed";
  }
  return "";
}

std::string value_text(const Trial& trial, const std::string& name) {
  if (!trial.last_result.is_object()) return "";
  const auto found = trial.last_result.find(name);
  return found == trial.last_result.end() ? "" : cell(*found);
}

// In whole seconds.
std::string time_text(std::chrono::nanoseconds time) {
  const auto whole = std::chrono::round<std::chrono::seconds>(time);
  return whole.count() == 0 ? "0 s" : format_duration(whole);
}

const Trial& trial_of(const Search& search, int number) {
  return search.trials()[static_cast<std::size_t>(number)];
}

}  // namespace

std::optional<std::chrono::nanoseconds> time_left(const Search& search, const Progress& progress) {
  std::optional<std::chrono::nanoseconds> left;
  const int done = search.counts().done(), here = done - progress.done_before;
  if (const auto planned = search.planned(); planned && here > 0) {
    const double each = static_cast<double>(progress.elapsed.count()) / here;
    const double others = std::max(0.0, static_cast<double>(*planned) - done);
    left = std::chrono::nanoseconds(std::llround(each * others));
  }
  if (progress.time_budget.count() > 0) {
    const auto budget = std::max(progress.time_budget - progress.elapsed, std::chrono::nanoseconds(0));
    left = left ? std::min(*left, budget) : budget;
  }
  return left;
}

std::string headline(const Search& search, const Progress& progress) {
  const TrialCounts& counts = search.counts();
  const auto planned = search.planned();
  std::string text = fmt::format("{}{} trials done", counts.done(), planned ? fmt::format("/{}", *planned) : "");
  const auto add = [&text](int count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(counts.stopped_early, "of them stopped early");
  add(counts.failed, "failed");
  add(counts.running, "running");
  add(counts.paused, "paused");
  if (const auto best = search.best())
    text += fmt::format(", best {} {} (trial {})", search.options().metric,
                        value_text(trial_of(search, *best), search.options().metric), *best);
  if (progress.elapsed.count() > 0) text += ", " + time_text(progress.elapsed);
  const bool is_at_its_end = planned && static_cast<int>(*planned) == counts.done();
  if (const auto left = time_left(search, progress); left && !is_at_its_end)
    text += fmt::format(", about {} left", time_text(*left));
  return text;
}

std::vector<int> by_score(const Search& search) {
  std::vector<int> numbers;
  for (const Trial& trial : search.trials()) numbers.push_back(trial.number);
  const auto score = [&](int number) {
    const auto& known = trial_of(search, number).score;
    return known && !std::isnan(*known) ? *known : -HUGE_VAL;
  };
  std::ranges::stable_sort(numbers, [&](int a, int b) { return score(a) > score(b); });
  return numbers;
}

Table trial_table(const Search& search, const std::vector<int>& trials) {
  std::set<std::string> names;
  const auto fixed = flatten(search.space().tree());  // a distribution has another path: lr/uniform
  for (const int number : trials)
    for (const auto& [path, value] : flatten(trial_of(search, number).config))
      if (!fixed.contains(path)) names.insert(path);
  std::vector<std::string> parameters(names.begin(), names.end());
  if (parameters.size() > kMostColumns) parameters.resize(kMostColumns);
  const std::string& metric = search.options().metric;
  std::vector<Table::Column> columns{
      {"trial", Align::Right}, {"state"}, {"iterations", Align::Right}, {metric, Align::Right}, {"time", Align::Right}};
  for (const std::string& name : parameters) columns.push_back({name, Align::Right});
  Table table(std::move(columns));
  for (const int number : trials) {
    const Trial& trial = trial_of(search, number);
    const double seconds = trial.last_result.is_object() ? trial.last_result.value("time_total_s", 0.0) : 0;
    std::vector<std::string> cells{std::to_string(number), state_text(trial), std::to_string(trial.reports),
                                   value_text(trial, metric),
                                   trial.reports == 0 ? "" : fmt::format("{:.1f} s", seconds)};
    const auto values = flatten(trial.config);
    for (const std::string& name : parameters) {
      const auto found = values.find(name);
      cells.push_back(found == values.end() ? "" : cell(found->second));
    }
    table.add(std::move(cells));
  }
  return std::move(table.drop_empty_columns());
}

std::string overview(const Search& search, const Progress& progress, std::size_t lines) {
  std::string text = headline(search, progress) + "\n";
  if (lines < 4 || search.trials().empty()) return text;
  const std::size_t rows = lines - 2;  // the headline and the titles
  std::vector<int> shown;
  for (const Trial& trial : search.trials())
    if (trial.state == TrialState::Running && shown.size() < (rows + 1) / 2) shown.push_back(trial.number);
  std::vector<int> best;
  for (const int number : by_score(search)) {
    if (best.size() + shown.size() >= rows) break;
    if (std::ranges::find(shown, number) == shown.end() && trial_of(search, number).score) best.push_back(number);
  }
  shown.insert(shown.begin(), best.begin(), best.end());
  return text + trial_table(search, shown).text(2);
}

}  // namespace ronde::tune
