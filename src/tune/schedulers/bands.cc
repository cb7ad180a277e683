#include "ronde/tune/schedulers/bands.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"

namespace ronde::tune {

BandOptions band_options(const SchedulerOptions& options, bool largest_first) {
  BandOptions bands{.longest = number_option(options.options, "max_t", 81, 1),
                    .eta = number_option(options.options, "reduction_factor", 3, 1),
                    .stop_last = options.options.value("stop_last_trials", true),
                    .largest_first = largest_first};
  if (!(bands.eta > 1)) throw Error::bad_input("reduction_factor must be above 1, got {}", bands.eta);
  return bands;
}

int brackets_in_band(const BandOptions& options) {
  return static_cast<int>(std::round(std::log(options.longest) / std::log(options.eta))) + 1;
}

Bracket bracket_of(const BandOptions& options, int s) {
  const double brackets = brackets_in_band(options), power = std::pow(options.eta, s);
  Bracket bracket;
  // A ratio that is a whole number must not become the next one by rounding.
  bracket.size = bracket.nominal = static_cast<std::size_t>(std::ceil(brackets / (s + 1) * power - 1e-9));
  bracket.milestone = std::floor(options.longest / power + 1e-9);
  bracket.halvings_left = s;
  return bracket;
}

void Bands::open_bracket() {
  const int count = brackets_in_band(options_);
  Bracket bracket;
  do {
    const int s = options_.largest_first ? count - 1 - next_ : next_;
    next_ = (next_ + 1) % count;
    bracket = bracket_of(options_, s);
  } while (bracket.milestone < 1);
  filling_ = brackets_.size();
  brackets_.push_back(std::move(bracket));
}

void Bands::on_add(int trial, Json& /*config*/) {
  if (brackets_.empty() || brackets_[filling_].size == 0 || brackets_[filling_].is_done) open_bracket();
  Bracket& bracket = brackets_[filling_];
  bracket.scores[trial] = std::nullopt;
  --bracket.size;
}

Bracket* Bands::find(int trial) {
  for (Bracket& bracket : brackets_)
    if (bracket.scores.contains(trial)) return &bracket;
  return nullptr;
}

bool Bands::is_complete(const Bracket& bracket) const {
  const bool is_full = bracket.size == 0 || all_added_;
  return is_full && !bracket.scores.empty() &&
         std::ranges::all_of(bracket.scores, [](const auto& each) { return each.second.has_value(); });
}

Decision Bands::on_report(const Report& report) {
  Bracket* bracket = find(report.trial);
  if (!bracket || report.time < bracket->milestone) return {};
  bracket->scores[report.trial] = report.score;
  if (is_complete(*bracket)) return halve(*bracket, report.trial);
  return {.kind = Decision::Kind::Pause, .save = true};
}

Decision Bands::halve(Bracket& bracket, int reporting) {
  Decision answer;
  if (bracket.halvings_left == 0) {
    bracket.is_done = true;
    if (!options_.stop_last) {
      for (const auto& [trial, score] : bracket.scores)
        if (trial != reporting) ready_.push_back(trial);
      bracket.milestone = HUGE_VAL;
      return {};
    }
    for (const auto& [trial, score] : bracket.scores)
      if (trial != reporting) others_.emplace_back(trial, Decision{.kind = Decision::Kind::Stop, .is_complete = true});
    bracket.scores.clear();
    return {.kind = Decision::Kind::Stop, .is_complete = true};
  }
  std::vector<std::pair<double, int>> ranked;  // best first; equal scores: the earlier trial
  for (const auto& [trial, score] : bracket.scores) ranked.emplace_back(std::isnan(*score) ? HUGE_VAL : -*score, trial);
  std::ranges::sort(ranked);
  bracket.nominal = static_cast<std::size_t>(std::ceil(static_cast<double>(bracket.nominal) / options_.eta - 1e-9));
  bracket.milestone = std::min(bracket.milestone * options_.eta, options_.longest);
  --bracket.halvings_left;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const int trial = ranked[i].second;
    const bool stays = i < bracket.nominal;
    if (trial == reporting)
      answer.kind = stays ? Decision::Kind::Continue : Decision::Kind::Stop;
    else if (stays)
      ready_.push_back(trial);
    else
      others_.emplace_back(trial, Decision{.kind = Decision::Kind::Stop});
    if (stays)
      bracket.scores[trial] = std::nullopt;
    else
      bracket.scores.erase(trial);
  }
  return answer;
}

void Bands::on_lost(int trial) {
  Bracket* bracket = find(trial);
  if (!bracket) return;
  bracket->scores.erase(trial);
  std::erase(ready_, trial);
  if (is_complete(*bracket)) halve(*bracket, -1);
}

std::optional<int> Bands::resume(std::span<const int> paused, bool all_added, int running) {
  // No more trials will come: brackets that are not full are halved as they are. BOHB does so, too, when nothing runs.
  if (all_added || (options_.largest_first && running == 0 && ready_.empty())) {
    all_added_ = true;
    for (Bracket& bracket : brackets_)
      if (is_complete(bracket)) halve(bracket, -1);
    all_added_ = all_added;
  }
  for (const Bracket& bracket : brackets_)  // the earliest first
    for (const auto& [trial, score] : bracket.scores)
      if (const auto found = std::ranges::find(ready_, trial);
          found != ready_.end() && std::ranges::binary_search(paused, trial)) {
        ready_.erase(found);
        return trial;
      }
  return {};
}

}  // namespace ronde::tune
