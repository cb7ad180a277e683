#include "ronde/tune/page/search_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/tune/output/overview.h"
#include "ronde/tune/page/importance.h"
#include "ronde/tune/page/page_text.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kMostTrials = 5000;  // of larger searches, as many evenly, and the best
constexpr std::size_t kMostCurves = 300;
constexpr std::size_t kMostPoints = 100;  // of a curve
constexpr std::size_t kMostParameters = 24;

std::optional<double> finite(const Json& table, const char* name) {
  if (!table.is_object() || !table.contains(name) || !table[name].is_number()) return {};
  const auto value = table[name].get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

// A parameter whose value differs between trials.
struct Varied {
  std::string path;
  bool is_number = true, log = false;
  std::vector<Json> choices = {};  // in the order in which they are shown
};

std::vector<Varied> varied_parameters(const Search& search) {
  std::map<std::string, std::set<Json>> values;
  for (const Trial& trial : search.trials())
    for (auto& [path, value] : flatten(trial.config)) values[path].insert(std::move(value));
  std::map<std::string, Domain> domains;
  for (const auto& [path, domain] : search.space().parameters()) domains[path] = domain;
  std::vector<Varied> varied;
  for (const auto& [path, different] : values) {
    if (different.size() < 2 || varied.size() == kMostParameters) continue;
    Varied one{.path = path};
    one.is_number = std::ranges::all_of(different, [](const Json& value) { return value.is_number(); });
    if (!one.is_number) one.choices.assign(different.begin(), different.end());
    const auto domain = domains.find(path);
    const double least = one.is_number ? different.begin()->get<double>() : 0;
    const double most = one.is_number ? different.rbegin()->get<double>() : 0;
    one.log = one.is_number && least > 0 &&
              (domain != domains.end() && domain->second.is_number() ? domain->second.log : most >= 1000 * least);
    varied.push_back(std::move(one));
  }
  return varied;
}

std::vector<Column> columns_of(const std::vector<Varied>& varied, const std::vector<Trial>& trials) {
  std::vector<Column> columns;
  for (const Varied& one : varied) columns.push_back({.path = one.path, .choices = one.choices.size()});
  for (const Trial& trial : trials) {
    const auto values = flatten(trial.config);
    for (std::size_t i = 0; i < varied.size(); ++i) {
      double place = std::numeric_limits<double>::quiet_NaN();
      if (const auto found = values.find(varied[i].path); found != values.end()) {
        if (!varied[i].is_number)
          place = static_cast<double>(std::ranges::find(varied[i].choices, found->second) - varied[i].choices.begin());
        else
          place = varied[i].log ? std::log(found->second.get<double>()) : found->second.get<double>();
      }
      columns[i].values.push_back(place);
    }
  }
  return columns;
}

// Evenly over the search, and the best of it. Ascending.
std::vector<int> chosen_trials(const Search& search, std::size_t most) {
  const std::size_t count = search.trials().size();
  std::set<int> chosen;
  const std::vector<int> best = by_score(search);
  for (std::size_t i = 0; i < std::min(best.size(), most / 2); ++i) chosen.insert(best[i]);
  const std::size_t step = std::max<std::size_t>(1, (count + most - 1) / std::max<std::size_t>(1, most));
  for (std::size_t i = 0; i < count && chosen.size() < most; i += step) chosen.insert(static_cast<int>(i));
  return {chosen.begin(), chosen.end()};
}

Json curve_of(const Search& search, int trial) {
  const auto& steps = search.observations()[static_cast<std::size_t>(trial)].steps;
  const double sign = search.options().mode == "min" ? 1 : -1;
  Json curve = Json::array();
  const std::size_t stride = std::max<std::size_t>(1, steps.size() / kMostPoints);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if ((i % stride == 0 || i + 1 == steps.size()) && std::isfinite(steps[i].second))
      curve.push_back({steps[i].first, sign * steps[i].second});
  return curve;
}

Json facts_of(const Search& search, const Trial& trial, const std::vector<Varied>& varied) {
  const auto config = flatten(trial.config);
  Json values = Json::array();
  for (const Varied& one : varied) {
    const auto found = config.find(one.path);
    values.push_back(found == config.end() ? Json(nullptr) : found->second);
  }
  const auto end = finite(trial.last_result, "timestamp");
  const double seconds = finite(trial.last_result, "time_total_s").value_or(0);
  Json facts = {{"number", trial.number},
                {"state", trial.stopped_early ? "STOPPED" : std::string(name(trial.state))},
                {"value", or_null(finite(trial.last_result, search.options().metric.c_str()))},
                {"parameters", values},
                {"iterations", or_null(finite(trial.last_result, "training_iteration"))},
                {"seconds", seconds},
                {"end", or_null(end)}};
  if (!trial.error.empty()) facts["error"] = trial.error;
  return facts;
}

Json parameters_json(const std::vector<Varied>& varied, const std::vector<double>& shares) {
  Json list = Json::array();
  for (std::size_t i = 0; i < varied.size(); ++i)
    list.push_back(
        {{"path", varied[i].path}, {"log", varied[i].log}, {"choices", varied[i].choices}, {"importance", shares[i]}});
  return list;
}

Json losses_and_shares(const Search& search, const std::vector<Varied>& varied) {
  std::vector<double> losses;
  for (const Trial& trial : search.trials())
    losses.push_back(trial.state == TrialState::Terminated && trial.score ? -*trial.score
                                                                          : std::numeric_limits<double>::quiet_NaN());
  return parameters_json(varied, importance(columns_of(varied, search.trials()), losses));
}

// Inside of a script, and of text.
std::string escaped(std::string_view text, bool in_script) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<')
      out += in_script ? "\\u003c" : "&lt;";
    else if (letter == '>')
      out += in_script ? "\\u003e" : "&gt;";
    else if (letter == '&')
      out += in_script ? "\\u0026" : "&amp;";
    else
      out += letter;
  }
  return out;
}

}  // namespace

Json page_data(const Search& search, const std::string& name) {
  const std::vector<Varied> varied = varied_parameters(search);
  const TrialCounts& counts = search.counts();
  Json data = {{"name", name},
               {"metric", search.options().metric},
               {"mode", search.options().mode},
               {"sampler", search.options().sampler},
               {"scheduler", search.options().scheduler},
               {"headline", headline(search, {})},
               {"counts",
                {{"all", search.trials().size()},
                 {"ended", counts.terminated},
                 {"stopped", counts.stopped_early},
                 {"failed", counts.failed},
                 {"running", counts.running}}},
               {"parameters", losses_and_shares(search, varied)}};
  data["mattered"] = what_mattered(data);
  if (const auto best = search.best()) {
    data["best"] = *best;
    data["config"] = search.trials()[static_cast<std::size_t>(*best)].config;
  }
  const std::vector<int> shown = chosen_trials(search, kMostTrials), curves = chosen_trials(search, kMostCurves);
  data["left_out"] = search.trials().size() - shown.size();
  Json trials = Json::array();
  for (const int number : shown) {
    Json facts = facts_of(search, search.trials()[static_cast<std::size_t>(number)], varied);
    if (std::ranges::binary_search(curves, number)) facts["curve"] = curve_of(search, number);
    trials.push_back(std::move(facts));
  }
  data["trials"] = std::move(trials);
  return data;
}

std::string what_mattered(const Json& data) {
  std::vector<std::pair<double, std::string>> shares;
  for (const Json& parameter : data["parameters"])
    if (const auto share = parameter["importance"].get<double>(); share >= 0.01)
      shares.emplace_back(-share, parameter["path"].get<std::string>());
  if (shares.empty()) return "";
  std::ranges::sort(shares);
  std::string text = fmt::format("{} tells most about which trials are among the best tenth ({:.0f} %)",
                                 shares[0].second, -100 * shares[0].first);
  if (shares.size() > 1) text += fmt::format(", then {} ({:.0f} %)", shares[1].second, -100 * shares[1].first);
  return text;
}

std::string search_page(const Search& search, const std::string& name) {
  const std::string json = page_data(search, name).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string page(page::kTemplate);
  const auto put = [&page](std::string_view mark, const std::string& text) {
    const auto at = page.find(mark);
    page.replace(at, mark.size(), text);
  };
  put("@style@", std::string(page::kStyle));
  put("@script@", std::string(page::kCharts) + std::string(page::kScript));
  // From the end to the beginning: what users wrote is not looked through for marks.
  put("@document@", escaped(json, true));
  put("@title@", "Search " + escaped(name, false));
  return page;
}

}  // namespace ronde::tune
