#include "ronde/report/input/input_limit.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

// Where training says why it waited, and which stage it then names.
constexpr double kMuchWaiting = 0.05, kLeastBusy = 0.5;
constexpr double kLeastGap = 0.25;  // of occupancies: less is noise

double waiting_share(const trace::Run& run, const Window& window) {
  std::int64_t waited = 0, all = 0;
  for (std::size_t i = 0; i < std::min(run.ranks.size(), window.ranks.size()); ++i) {
    waited += length(waits_of(run, run.ranks[i], window.ranks[i]).input);
    all += window.ranks[i].length();
  }
  return all > 0 ? static_cast<double>(waited) / static_cast<double>(all) : 0;
}

bool any_times(const std::vector<InputStage>& stages) {
  return std::ranges::any_of(stages, [](const InputStage& stage) { return stage.busy > 0; });
}

// Where queues go from full to empty. Whoever takes the batches is the last of the row: when all queues are full, it is
// the limit.
std::string emptying_stage(const std::vector<InputStage>& stages) {
  std::string limit;
  double before = 1, largest = kLeastGap;  // what is stored is always ready
  for (const InputStage& stage : stages) {
    if (!stage.occupancy) continue;
    if (before - *stage.occupancy > largest) largest = before - *stage.occupancy, limit = stage.name;
    before = *stage.occupancy;
  }
  return before >= largest ? "" : limit;
}

std::string cause_text(const InputLimit& input) {
  if (input.stages.empty())
    return "the limiting stage is not known, because the trace contains no stages (as with a data loader other than "
           "Ronde's)";
  if (input.limit.empty()) return "no stage is busy all the time: a larger data.prefetch may smooth it";
  const auto stage = std::ranges::find(input.stages, input.limit, &InputStage::name);
  if (stage->busy <= 0)
    return fmt::format("'{}' is the limit: the stages before it are ready, the stages after it wait", input.limit);
  return fmt::format("'{}' is the limit: its threads ({} per rank) are busy {} of the time", input.limit,
                     stage->threads, percent_text(stage->busy_share()));
}

std::string text_of(const InputLimit& input) {
  const std::string waited = percent_text(input.waiting_share);
  if (input.waiting_share < kMuchWaiting)
    return fmt::format("Input keeps up: training waits for it {} of the time.", waited);
  std::string text = fmt::format("Training waits for input {} of the time; {}", waited, cause_text(input));
  if (input.ceiling_samples_per_second > 0 && input.samples_per_second > 0)
    text += fmt::format("; with free input it would reach {} samples/s instead of {}",
                        speed_text(input.ceiling_samples_per_second), speed_text(input.samples_per_second));
  return text + ".";
}

}  // namespace

double InputStage::busy_share() const {
  const double all = busy + waiting_input + waiting_room;
  return all > 0 ? busy / all : 0;
}

std::string limiting_stage(const std::vector<InputStage>& stages) {
  if (!any_times(stages)) return emptying_stage(stages);
  const auto busiest = std::ranges::max_element(stages, {}, &InputStage::busy_share);
  return busiest->busy_share() < kLeastBusy ? "" : busiest->name;
}

const InputStage* InputLimit::limiting() const {
  const auto found = std::ranges::find(stages, limit, &InputStage::name);
  return found == stages.end() ? nullptr : &*found;
}

std::optional<InputLimit> input_limit_of(const trace::Run& run, const Window& window, const JobFacts& facts,
                                         double no_input_seconds, std::vector<std::string>& problems) {
  InputLimit input{.waiting_share = waiting_share(run, window),
                   .samples_per_second = samples_per_second(facts, window, window.seconds()),
                   .ceiling_samples_per_second = samples_per_second(facts, window, no_input_seconds),
                   .stages = input_stages_of(run, window, problems)};
  if (input.stages.empty() && input.waiting_share == 0) return {};
  if (input.waiting_share >= kMuchWaiting) input.limit = limiting_stage(input.stages);
  input.text = text_of(input);
  return input;
}

}  // namespace ronde::report
