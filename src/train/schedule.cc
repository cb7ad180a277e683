#include "ronde/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

// From 0 to 1 on half a wave: it begins and ends gently.
double wave(double done) {
  return 0.5 * (1 - std::cos(std::numbers::pi * done));
}

double between(double from, double to, double done) {
  return from + (to - from) * done;
}

// How much of the way from `begin` to `end` is behind; a way of no length is all behind.
double done_of(double step, double begin, double end) {
  return end <= begin ? 1 : std::clamp((step - begin) / (end - begin), 0.0, 1.0);
}

// Where a schedule ends, in steps and in words.
struct End {
  double steps;
  std::string words;
};

End end_of(const TrainingOptions& options, std::int64_t steps_per_epoch) {
  const std::int64_t epochs = options.epochs;
  const End training{static_cast<double>(epochs * steps_per_epoch),
                     fmt::format("the training ends after {} epochs ({} steps)", epochs, epochs * steps_per_epoch)};
  const std::string text = options.schedule.length;
  if (trim(text).empty()) return training;
  const double length = parse_place("schedule.length", text).steps(steps_per_epoch);
  if (length > training.steps)
    throw Error::bad_input("schedule.length is '{}', but {}: the schedule would be longer than the run", text,
                           training.words);
  if (length <= 0) throw Error::bad_input("schedule.length is '{}': it must be above 0", text);
  return {length, fmt::format("the schedule ends after schedule.length = '{}'", text)};
}

std::vector<double> checked_milestones(const TrainingOptions& options, std::int64_t steps_per_epoch, double warmup,
                                       const End& end) {
  const std::string text = options.schedule.milestones;
  std::vector<double> milestones;
  for (const Place& place : parse_places("schedule.milestones", text))
    milestones.push_back(place.steps(steps_per_epoch));
  if (options.schedule.name != "step") return {};
  if (milestones.empty())
    throw Error::bad_input("schedule.name is 'step': set schedule.milestones to the places where the rate drops");
  for (std::size_t i = 1; i < milestones.size(); ++i)
    if (milestones[i] <= milestones[i - 1])
      throw Error::bad_input("schedule.milestones is '{}': milestones must increase", text);
  if (milestones.front() < warmup)
    throw Error::bad_input(
        "schedule.milestones is '{}', but schedule.warmup is '{}': the first drop must come after the "
        "warm-up",
        text, options.schedule.warmup);
  if (milestones.back() >= end.steps)
    throw Error::bad_input("schedule.milestones is '{}', but {}: the last drop would never happen", text, end.words);
  return milestones;
}

double checked_warmup(const TrainingOptions& options, std::int64_t steps_per_epoch, const End& end) {
  const std::string text = options.schedule.warmup;
  const double warmup = parse_place("schedule.warmup", text).steps(steps_per_epoch);
  if (warmup > end.steps)
    throw Error::bad_input("schedule.warmup is '{}', but {}: the warm-up would never end", text, end.words);
  if (warmup > 0 && options.schedule.name == "onecycle")
    throw Error::bad_input(
        "schedule.warmup is '{}', but onecycle has its own warm-up, up to schedule.peak: remove schedule.warmup or "
        "choose another schedule",
        text);
  return warmup;
}

}  // namespace

Decline decline_of(std::string_view name) {
  if (name == "cosine") return Decline::Cosine;
  if (name == "step") return Decline::Step;
  if (name == "polynomial") return Decline::Polynomial;
  return name == "onecycle" ? Decline::OneCycle : Decline::Constant;
}

Place parse_place(std::string_view key, std::string_view text) {
  std::string_view number = trim(text);
  Place place;
  for (const std::string_view unit : {"steps", "step", "epochs", "epoch"}) {
    if (!number.ends_with(unit)) continue;
    number = trim(number.substr(0, number.size() - unit.size()));
    place.in_steps = unit.starts_with("step");
    break;
  }
  const auto count = parse_number<double>(number);
  if (!count || !std::isfinite(*count) || *count < 0 || (place.in_steps && *count != std::floor(*count)))
    throw Error::bad_input("{} is '{}': write epochs (5, 0.5) or steps (500steps)", key, text);
  place.count = *count;
  return place;
}

std::vector<Place> parse_places(std::string_view key, std::string_view text) {
  std::vector<Place> places;
  if (trim(text).empty()) return places;
  for (const std::string_view piece : split(text, ',')) places.push_back(parse_place(key, piece));
  return places;
}

double Schedule::at(double step) const {
  if (step < warmup) return rate * between(start, 1, step / warmup);
  const double done = done_of(step, warmup, length);
  switch (decline) {
    case Decline::Constant: return rate;
    case Decline::Cosine: return rate * between(1, end, wave(done));
    case Decline::Step:
      return rate *
             std::pow(factor, static_cast<double>(std::ranges::upper_bound(milestones, step) - milestones.begin()));
    case Decline::Polynomial: return rate * between(end, 1, std::pow(1 - done, power));
    case Decline::OneCycle:
      if (done < peak) return rate * between(start, 1, wave(done / peak));
      return rate * between(1, end, wave(done_of(done, peak, 1)));
  }
  return rate;
}

double scaled_rate(const TrainingOptions& options) {
  const double rate = options.optimizer.lr;
  const double times = static_cast<double>(options.batch) / static_cast<double>(options.optimizer.lr_batch);
  const std::string scaling = options.optimizer.lr_scaling;
  if (scaling == "linear") return rate * times;
  return scaling == "sqrt" ? rate * std::sqrt(times) : rate;
}

Schedule schedule_of(const TrainingOptions& options, std::int64_t steps_per_epoch) {
  const End end = end_of(options, steps_per_epoch);
  const double warmup = checked_warmup(options, steps_per_epoch, end);
  return {.decline = decline_of(options.schedule.name),
          .rate = scaled_rate(options),
          .warmup = warmup,
          .start = options.schedule.start,
          .length = end.steps,
          .end = options.schedule.end,
          .power = options.schedule.power,
          .milestones = checked_milestones(options, steps_per_epoch, warmup, end),
          .factor = options.schedule.factor,
          .peak = options.schedule.peak};
}

}  // namespace ronde::train
