#include "ronde/report/compute/efficiency.h"

#include <algorithm>
#include <cmath>

#include "ronde/report/compute/devices.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/replay.h"

namespace ronde::report {
namespace {

using trace::Run;

// Of nothing there is nothing to lose.
double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 1;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

Factor parallel_tree(const Efficiency& all) {
  const double most = largest(all.useful_seconds), average = mean(all.useful_seconds);
  const Factor serialisation{.key = "serialisation",
                             .name = "serialisation",
                             .value = ratio(most, all.ideal_seconds),
                             .meaning =
                                 "Below 1, ranks would wait for one another even on an ideal network: work is uneven "
                                 "from step to step, or one rank does some of it alone."};
  const Factor transfer{
      .key = "transfer",
      .name = "transfer",
      .value = ratio(all.ideal_seconds, all.no_input_seconds),
      .meaning = "Below 1, moving data between ranks takes time that is not hidden behind computation."};
  const Factor communication{.key = "communication",
                             .name = "communication",
                             .value = ratio(most, all.no_input_seconds),
                             .meaning = "Below 1, the training waits for other ranks.",
                             .children = {serialisation, transfer}};
  const Factor input{.key = "input",
                     .name = "input",
                     .value = ratio(all.no_input_seconds, all.seconds),
                     .meaning = "Below 1, the training waits for samples."};
  const Factor balance{.key = "load_balance",
                       .name = "load balance",
                       .value = ratio(average, most),
                       .meaning = "Below 1, one rank has more to do, or is slower, than the others."};
  return {.key = "parallel",
          .name = "parallel efficiency",
          .value = ratio(average, all.seconds),
          .meaning = "The share of the time that ranks spend on useful computation.",
          .children = {balance, communication, input}};
}

}  // namespace

const Factor* Factor::find(std::string_view wanted) const {
  if (key == wanted) return this;
  for (const Factor& child : children)
    if (const Factor* found = child.find(wanted)) return found;
  return nullptr;
}

Factor with_computation(const Factor& tree, const std::optional<Factor>& computation) {
  if (!computation) return tree;
  return {.key = "overall",
          .name = "overall efficiency",
          .value = tree.value * computation->value,
          .meaning = "The share of what the machine could have computed in this time.",
          .children = {tree, *computation}};
}

Efficiency efficiency_of(const Run& run, const Window& window) {
  Efficiency all{.seconds = window.seconds()};
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const Waits waits = waits_of(run, run.ranks[i], window.ranks[i]);
    all.useful_seconds.push_back(seconds(window.ranks[i].length() - length(waits.input) - length(waits.communication)));
  }
  // Clocks of ranks are compared with an error of microseconds, so a replay may come out that much too long.
  all.no_input_seconds = std::min(all.seconds, seconds(replay(run, window, {.network = true, .input = false}).time_ns));
  all.ideal_seconds =
      std::min(all.no_input_seconds, seconds(replay(run, window, {.network = false, .input = false}).time_ns));
  all.parallel = parallel_tree(all);
  all.device = device_efficiency(run, window);
  return all;
}

std::optional<Factor> device_efficiency(const Run& run, const Window& window) {
  std::vector<double> compute, busy;
  double recorded = 0;  // of the device that was recorded longest
  bool any = false, cut = false;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const DeviceUse use = device_use(run, run.ranks[i], window.ranks[i]);
    any = any || use.busy > 0;
    recorded = std::max(recorded, use.seconds);
    cut = cut || recorded_of_device(run.ranks[i], window.ranks[i]) != window.ranks[i];
    compute.push_back(use.computing);
    busy.push_back(use.busy);
  }
  if (!any) return {};
  const double time = cut ? recorded : window.seconds();
  const double most = largest(compute), most_busy = largest(busy), average = mean(compute);
  return Factor{
      .key = "device",
      .name = "device efficiency",
      .value = ratio(average, time),
      .meaning = "The share of the time that devices compute; collectives that wait for peers do not count.",
      .children = {{.key = "device_load_balance",
                    .name = "load balance",
                    .value = ratio(average, most),
                    .meaning = "Below 1, one device has more to do, or is slower, than the others."},
                   {.key = "device_communication",
                    .name = "communication",
                    .value = ratio(most, most_busy),
                    .meaning = "Below 1, copies and collectives take time in which the device does not compute."},
                   {.key = "orchestration",
                    .name = "orchestration",
                    .value = ratio(most_busy, time),
                    .meaning = "Below 1, the device is idle: kernels are launched too late, or the host waits."}}};
}

}  // namespace ronde::report
