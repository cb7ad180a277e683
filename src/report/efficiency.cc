#include "ronde/report/efficiency.h"

#include <algorithm>
#include <cmath>

#include "ronde/report/numbers.h"
#include "ronde/report/replay.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::RankTrace;
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
  const Factor serialisation{
      .key = "serialisation",
      .name = "serialisation",
      .value = ratio(most, all.ideal_seconds),
      .meaning =
          "Below 1, ranks wait for one another although data would travel at no cost: work is uneven from step "
          "to step, or some of it is done by one rank alone."};
  const Factor transfer{.key = "transfer",
                        .name = "transfer",
                        .value = ratio(all.ideal_seconds, all.no_input_seconds),
                        .meaning = "Below 1, moving data between ranks takes time that nothing hides."};
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
          .meaning = "The share of the time that ranks spend on training itself.",
          .children = {balance, communication, input}};
}

// What one rank's device did.
struct DeviceTime {
  Ranges compute = {}, busy = {};
};

DeviceTime device_time(const Run& run, const RankTrace& rank, TimeRange bounds) {
  const auto collective = run.names.find("collective"), copy = run.names.find("copy");
  Ranges compute, other;
  for (const Lane& lane : rank.lanes) {
    if (lane.kind != Lane::Kind::Device) continue;
    for (const trace::LaneSpan& span : lane.spans)
      (span.category == collective || span.category == copy ? other : compute).push_back(span.time);
  }
  DeviceTime time;
  time.compute = within(united(std::move(compute)), bounds);
  time.busy = within(united(std::move(other)), bounds);
  time.busy.insert(time.busy.end(), time.compute.begin(), time.compute.end());
  time.busy = united(std::move(time.busy));
  return time;
}

}  // namespace

const Factor* Factor::find(std::string_view wanted) const {
  if (key == wanted) return this;
  for (const Factor& child : children)
    if (const Factor* found = child.find(wanted)) return found;
  return nullptr;
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
  bool any = false;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const DeviceTime time = device_time(run, run.ranks[i], window.ranks[i]);
    any = any || !time.busy.empty();
    compute.push_back(seconds(length(time.compute)));
    busy.push_back(seconds(length(time.busy)));
  }
  if (!any) return {};
  const double most = largest(compute), most_busy = largest(busy), average = mean(compute);
  return Factor{
      .key = "device",
      .name = "device efficiency",
      .value = ratio(average, window.seconds()),
      .meaning = "The share of the time that devices compute; a collective that waits for peers does not count.",
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
                    .value = ratio(most_busy, window.seconds()),
                    .meaning = "Below 1, the device has nothing to do: launches come too late, or the host waits."}}};
}

}  // namespace ronde::report
