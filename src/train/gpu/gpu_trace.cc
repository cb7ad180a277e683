#include "ronde/train/gpu/gpu_trace.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/trace/fact_names.h"

namespace ronde {
namespace {

// Spans between two waits for the writer. A ring holds 1300 of them when trace.bytes is as small as it may be.
constexpr std::size_t kBurst = 512;

trace::Name category(device::Activity::Kind kind) {
  switch (kind) {
    case device::Activity::Kind::Collective: return trace::category_names::kCollective;
    case device::Activity::Kind::Copy: return trace::category_names::kCopy;
    case device::Activity::Kind::Kernel: break;
  }
  return trace::category_names::kKernel;
}

}  // namespace

void GpuSpans::add(std::span<const device::Activity> done) {
  sorted_.assign(done.begin(), done.end());
  std::ranges::stable_sort(sorted_, {}, &device::Activity::begin_ns);
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    add_one(sorted_[i]);
    if ((i + 1) % kBurst == 0) recorder_.flush();
  }
}

void GpuSpans::add_one(const device::Activity& activity) {
  const auto place = rows_.place(activity.device, activity.stream, activity.begin_ns, activity.end_ns);
  if (!place) return;
  const trace::Track track = track_of(place->row, activity);
  const trace::TimedSpan span{.name = name_of(activity.name),
                              .category = category(activity.kind),
                              .begin_ns = place->begin_ns,
                              .end_ns = activity.end_ns};
  if (activity.kind == device::Activity::Kind::Copy)
    recorder_.span(track, span, {{"bytes", activity.bytes}});
  else
    recorder_.span(track, span);
}

trace::Track GpuSpans::track_of(std::size_t row, const device::Activity& activity) {
  if (row == tracks_.size())
    tracks_.push_back(recorder_.track(fmt::format("gpu {} stream {}", activity.device, activity.stream)));
  return tracks_[row];
}

trace::Name GpuSpans::name_of(std::string_view text) {
  const auto found = names_.find(text);
  return found != names_.end() ? found->second : names_.emplace(text, recorder_.intern(text)).first->second;
}

std::unique_ptr<GpuTrace> GpuTrace::start(trace::Recorder& recorder, std::int64_t most_steps, const Log& log) {
  try {
    return std::make_unique<GpuTrace>(recorder, most_steps, log);
  } catch (const Error& error) {
    log.info("the trace will not show GPU activity: {}", error.message());
    return nullptr;
  }
}

GpuTrace::GpuTrace(trace::Recorder& recorder, std::int64_t most_steps, Log log)
    : recorder_(recorder), most_steps_(most_steps), log_(std::move(log)), spans_(recorder) {
  activity_.emplace([this](std::span<const device::Activity> done) { spans_.add(done); });
  recorder_.on_switch([this](bool recording) { follow(recording); });
  if (!recorder_.recording()) follow(false);
}

GpuTrace::~GpuTrace() {
  recorder_.on_switch({});
  const std::uint64_t dropped = activity_->dropped();
  activity_.reset();
  if (dropped > 0) log_.warn("the trace lacks {} GPU activities: CUPTI had no buffer space for them", dropped);
}

void GpuTrace::step() {
  if (most_steps_ > 0 && recorder_.recording() && ++steps_ == most_steps_ + 1) {
    follow(false);
    recorder_.set_metadata(trace::metadata_names::kGpuSteps,
                           std::to_string(most_steps_));  // the report then knows where its rows end
  }
}

// Looking at a GPU costs a little a kernel: outside trace.steps it is to cost nothing.
void GpuTrace::follow(bool recording) noexcept {
  try {
    activity_->set_on(recording && (most_steps_ == 0 || steps_ <= most_steps_));
  } catch (const Error& error) {
    log_.warn("the trace no longer shows GPU activity: {}", error.message());
  }
}

}  // namespace ronde
