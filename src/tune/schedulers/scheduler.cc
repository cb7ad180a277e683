#include "ronde/tune/schedulers/scheduler.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/tune/detail/registry.h"

namespace ronde::tune {

std::string_view name(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::Continue: return "continue";
    case Decision::Kind::Pause: return "pause";
    case Decision::Kind::Stop: return "stop";
    case Decision::Kind::Exploit: return "exploit";
  }
  return "";
}

SchedulerEntry find_scheduler(std::string_view name) {
  return find_entry(scheduler_entries(), name, "tune.scheduler");
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerEntry& entry, const SchedulerOptions& options) {
  check_options(entry, options.options, "scheduler");
  return entry.make(options);
}

double number_option(const Json& options, const char* name, double missing, double least) {
  const auto found = options.find(name);
  if (found == options.end()) return missing;
  if (!found->is_number()) throw Error::bad_input("{} must be a number, got {}", name, found->dump());
  const auto value = found->get<double>();
  if (!(value >= least)) throw Error::bad_input("{} must be at least {}, got {}", name, least, value);
  return value;
}

std::optional<double> percentile(std::vector<double> values, double percent) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below);
  return part == 0 ? values[below] : values[below] + part * (values[above] - values[below]);
}

}  // namespace ronde::tune
