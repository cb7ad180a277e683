#include "ronde/report/steps/layer_times.h"

#include <algorithm>
#include <cmath>

#include "ronde/report/compute/devices.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/steps/overlap.h"
#include "ronde/trace/fact_names.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::LaneSpan;
namespace names = trace::span_names;

enum class Pass : std::uint8_t { None, Forward, Backward, Other };

// A module on one lane, or on several of one rank.
struct Sums {
  std::int64_t ns = 0;
  std::int64_t forwards = 0, backwards = 0;
  std::int32_t last = LaneSpan::kNone - 1;  // the pass that it was last seen in: a layer may be used twice in one
};

// Numbers of the names that mean something here; one that no span has is that of no span.
struct Known {
  static constexpr std::uint32_t kNobody = 0xffffffff;
  std::uint32_t forward, backward, launch, record, evaluate, wait, module, kernel;

  explicit Known(const trace::Names& all)
      : forward(id(all, names::kForward)),
        backward(id(all, names::kBackward)),
        launch(id(all, names::kLaunchStep)),
        record(id(all, names::kRecordStep)),
        evaluate(id(all, names::kEvaluate)),
        wait(id(all, names::kWaitForCommunication)),
        module(id(all, trace::category_names::kModule)),
        kernel(id(all, trace::category_names::kKernel)) {}
  static std::uint32_t id(const trace::Names& all, std::string_view name) { return all.find(name).value_or(kNobody); }
};

// Goes through a lane once, parents first.
class Walk {
 public:
  Walk(const Known& known, TimeRange bounds) : known_(known), bounds_(bounds) {}

  void lane(const Lane& lane) {
    places_.assign(lane.spans.size(), {});
    for (auto& [name, sums] : modules) sums.last = LaneSpan::kNone - 1;
    // A device's backward pass runs on a thread of its own, without a span around it.
    const Pass outside = lane.kind == Lane::Kind::Training ? Pass::None : Pass::Backward;
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      const LaneSpan& span = lane.spans[i];
      const bool top = span.parent == LaneSpan::kNone;
      places_[i] = top ? Place{.pass = outside} : places_[static_cast<std::size_t>(span.parent)];
      see(span, static_cast<std::int32_t>(i), places_[i]);
    }
  }

  std::map<std::uint32_t, Sums> modules = {};              // by name
  std::int64_t forwards = 0, backwards = 0, launches = 0;  // the last are both, of a whole step
  Ranges passes = {};

 private:
  struct Place {
    Pass pass = Pass::None;
    std::int32_t span = LaneSpan::kNone;  // of the pass
    Sums* module = nullptr;               // the innermost around it
  };

  void see(const LaneSpan& span, std::int32_t number, Place& place) {
    const std::int64_t time = overlap(span.time, bounds_);
    if (time == 0) return;
    if (span.category == known_.module) {
      if (place.pass != Pass::Other && place.pass != Pass::None) see_module(span, number, time, place);
      return;
    }
    if (span.name == known_.wait && place.module) place.module->ns -= time;
    if (span.name == known_.evaluate || span.name == known_.record) place.pass = Pass::Other;
    if (place.pass == Pass::Other) return;
    if (span.name == known_.launch) ++launches;
    const bool forward = span.name == known_.forward;
    if (!forward && span.name != known_.backward) return;
    place.pass = forward ? Pass::Forward : Pass::Backward;
    place.span = number;
    ++(forward ? forwards : backwards);
    passes.push_back(span.time);
  }

  void see_module(const LaneSpan& span, std::int32_t number, std::int64_t time, Place& place) {
    if (place.module) place.module->ns -= time;
    Sums& sums = modules[span.name];
    sums.ns += time;
    // Outside of any pass each visit is one.
    const std::int32_t pass = place.span == LaneSpan::kNone ? number : place.span;
    if (sums.last != pass) ++(place.pass == Pass::Forward ? sums.forwards : sums.backwards);
    sums.last = pass;
    place.module = &sums;
  }

  const Known& known_;
  const TimeRange bounds_;
  std::vector<Place> places_;
};

struct StepSum {
  double steps = 0, seconds = 0;
};
StepSum steps_in(const trace::RankTrace& rank, TimeRange bounds) {
  StepSum sum;
  for (const trace::TracedStep& step : rank.steps)
    if (const std::int64_t time = overlap(step.time, bounds); time > 0) ++sum.steps, sum.seconds += seconds(time);
  return sum;
}

std::int64_t kernel_time(const trace::RankTrace& rank, const Known& known, TimeRange bounds) {
  Ranges kernels;
  for (const Lane& lane : rank.lanes) {
    if (lane.kind != Lane::Kind::Device) continue;
    for (const LaneSpan& span : lane.spans)
      if (span.category == known.kernel) kernels.push_back(span.time);
  }
  return length(within(united(std::move(kernels)), bounds));
}

void add_rank(const trace::Run& run, const trace::RankTrace& rank, const Known& known, TimeRange bounds,
              LayerTimes& times) {
  Walk walk(known, bounds);
  for (const Lane& lane : rank.lanes)
    if (lane.kind == Lane::Kind::Training || lane.kind == Lane::Kind::Other) walk.lane(lane);
  const StepSum sum = steps_in(rank, bounds);
  times.step_seconds += sum.seconds;
  const auto launches = static_cast<double>(walk.launches);
  const double in_pieces = sum.steps - launches;  // steps whose passes are told
  const double pieces = in_pieces > 0 ? std::max(1.0, std::round(static_cast<double>(walk.forwards) / in_pieces)) : 1;
  for (const auto& [name, sums] : walk.modules) {
    LayerTime& time = times.modules[run.names.text(name)];
    time.forwards += static_cast<double>(sums.forwards) / pieces;
    time.backwards += static_cast<double>(sums.backwards) / pieces;
    time.seconds += seconds(std::max<std::int64_t>(0, sums.ns));
  }
  times.network.forwards += static_cast<double>(walk.forwards) / pieces + launches;
  times.network.backwards += static_cast<double>(walk.backwards) / pieces + launches;
  const Ranges worked =
      without(within(united(std::move(walk.passes)), bounds), waits_of(run, rank, bounds).communication);
  times.network.seconds += seconds(length(worked));
  // As if its device had been recorded all the time.
  const TimeRange recorded = recorded_of_device(rank, bounds);
  const double missing = recorded.length() > 0 ? seconds(bounds.length()) / seconds(recorded.length()) : 1;
  times.device_seconds += missing * seconds(kernel_time(rank, known, recorded));
}

}  // namespace

LayerTimes layer_times_of(const trace::Run& run, const Window& window) {
  LayerTimes times;
  const Known known(run.names);
  for (std::size_t i = 0; i < std::min(run.ranks.size(), window.ranks.size()); ++i)
    add_rank(run, run.ranks[i], known, window.ranks[i], times);
  return times;
}

}  // namespace ronde::report
