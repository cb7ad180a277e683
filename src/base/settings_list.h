#pragma once

#include <array>

#include "ronde/base/setting.h"

namespace ronde {

// The one list of settings. A line here is all that a new setting needs: its flag, its environment variable, its TOML
// key, its line in docs/settings.md and its check all come from it. Keys are in alphabetical order.
inline constexpr auto kSettings = std::to_array<Setting>({
    {"cli.color", SettingType::Choice, "auto", "auto|always|never",
     "Colours in what is printed; auto: only on a terminal."},
    {"comm.arena_bytes", SettingType::Bytes, "16GiB", "64MiB..1TiB",
     "Address space a rank reserves for memory shared on its machine; only what is used takes memory."},
    {"comm.autotune", SettingType::Bool, "false", "",
     "Search for the best sizes of buckets and the best algorithm while training."},
    {"comm.autotune_file", SettingType::Text, "", "",
     "File that keeps what comm.autotune has found, for the next run of the same shape; empty: nothing is kept."},
    {"comm.between", SettingType::Choice, "auto", "auto|tcp",
     "What carries data between nodes; auto: MPI where the job was started by it."},
    {"comm.deterministic", SettingType::Bool, "false", "",
     "Order what is fused by name rather than by readiness: the same bits on every run."},
    {"comm.first_bucket_bytes", SettingType::Bytes, "1MiB", "0B..4GiB",
     "Largest first bucket of a step: small, so that communication starts early."},
    {"comm.fusion_bytes", SettingType::Bytes, "64MiB", "0B..4GiB", "Largest bucket that fuses tensors."},
    {"comm.interface", SettingType::Text, "", "",
     "Network interfaces by which ranks of different nodes talk, as eth0,ib0 or 10.1.; empty: any that works."},
    {"comm.peer_timeout", SettingType::Duration, "6s", "2s..1h",
     "A node that cannot be reached for so long is taken for lost."},
    {"comm.stall_abort", SettingType::Duration, "0s", "0s..",
     "Fail when a tensor waits this long for some rank; 0s: never."},
    {"comm.stall_warn", SettingType::Duration, "30s", "1ms..", "Report when a tensor waits this long for some rank."},
    {"comm.start_timeout", SettingType::Duration, "1min", "1ms..", "Time that ranks have to meet at the start."},
    {"comm.static", SettingType::Bool, "false", "",
     "Promise that every step has the same requests: not even a vote is needed, and a deviation is an error."},
    {"config", SettingType::Text, "", "", "TOML file with settings; variables and flags override it."},
    {"launch.grace", SettingType::Duration, "10s", "0s..",
     "Time that ranks have to end by themselves, once they are told to, before they are killed."},
    {"log.level", SettingType::Choice, "info", "debug|info|warn|error|off", "Least severe message that is shown."},
    {"mpi.library", SettingType::Text, "", "",
     "MPI library to load, a name or a path; empty: the one found when Ronde was built."},
    {"topology.pretend_nodes", SettingType::Int, "1", "1..1024",
     "Treat the ranks of this machine as if they were on so many, to try what happens between nodes."},
    {"trace.bytes", SettingType::Bytes, "32MiB", "1MiB..16GiB",
     "Memory a rank for recorded events that are not yet written; what does not fit is dropped and counted."},
    {"trace.dir", SettingType::Text, "", "", "Folder for trace files, one a rank; empty: nothing is recorded."},
    {"trace.steps", SettingType::Steps, "", "", "Steps to record, as 100..120, 100.. or ..120; empty: all."},
});

}  // namespace ronde
