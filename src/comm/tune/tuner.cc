#include "ronde/comm/tune/tuner.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/tune/tuning_file.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMostKinds = 8;  // a program whose steps keep changing has no best way

std::string time_text(double us) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1000)));
}

std::string shape_text(int ranks, int nodes, std::size_t step_bytes) {
  return fmt::format("{} on {} with {} per step", counted(static_cast<std::size_t>(ranks), "rank"),
                     counted(static_cast<std::size_t>(nodes), "node"), format_bytes(step_bytes));
}

}  // namespace

Tuner::Tuner(TunerOptions options) : options_(std::move(options)), used_(options_.defaults) {}

Tuner::~Tuner() {
  for (const auto& [bytes, kind] : kinds_)
    if (kind.search)
      options_.log.info(
          "autotune: the run ended after {} steps of {}, before the search was complete: nothing was chosen",
          kind.search->steps(), format_bytes(bytes));
}

std::string Tuner::text(const Tuning& tuning) const {
  std::string text = fmt::format("buckets of {}, the first of {}", format_bytes(tuning.limits.bytes),
                                 format_bytes(tuning.limits.first_bytes));
  if (options_.algorithms.size() > 1) text += fmt::format(", algorithm {}", options_.algorithms[tuning.algorithm]);
  return text;
}

std::optional<Tuning> Tuner::step(std::chrono::nanoseconds now, std::size_t step_bytes) {
  auto kind = kinds_.find(step_bytes);
  if (kind != kinds_.end()) {
    if (step_bytes == step_bytes_ && kind->second.search && last_)
      advance(kind->second, std::chrono::duration<double, std::micro>(now - *last_).count());
  } else if (kinds_.size() < kMostKinds) {
    kind = kinds_.emplace(step_bytes, begin(step_bytes)).first;
  } else if (!std::exchange(full_, true)) {
    options_.log.info("autotune: steps have more than {} different sizes: further ones use the defaults, {}",
                      kMostKinds, text(options_.defaults));
  }
  step_bytes_ = step_bytes;
  last_ = now;
  const Tuning& wanted = kind == kinds_.end() ? options_.defaults : kind->second.tuning;
  if (wanted == used_) return {};
  used_ = wanted;
  return wanted;
}

Tuner::Kind Tuner::begin(std::size_t step_bytes) {
  if (const auto known = from_file(step_bytes)) return {.tuning = *known};
  options_.log.info("autotune: searching for {}", shape_text(options_.ranks, options_.nodes, step_bytes));
  return {.search = Autotune(
              {.defaults = options_.defaults, .step_bytes = step_bytes, .algorithms = options_.algorithms.size()}),
          .tuning = options_.defaults};
}

void Tuner::advance(Kind& kind, double us) {
  const std::size_t tries = kind.search->tries().size();
  kind.search->step(us);
  if (kind.search->tries().size() > tries)
    options_.log.debug("autotune: {}: {} per step", text(kind.search->tries().back().tuning),
                       time_text(kind.search->tries().back().us));
  kind.tuning = kind.search->current();
  if (!kind.search->done()) return;
  finish(*kind.search);
  kind.search.reset();
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
        options_.log.info("autotune: {} has results for {}{}, not for this run", options_.file,
                          shape_text(records->front().ranks, records->front().nodes, records->front().step_bytes),
                          records->size() > 1 ? fmt::format(" and {} more", records->size() - 1) : "");
      return {};
    }
    const auto algorithm = std::ranges::find(options_.algorithms, found->algorithm);
    if (algorithm == options_.algorithms.end()) {
      options_.log.warn("autotune: {} names the algorithm '{}', which is not available; available: {}", options_.file,
                        found->algorithm, join(options_.algorithms, ", "));
      return {};
    }
    const Tuning tuning{.limits = {.bytes = found->fusion_bytes, .first_bytes = found->first_bucket_bytes},
                        .algorithm = static_cast<std::size_t>(algorithm - options_.algorithms.begin())};
    options_.log.info("autotune: {}, as found by an earlier run of {} ({})", text(tuning),
                      shape_text(options_.ranks, options_.nodes, step_bytes), options_.file);
    return tuning;
  } catch (const Error& error) {
    options_.log.warn("autotune: {}; the file is not used", error.what());
    return {};
  }
}

void Tuner::finish(const Autotune& search) {
  const Tuning& chosen = search.current();
  std::string text_chosen = fmt::format("the defaults stay, {}: nothing was clearly faster than {} per step",
                                        text(chosen), time_text(search.default_us()));
  if (!search.keeps_defaults())
    text_chosen = fmt::format("{}: {} per step, {:.1f} % less than the {} of the defaults ({})", text(chosen),
                              time_text(search.chosen_us()), 100 * (1 - search.chosen_us() / search.default_us()),
                              time_text(search.default_us()), text(options_.defaults));
  std::string where = "set comm.autotune_file to keep it for the next run";
  if (!options_.file.empty()) {
    try {
      save_tuning(options_.file, {.nodes = options_.nodes,
                                  .ranks = options_.ranks,
                                  .step_bytes = step_bytes_,
                                  .fusion_bytes = chosen.limits.bytes,
                                  .first_bucket_bytes = chosen.limits.first_bytes,
                                  .algorithm = options_.algorithms[chosen.algorithm],
                                  .chosen_us = search.chosen_us(),
                                  .default_us = search.default_us()});
      where = fmt::format("kept in {}", options_.file);
    } catch (const Error& error) {
      where = fmt::format("not kept: {}", error.what());
    }
  }
  options_.log.info("autotune: after {} steps: {}; {}", search.steps(), text_chosen, where);
}

}  // namespace ronde::comm::detail
