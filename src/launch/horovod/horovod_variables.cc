#include "ronde/launch/horovod/horovod_variables.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/horovod/horovod_flag.h"

namespace ronde::launch {
namespace {

using detail::add_note;
using detail::HorovodFlag;
using detail::HorovodValue;
using detail::Written;

constexpr std::string_view kPrefix = "HOROVOD_";

enum class Form {
  Value,         // stands for a flag of horovodrun and its value
  Switch,        // stands for a flag when it is true
  Either,        // stands for a flag, or for the one with --no-
  Bytes,         // a flag that takes mebibytes; the variable is in bytes
  UnusedSwitch,  // changes nothing, and the text says why
  UnusedWhole,   // so does this, with a number
};

struct Variable {
  std::string_view name;  // after HOROVOD_
  Form form;
  std::string_view text;  // a flag of horovodrun, or why it changes nothing
};

constexpr std::string_view kNoElastic = "changes nothing: there is no elastic mode";
constexpr std::string_view kNoTensorFlow = "changes nothing: only PyTorch is supported";

// What is later wins: who switches the stall check off means its times too.
constexpr auto kVariables = std::to_array<Variable>({
    {"ADASUM_MPI_CHUNK_SIZE", Form::UnusedWhole, "is not needed: Adasum is not split into chunks"},
    {"AUTOTUNE", Form::Either, "--autotune"},
    {"AUTOTUNE_BAYES_OPT_MAX_SAMPLES", Form::Value, "--autotune-bayes-opt-max-samples"},
    {"AUTOTUNE_GAUSSIAN_PROCESS_NOISE", Form::Value, "--autotune-gaussian-process-noise"},
    {"AUTOTUNE_LOG", Form::Value, "--autotune-log-file"},
    {"AUTOTUNE_STEPS_PER_SAMPLE", Form::Value, "--autotune-steps-per-sample"},
    {"AUTOTUNE_WARMUP_SAMPLES", Form::Value, "--autotune-warmup-samples"},
    {"BATCH_D2D_MEMCOPIES", Form::UnusedSwitch, "changes nothing: the way to copy tensors is chosen by measurement"},
    {"CACHE_CAPACITY", Form::Value, "--cache-capacity"},
    {"CCL_CACHE", Form::UnusedSwitch, "changes nothing: oneCCL is not used"},
    {"CYCLE_TIME", Form::Value, "--cycle-time-ms"},
    {"DISABLE_GROUP_FUSION", Form::UnusedSwitch, "changes nothing: groups are fused like all other tensors"},
    {"DISABLE_NVTX_RANGES", Form::UnusedSwitch, "changes nothing: there are no NVTX ranges"},
    {"DYNAMIC_PROCESS_SETS", Form::UnusedSwitch, "is not needed: groups of ranks can be made at any time"},
    {"ELASTIC", Form::UnusedSwitch, kNoElastic},
    {"ELASTIC_TIMEOUT", Form::UnusedWhole, kNoElastic},
    {"ENABLE_ASYNC_COMPLETION", Form::UnusedSwitch, "is not needed: completion is asynchronous wherever possible"},
    {"ENABLE_XLA_OPS", Form::UnusedSwitch, kNoTensorFlow},
    {"FUSION_THRESHOLD", Form::Bytes, "--fusion-threshold-mb"},
    {"GLOO_IFACE", Form::Value, "--network-interfaces"},
    {"GLOO_TIMEOUT_SECONDS", Form::Value, "--gloo-timeout-seconds"},
    {"HIERARCHICAL_ALLGATHER", Form::Switch, "--hierarchical-allgather"},
    {"HIERARCHICAL_ALLREDUCE", Form::Switch, "--hierarchical-allreduce"},
    {"LOG_HIDE_TIME", Form::Switch, "--log-hide-timestamp"},
    {"LOG_LEVEL", Form::Value, "--log-level"},
    {"MPI_THREADS_DISABLE", Form::Switch, "--mpi-threads-disable"},
    {"NUM_NCCL_STREAMS", Form::Value, "--num-nccl-streams"},
    {"STALL_CHECK_TIME_SECONDS", Form::Value, "--stall-check-warning-time-seconds"},
    {"STALL_SHUTDOWN_TIME_SECONDS", Form::Value, "--stall-check-shutdown-time-seconds"},
    {"STALL_CHECK_DISABLE", Form::Switch, "--no-stall-check"},
    {"START_TIMEOUT", Form::Value, "--start-timeout"},
    {"THREAD_AFFINITY", Form::Value, "--thread-affinity"},
    {"TIMELINE", Form::Value, "--timeline-filename"},
    {"TIMELINE_MARK_CYCLES", Form::Switch, "--timeline-mark-cycles"},
    {"TORUS_ALLREDUCE", Form::Switch, "--torus-allreduce"},
});

// Set by launchers, for ranks.
constexpr auto kOfLaunchers = std::to_array<std::string_view>(
    {"RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE", "HOSTNAME", "CONTROLLER", "CPU_OPERATIONS",
     "GLOO_RENDEZVOUS_ADDR", "GLOO_RENDEZVOUS_PORT", "SECRET_KEY"});

// Read when Horovod is built: images of containers carry them.
constexpr auto kOfBuilds = std::to_array<std::string_view>({"GPU",
                                                            "GPU_OPERATIONS",
                                                            "GPU_ALLREDUCE",
                                                            "GPU_ALLGATHER",
                                                            "GPU_BROADCAST",
                                                            "GPU_ALLTOALL",
                                                            "GPU_REDUCESCATTER",
                                                            "ALLOW_MIXED_GPU_IMPL",
                                                            "CUDA_HOME",
                                                            "NCCL_HOME",
                                                            "NCCL_INCLUDE",
                                                            "NCCL_LIB",
                                                            "NCCL_LINK",
                                                            "NVTX_INCLUDE",
                                                            "ROCM_HOME",
                                                            "BUILD_ARCH_FLAGS",
                                                            "BUILD_CUDA_CC_LIST",
                                                            "CMAKE",
                                                            "DEBUG",
                                                            "SKIP_COMPILE",
                                                            "LOCAL_VERSION"});

bool is_passed_over(std::string_view name) {
  return std::ranges::count(kOfLaunchers, name) > 0 || std::ranges::count(kOfBuilds, name) > 0 ||
         name.starts_with("WITH_") || name.starts_with("WITHOUT_");
}

// Horovod itself takes any number above 0 for true, and words for false.
bool truth(const Written& written) {
  std::string value = written.value;
  std::ranges::transform(value, value.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (std::ranges::count(std::to_array<std::string_view>({"1", "true", "on", "yes"}), value)) return true;
  if (std::ranges::count(std::to_array<std::string_view>({"0", "false", "off", "no"}), value)) return false;
  throw Error::bad_input("{}: write 1 or 0", written.text());
}

const HorovodFlag& flag_of(std::string_view name) {
  if (const HorovodFlag* flag = detail::find_horovod_flag(name)) return *flag;
  throw Error(Error::Kind::Bug, fmt::format("{} is in no table of horovodrun's flags", name));
}

void read(const Variable& variable, const Written& written, TranslatedCommand& command) {
  const std::string unused = fmt::format("{} {}", written.name, variable.text);
  switch (variable.form) {
    case Form::Value: return translate(flag_of(variable.text), written, command);
    case Form::Switch:
      if (truth(written)) translate(flag_of(variable.text), written, command);
      return;
    case Form::Either:
      return translate(
          flag_of(truth(written) ? std::string(variable.text) : fmt::format("--no-{}", variable.text.substr(2))),
          written, command);
    case Form::Bytes:
      check_value(HorovodValue::Whole, written);
      command.words.insert(command.words.end(), {std::string(flag_of(variable.text).ours), written.value + "B"});
      return;
    case Form::UnusedSwitch:
      if (truth(written)) add_note(command, unused);
      return;
    case Form::UnusedWhole: check_value(HorovodValue::Whole, written); return add_note(command, unused);
  }
}

// Our words are flags of settings, each with its value.
void add_settings(const TranslatedCommand& command, const std::string& origin, const Environment& environment,
                  HorovodSettings& found) {
  for (std::size_t i = 0; i + 1 < command.words.size(); i += 2) {
    const auto setting =
        std::ranges::find_if(kSettings, [&](const Setting& one) { return flag_name(one) == command.words[i]; });
    if (setting == kSettings.end())
      throw Error(Error::Kind::Bug, fmt::format("{}: {} is not the flag of a setting", origin, command.words[i]));
    if (!environment.get(variable_name(*setting)))
      found.settings.push_back({std::string(setting->key), command.words[i + 1], origin});
  }
  found.notes.insert(found.notes.end(), command.notes.begin(), command.notes.end());
}

std::string unknown_note(const std::string& name) {
  std::vector<std::string> known;
  for (const Variable& variable : kVariables) known.push_back(fmt::format("{}{}", kPrefix, variable.name));
  const auto meant = nearest(name, known);
  return fmt::format("{} changes nothing: it is not a known Horovod variable{}", name,
                     meant ? fmt::format("; did you mean {}?", *meant) : "");
}

}  // namespace

HorovodSettings horovod_settings(const Environment& environment) {
  HorovodSettings found;
  for (const Variable& variable : kVariables) {
    const std::string name = fmt::format("{}{}", kPrefix, variable.name);
    const auto value = environment.get(name);
    if (!value || trim(*value).empty()) continue;
    TranslatedCommand command;
    read(variable, {.name = name, .value = std::string(trim(*value)), .between = '='}, command);
    add_settings(command, name, environment, found);
  }
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    if (!is_passed_over(rest) && std::ranges::find(kVariables, rest, &Variable::name) == kVariables.end())
      found.notes.push_back(unknown_note(name));
  }
  return found;
}

}  // namespace ronde::launch
