#include "ronde/launch/horovodrun.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/base/text.h"

namespace ronde::launch {
namespace {

enum class Value { None, Whole, Number, Text };

enum class Action {
  Word,     // `ours` instead, with the value where there is one
  Fixed,    // `ours` as it stands: a flag and its value
  MiB,      // `ours` with the value in mebibytes
  Seconds,  // `ours` with the value in seconds
  Level,    // `ours` with a log level of ours
  Folder,   // `ours` with the value as a folder
  Note,     // nothing, and `ours` says why not
  Refuse,   // `ours` says what there is instead
};

struct Flag {
  std::string_view name;
  Value value;
  Action action;
  std::string_view ours;
};

constexpr std::string_view kElastic =
    "there is no elastic mode: --restart N starts again from the last checkpoint after a failure, without the machine "
    "that failed (--min-n)";
constexpr std::string_view kSsh =
    "the launcher does that: write it into ~/.ssh/config, or hand it on by --mpi-args (Open MPI: --mca plm_rsh_args "
    "'-p 2222')";
constexpr std::string_view kHierarchy = "is not needed: ranks of a machine always reduce in its memory first";
constexpr std::string_view kSearch = "is not needed: the search of comm.autotune ends by itself";
constexpr std::string_view kClock =
    "changes nothing: log lines always have the time; --prefix-timestamp puts it before lines of ranks";
constexpr std::string_view kThreads = "is not needed: MPI is asked for as little thread support as will do";

constexpr auto kFlags = std::to_array<Flag>({
    {"-np", Value::Text, Action::Word, "-n"},
    {"-hostfile", Value::Text, Action::Word, "--hostfile"},
    {"-cb", Value::None, Action::Word, "--check-build"},
    {"-p", Value::Whole, Action::Refuse, kSsh},
    {"--ssh-port", Value::Whole, Action::Refuse, kSsh},
    {"-i", Value::Text, Action::Refuse, kSsh},
    {"--ssh-identity-file", Value::Text, Action::Refuse, kSsh},
    {"--fusion-threshold-mb", Value::Whole, Action::MiB, "--comm-fusion-bytes"},
    {"--cycle-time-ms", Value::Number, Action::Note, "is not needed: nothing waits for a cycle"},
    {"--cache-capacity", Value::Whole, Action::Note, "is not needed: every plan is remembered"},
    {"--disable-cache", Value::None, Action::Note, "is not needed: nothing is kept between runs"},
    {"--hierarchical-allreduce", Value::None, Action::Note, kHierarchy},
    {"--no-hierarchical-allreduce", Value::None, Action::Note, kHierarchy},
    {"--hierarchical-allgather", Value::None, Action::Note, kHierarchy},
    {"--no-hierarchical-allgather", Value::None, Action::Note, kHierarchy},
    {"--torus-allreduce", Value::None, Action::Note, kHierarchy},
    {"--no-torus-allreduce", Value::None, Action::Note, kHierarchy},
    {"--autotune", Value::None, Action::Fixed, "--comm-autotune true"},
    {"--no-autotune", Value::None, Action::Fixed, "--comm-autotune false"},
    {"--autotune-log-file", Value::Text, Action::Word, "--comm-autotune-file"},
    {"--autotune-warmup-samples", Value::Whole, Action::Note, kSearch},
    {"--autotune-steps-per-sample", Value::Whole, Action::Note, kSearch},
    {"--autotune-bayes-opt-max-samples", Value::Whole, Action::Note, kSearch},
    {"--autotune-gaussian-process-noise", Value::Number, Action::Note, kSearch},
    {"--timeline-filename", Value::Text, Action::Folder, "--trace-dir"},
    {"--timeline-mark-cycles", Value::None, Action::Note, "changes nothing: there are no cycles"},
    {"--no-timeline-mark-cycles", Value::None, Action::Note, "changes nothing: there are no cycles"},
    {"--stall-check", Value::None, Action::Note, "is the default"},
    {"--no-stall-check", Value::None, Action::Fixed, "--comm-stall-warn 36500d"},
    {"--stall-check-warning-time-seconds", Value::Whole, Action::Seconds, "--comm-stall-warn"},
    {"--stall-check-shutdown-time-seconds", Value::Whole, Action::Seconds, "--comm-stall-abort"},
    {"--start-timeout", Value::Whole, Action::Seconds, "--comm-start-timeout"},
    {"--gloo-timeout-seconds", Value::Whole, Action::Seconds, "--comm-start-timeout"},
    {"--network-interfaces", Value::Text, Action::Word, "--comm-interface"},
    {"--network-interface", Value::Text, Action::Word, "--comm-interface"},
    {"--output-filename", Value::Text, Action::Word, "--output-dir"},
    {"--log-level", Value::Text, Action::Level, "--log-level"},
    {"--log-with-timestamp", Value::None, Action::Note, kClock},
    {"--log-without-timestamp", Value::None, Action::Note, kClock},
    {"--log-hide-timestamp", Value::None, Action::Note, kClock},
    {"--no-log-hide-timestamp", Value::None, Action::Note, kClock},
    {"-prefix-timestamp", Value::None, Action::Word, "--prefix-timestamp"},
    {"--prefix-output-with-timestamp", Value::None, Action::Word, "--prefix-timestamp"},
    {"--mpi-threads-disable", Value::None, Action::Note, kThreads},
    {"--no-mpi-threads-disable", Value::None, Action::Note, kThreads},
    {"--num-nccl-streams", Value::Whole, Action::Note, "changes nothing: collectives have one stream of high priority"},
    {"--thread-affinity", Value::Text, Action::Note, "changes nothing: --bind keeps a core for communication"},
    {"--gloo", Value::None, Action::Note, "changes nothing: shared memory on one machine, MPI between machines"},
    {"--mpi", Value::None, Action::Note, "is the default between machines"},
    {"--jsrun", Value::None, Action::Fixed, "--launcher jsrun"},
    {"--min-np", Value::Whole, Action::Refuse, kElastic},
    {"--min-num-proc", Value::Whole, Action::Refuse, kElastic},
    {"--max-np", Value::Whole, Action::Refuse, kElastic},
    {"--max-num-proc", Value::Whole, Action::Refuse, kElastic},
    {"--slots-per-host", Value::Whole, Action::Refuse, kElastic},
    {"--elastic-timeout", Value::Whole, Action::Refuse, kElastic},
    {"--reset-limit", Value::Whole, Action::Refuse, kElastic},
    {"--blacklist-cooldown-range", Value::Whole, Action::Refuse, kElastic},
    {"--host-discovery-script", Value::Text, Action::Refuse, kElastic},
});

const Flag* find(std::string_view name) {
  const auto found = std::ranges::find(kFlags, name, &Flag::name);
  return found == kFlags.end() ? nullptr : &*found;
}

void check_value(const Flag& flag, const std::string& value) {
  if (flag.value == Value::Whole) {
    const auto number = parse_number<std::int64_t>(value);
    if (!number || *number < 0) throw Error::bad_input("{} {}: write a whole number", flag.name, value);
  }
  if (flag.value == Value::Number) {
    const auto number = parse_number<double>(value);
    if (!number || !std::isfinite(*number) || *number < 0)
      throw Error::bad_input("{} {}: write a number", flag.name, value);
  }
}

// horovodrun's levels; ours pass as they are, and the setting checks them.
std::string level(std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (value == "trace") return "debug";
  if (value == "warning") return "warn";
  return value == "fatal" ? "error" : value;
}

// One file of horovodrun's is a folder of ours, with a file a rank.
std::string folder_for(const std::string& file) {
  return file.ends_with(".json") && file.size() > 5 ? file.substr(0, file.size() - 5) : file;
}

void note(OwnWords& own, std::string text) {
  if (std::ranges::count(own.notes, text) == 0) own.notes.push_back(std::move(text));
}

void translate(const Flag& flag, const std::string& value, OwnWords& own) {
  const std::string ours(flag.ours);
  check_value(flag, value);
  switch (flag.action) {
    case Action::Word:
      own.words.push_back(ours);
      if (flag.value != Value::None) own.words.push_back(value);
      return;
    case Action::Fixed:
      for (const auto word : split(ours, ' ')) own.words.emplace_back(word);
      return;
    case Action::MiB: own.words.insert(own.words.end(), {ours, value + "MiB"}); return;
    case Action::Seconds: own.words.insert(own.words.end(), {ours, value + "s"}); return;
    case Action::Level: own.words.insert(own.words.end(), {ours, level(value)}); return;
    case Action::Folder:
      own.words.insert(own.words.end(), {ours, folder_for(value)});
      return note(own, fmt::format("{}: traces go to the folder {}, one file a rank, for ui.perfetto.dev", flag.name,
                                   folder_for(value)));
    case Action::Note: return note(own, fmt::format("{} {}", flag.name, ours));
    case Action::Refuse: throw Error::bad_input("{}: {}", flag.name, ours);
  }
}

}  // namespace

std::optional<bool> horovodrun_takes_value(std::string_view flag) {
  const Flag* known = find(flag);
  if (!known) return {};
  return known->value != Value::None;
}

OwnWords from_horovodrun(std::span<const std::string> words) {
  OwnWords own;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const Flag* flag = find(std::string_view(words[i]).substr(0, equals));
    if (!flag) {
      own.words.push_back(words[i]);
      continue;
    }
    std::string value;
    if (flag->value != Value::None && equals != std::string::npos)
      value = words[i].substr(equals + 1);
    else if (flag->value != Value::None && i + 1 < words.size())
      value = words[++i];
    else if (flag->value != Value::None)
      throw Error::bad_input("{} needs a value", flag->name);
    translate(*flag, value, own);
  }
  return own;
}

std::string horovodrun_help() {
  std::string text;
  for (const Flag& flag : kFlags) {
    if (flag.action == Action::Note || flag.action == Action::Refuse || flag.name == flag.ours) continue;
    text += fmt::format("  {:<40} {}\n", flag.name, flag.ours);
  }
  return text;
}

}  // namespace ronde::launch
