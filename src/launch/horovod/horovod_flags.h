#pragma once

#include <array>

#include "ronde/launch/horovod/horovod_flag.h"

// The flags of horovodrun that we do not have ourselves.
namespace ronde::launch::detail {

using Value = HorovodValue;
using Action = HorovodAction;

inline constexpr std::string_view kElastic =
    "there is no elastic mode: --restart N starts again from the last checkpoint after a failure, without the machine "
    "that failed (--min-n)";
inline constexpr std::string_view kSsh =
    "the launcher does that: write it into ~/.ssh/config, or pass it with --mpi-args (Open MPI: --mca plm_rsh_args '-p "
    "2222')";
inline constexpr std::string_view kHierarchy =
    "is not needed: ranks on one machine always reduce in shared memory first";
inline constexpr std::string_view kSearch = "is not needed: the search of comm.autotune ends by itself";
inline constexpr std::string_view kClock =
    "changes nothing: log lines always show the time; --prefix-timestamp adds it to the output lines of ranks";
inline constexpr std::string_view kThreads =
    "is not needed: Ronde requests the lowest level of MPI thread support that suffices";

inline constexpr auto kHorovodFlags = std::to_array<HorovodFlag>({
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
    {"--no-stall-check", Value::None, Action::Fixed, "--comm-stall-warn 36500d --comm-stall-abort 0s"},
    {"--stall-check-warning-time-seconds", Value::Whole, Action::SecondsOrNever, "--comm-stall-warn"},
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
    {"--num-nccl-streams", Value::Whole, Action::Note, "changes nothing: collectives use one high-priority stream"},
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

}  // namespace ronde::launch::detail
