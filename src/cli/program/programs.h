#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ronde/cli/program/app.h"
#include "ronde/cli/run/run.h"

namespace CLI {
class App;
}

// `ronde` is what users start. Loading libtorch takes 0.2 s and 110 MB, so commands that compute with tensors live in
// programs of their own beside it, and `ronde` becomes one of them (exec) when such a command is chosen.
namespace ronde::cli {

struct CommandEntry {
  std::string_view name;  // "data bench" is the subcommand bench of data
  std::string_view help;  // empty: hidden from --help
  std::string_view program;
};

// All commands, in the order of --help.
inline constexpr auto kCommands = std::to_array<CommandEntry>({
    {"info", "Show what this build can do, what this machine has, and how Ronde is set", "ronde-train"},
    {"run", "Start a command as several ranks, on this machine or on many", "ronde"},
    {"train", "Train a network; on many ranks: ronde run -n 4 ronde train RECIPE", "ronde-train"},
    {"eval", "Evaluate a checkpoint; on many ranks: ronde run -n 4 ronde eval CHECKPOINT", "ronde-train"},
    {"limits", "Before training: the memory it takes, the largest batch that fits, and what limits its speed",
     "ronde-train"},
    {"report", "After training with --trace-dir: where the time went, why, and what to change", "ronde"},
    {"trace", "Merge traces that were recorded with --trace-dir", "ronde"},
    {"data", "Inspect, verify, convert and pack files of samples", "ronde"},
    {"data bench", "Measure how fast samples are prepared, what limits that, and what each stage does", "ronde-bench"},
    {"tune", "Search for hyperparameters: run a command with many configurations, and find the best one", "ronde"},
    {"bench", "Measure a part of Ronde on this machine", "ronde-bench"},
    {"check-rank", "", "ronde-bench"},
    {"stage", "", "ronde"},
    {"start-rank", "", "ronde"},
});

// A program declares the flags of its own commands; each sets `command` when it is chosen.
struct Program {
  std::string_view name;
  void (*add_commands)(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command);
};

// The one that this executable is: each has a source of its own.
const Program& this_program();

// Gives `app` every command of kCommands, without flags.
void declare_commands(CLI::App& app);

// Which program has the command that a command line chooses. Nothing where it chooses none that is known.
// REQUIRES: `app` has the flags of the settings and all commands.
std::optional<std::string_view> program_of(std::span<const char* const> arguments, const CLI::App& app);

// Goes on as another of Ronde's programs, which lies beside this one. FAILS WITH: BadInput when it does not.
[[noreturn]] void become(std::string_view program, std::span<const char* const> arguments);

}  // namespace ronde::cli
