#include "ronde/train/session/trace_facts.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/device/memory_use.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/core_clock.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"
#include "ronde/trace/fact_names.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/session/hardware.h"

namespace ronde::train {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Names come from drivers, files and users.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json changed_settings(const Settings& settings) {
  Json changed = Json::object();
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (const std::string& text = settings.entries()[i].text; text != kSettings[i].initial)
      changed[std::string(kSettings[i].key)] = text;
  return changed;
}

// Empty where the kernel lets it run anywhere.
std::string bound_cpus() {
  const topology::CpuSet mine = topology::affinity_of_this_thread();
  std::string online;
  std::getline(std::ifstream("/sys/devices/system/cpu/online"), online);
  try {
    if (topology::CpuSet::parse(online) == mine) return {};
  } catch (const Error&) {  // a kernel that does not tell: then what this rank may use is all that is known
  }
  return mine.format();
}

// Those that control groups leave to the job; 0: hwloc cannot tell.
int cores_of_node() {
  try {
    const topology::Machine machine = topology::discover();
    const int all = static_cast<int>(machine.cores.size()) + machine.forbidden_cores;
    return std::min(all, static_cast<int>(std::ceil(machine.limits.cpu_quota.value_or(all))));
  } catch (const Error&) {
    return 0;
  }
}

RankFacts facts_of(const Session& session) {
  const auto share = topology::memory_limit() / static_cast<std::uint64_t>(session.local_size());
  const std::uint64_t asked = session.options().memory_limit;
  const torch::Device device = session.device();
  return {.bound = bound_cpus(),
          .local_rank = session.local_rank(),
          .memory_limit_bytes = asked > 0 ? std::min(asked, share) : share,
          .clock_ghz = topology::core_clock_ghz(),
          .device_memory_bytes = device.is_cuda() ? device::memory_use(device.index()).total_bytes : 0};
}

}  // namespace

std::string job_text(const Settings& settings, const TracedJob& job) {
  constexpr std::string_view kBuiltIn = "recipe ";
  std::string recipe = settings.recipe();
  if (recipe.starts_with(kBuiltIn)) recipe.erase(0, kBuiltIn.size());
  const TrainingOptions options = training_options(settings);
  Json json = {{"recipe", recipe},
               {"network", options.model.name},
               {"data", options.data.name},
               {"precision", options.precision},
               {"optimizer", options.optimizer.name},
               {"device", job.hardware.gpu ? job.hardware.gpu->name : "cpu"},
               {"processor", job.hardware.cpu.name},
               {"batch", options.batch}};
  const auto add = [&](const char* key, std::int64_t number) {
    if (number > 0) json[key] = number;
  };
  add("parameters", job.parameters);
  add("threads", job.threads);
  add("cores", job.cores);
  add("samples", job.samples);
  json["settings"] = changed_settings(settings);
  return text_of(json);
}

std::string layers_text(std::span<const models::LayerCost> layers) {
  Json json = Json::array();
  for (const models::LayerCost& layer : layers)
    json.push_back({{"name", layer.name},
                    {"operation", layer.operation},
                    {"flops", layer.flops},
                    {"bytes", layer.bytes},
                    {"parameters", layer.parameters}});
  return text_of(json);
}

std::string rank_text(const RankFacts& facts) {
  Json json = {{"bound", facts.bound},
               {"local_rank", facts.local_rank},
               {"memory_limit_bytes", facts.memory_limit_bytes},
               {"clock_ghz", facts.clock_ghz}};
  if (facts.device_memory_bytes > 0) json["device_memory_bytes"] = facts.device_memory_bytes;
  return text_of(json);
}

std::string stages_text(const std::vector<data::StageStats>& stages, std::int64_t skipped) {
  Json json = Json::array();
  for (const data::StageStats& stage : stages)
    json.push_back({{"name", stage.name},
                    {"busy_s", seconds(stage.busy)},
                    {"waiting_input_s", seconds(stage.input)},
                    {"waiting_room_s", seconds(stage.room)},
                    {"items", stage.samples},
                    {"bytes", stage.bytes},
                    {"threads", stage.threads}});
  json.push_back({{"skipped", skipped}});
  return text_of(json);
}

void trace_job(const Session& session, const Task& task) {
  trace::Recorder* recorder = session.recorder();
  if (!recorder) return;
  recorder->set_metadata(trace::metadata_names::kRankFacts, rank_text(facts_of(session)));
  if (session.rank() != 0) return;
  recorder->set_metadata(trace::metadata_names::kJob,
                         job_text(session.settings(), {.hardware = hardware_of(session),
                                                       .parameters = models::count_parameters(*task.network),
                                                       .samples = task.samples->size(),
                                                       .threads = at::get_num_threads(),
                                                       .cores = cores_of_node()}));
  const data::SampleKind kind = task.samples->kind();
  const std::int64_t share = (session.options().batch + session.size() - 1) / session.size();
  recorder->set_metadata(trace::metadata_names::kLayers,
                         layers_text(models::costs(*task.network, kind.shape(), share)));
}

void trace_input(const Session& session, const std::vector<data::StageStats>& stages, std::int64_t skipped) {
  if (session.recorder())
    session.recorder()->set_metadata(trace::metadata_names::kInputStages, stages_text(stages, skipped));
}

void TracedClock::step(const trace::Recorder* recorder) {
  constexpr std::chrono::seconds kBetween{1};
  if (!recorder || !recorder->recording()) return;
  const auto now = monotonic_now();
  if (measured_at_.count() > 0 && now - measured_at_ < kBetween) return;
  measured_at_ = now;
  trace::counter(trace::counter_names::kCoreClock, topology::core_clock_ghz(std::chrono::microseconds(100)));
}

void TracedMemory::step(const trace::Recorder* recorder) {
  constexpr int kFirst = 8;  // in which memory grows to what it will be
  constexpr std::chrono::seconds kBetween{1};
  if (!recorder || !recorder->recording() || !device_.is_cuda()) return;
  const auto now = monotonic_now();
  if (++steps_ > kFirst && now - asked_at_ < kBetween) return;
  asked_at_ = now;
  const device::MemoryUse memory = device::memory_use(device_.index());
  trace::counter(trace::counter_names::kDeviceMemory,
                 static_cast<std::int64_t>(memory.total_bytes - memory.free_bytes));
}

}  // namespace ronde::train
