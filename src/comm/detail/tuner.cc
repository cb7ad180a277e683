#include "ronde/comm/detail/tuner.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/base/units.h"
#include "ronde/comm/detail/tuning_file.h"

namespace ronde::comm::detail {
namespace {

constexpr int kMostStarts = 4;  // a program whose steps keep changing has no best way

std::string time_text(double us) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1000)));
}

std::string shape_text(int ranks, int nodes, std::size_t step_bytes) {
  return fmt::format("{} on {} with {} a step", counted(static_cast<std::size_t>(ranks), "rank"),
                     counted(static_cast<std::size_t>(nodes), "node"), format_bytes(step_bytes));
}

}  // namespace

Tuner::Tuner(TunerOptions options) : options_(std::move(options)), used_(options_.defaults) {}

Tuner::~Tuner() {
  if (search_ && !search_->done())
    options_.log.info("autotune: the run ended after {} steps, before the search did: nothing was chosen",
                      search_->steps());
}

std::string Tuner::text(const Tuning& tuning) const {
  std::string text = fmt::format("buckets of {}, the first of {}", format_bytes(tuning.limits.bytes),
                                 format_bytes(tuning.limits.first_bytes));
  if (options_.algorithms.size() > 1) text += fmt::format(", algorithm {}", options_.algorithms[tuning.algorithm]);
  return text;
}

std::optional<Tuning> Tuner::step(std::chrono::nanoseconds now, std::size_t step_bytes) {
  std::optional<Tuning> next;
  if (step_bytes != step_bytes_) {
    next = start(step_bytes);
  } else if (search_ && !search_->done() && last_) {
    const std::size_t tries = search_->tries().size();
    const bool changed = search_->step(std::chrono::duration<double, std::micro>(now - *last_).count());
    if (search_->tries().size() > tries)
      options_.log.debug("autotune: {}: {} a step", text(search_->tries().back().tuning),
                         time_text(search_->tries().back().us));
    if (changed) next = search_->current();
    if (search_->done()) finish();
  }
  last_ = now;
  if (!next || *next == used_) return {};
  used_ = *next;
  return next;
}

// What to begin with.
std::optional<Tuning> Tuner::start(std::size_t step_bytes) {
  const std::size_t before = std::exchange(step_bytes_, step_bytes);
  if (++starts_ > kMostStarts) {
    if (std::exchange(search_, std::nullopt))
      options_.log.info("autotune: steps differ again and again ({} after {}): the defaults stay, {}",
                        format_bytes(step_bytes), format_bytes(before), text(options_.defaults));
    return options_.defaults;
  }
  search_.reset();
  if (const auto known = from_file(step_bytes)) return known;
  options_.log.info("autotune: searching for {}", shape_text(options_.ranks, options_.nodes, step_bytes));
  search_.emplace(AutotuneOptions{
      .defaults = options_.defaults, .step_bytes = step_bytes, .algorithms = options_.algorithms.size()});
  return search_->current();
}

std::optional<Tuning> Tuner::from_file(std::size_t step_bytes) {
  if (options_.file.empty()) return {};
  try {
    const auto records = load_tunings(options_.file);
    if (!records) return {};
    const TuningRecord mine{.nodes = options_.nodes, .ranks = options_.ranks, .step_bytes = step_bytes};
    const auto found = std::ranges::find_if(*records, [&](const auto& record) { return record.same_shape(mine); });
    if (found == records->end()) {
      if (!records->empty())
        options_.log.info("autotune: {} is of {}{}, not of this run", options_.file,
                          shape_text(records->front().ranks, records->front().nodes, records->front().step_bytes),
                          records->size() > 1 ? fmt::format(" and {} more", records->size() - 1) : "");
      return {};
    }
    const auto algorithm = std::ranges::find(options_.algorithms, found->algorithm);
    if (algorithm == options_.algorithms.end()) {
      options_.log.warn("autotune: {} asks for the algorithm '{}', which is not there; there are: {}", options_.file,
                        found->algorithm, join(options_.algorithms, ", "));
      return {};
    }
    const Tuning tuning{.limits = {.bytes = found->fusion_bytes, .first_bytes = found->first_bucket_bytes},
                        .algorithm = static_cast<std::size_t>(algorithm - options_.algorithms.begin())};
    options_.log.info("autotune: {}, as an earlier run of {} has found ({})", text(tuning),
                      shape_text(options_.ranks, options_.nodes, step_bytes), options_.file);
    return tuning;
  } catch (const Error& error) {
    options_.log.warn("autotune: {}; it is left alone", error.what());
    return {};
  }
}

void Tuner::finish() {
  const Tuning& chosen = search_->current();
  std::string text_chosen = fmt::format("the defaults stay, {}: nothing was clearly faster than {} a step",
                                        text(chosen), time_text(search_->default_us()));
  if (!search_->keeps_defaults())
    text_chosen = fmt::format("{}: {} a step, {:.1f} % less than the {} of the defaults ({})", text(chosen),
                              time_text(search_->chosen_us()), 100 * (1 - search_->chosen_us() / search_->default_us()),
                              time_text(search_->default_us()), text(options_.defaults));
  std::string where = "comm.autotune_file would keep it for the next run";
  if (!options_.file.empty()) {
    try {
      save_tuning(options_.file, {.nodes = options_.nodes,
                                  .ranks = options_.ranks,
                                  .step_bytes = step_bytes_,
                                  .fusion_bytes = chosen.limits.bytes,
                                  .first_bucket_bytes = chosen.limits.first_bytes,
                                  .algorithm = options_.algorithms[chosen.algorithm],
                                  .chosen_us = search_->chosen_us(),
                                  .default_us = search_->default_us()});
      where = fmt::format("kept in {}", options_.file);
    } catch (const Error& error) {
      where = fmt::format("not kept: {}", error.what());
    }
  }
  options_.log.info("autotune: after {} steps: {}; {}", search_->steps(), text_chosen, where);
}

}  // namespace ronde::comm::detail
