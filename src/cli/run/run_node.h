#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/cli/program/app.h"
#include "ronde/launch/run/job.h"
#include "ronde/launch/stage/stage.h"
#include "ronde/topology/binding.h"

namespace CLI {
class App;
}

// The flags of `ronde run` that say what happens on each node: binding, output, restarts, and the look at jobs that
// run.
namespace ronde::cli {

struct NodeFlags {
  std::string bind = "auto";
  int threads = 0;  // 0: not given
  std::string hyperthreads = "idle";
  bool pin_threads = false;
  std::string output_dir;
  bool quiet = false;
  bool timestamps = false;
  bool verbose = false;
  std::vector<std::string> stage, unstage;
  std::string stage_to;
  int restarts = 0;
  int min_ranks = 0;
  std::optional<std::string> where;  // absent: not asked; empty: all jobs
};

void add_node_flags(CLI::App& run, NodeFlags& flags);
// Parts of these, for what `ronde run` starts on other nodes, and the words that hand them on.
void add_binding_flags(CLI::App& app, NodeFlags& flags);
void add_stage_flags(CLI::App& app, NodeFlags& flags);
std::vector<std::string> binding_words(const NodeFlags& flags);
std::vector<std::string> stage_words(const NodeFlags& flags);

// What to plan for `ranks` on this machine. Threads: the flag, else OMP_NUM_THREADS, else as many as fit.
// FAILS WITH: BadInput.
topology::BindingRequest binding_request(const NodeFlags& flags, int ranks, const Environment& environment);

// What the flags change in the environment of ranks, beside launch::rank_environment().
Environment::Variables variables_for_ranks(const NodeFlags& flags);

launch::Display display_of(const NodeFlags& flags);

// Display, restarts and the width of the terminal. `job.settings` gets variables_for_ranks().
void apply(const NodeFlags& flags, launch::Job& job);

// Warnings, and the binding: a table for several ranks at a terminal or with --verbose, otherwise a line.
void show_binding(const NodeFlags& flags, const topology::BindingPlan& plan, const Context& context);

// What --stage, --unstage and --stage-to ask for. `job`: its number, the same on all nodes; see launch::StageOptions.
launch::StageOptions stage_options(const NodeFlags& flags, const std::string& job, const Context& context);

// Stages, runs the job, brings results back, whether it went well or not. Returns the job's exit code, or what went
// wrong with staging.
int run_staged(const NodeFlags& flags, launch::Job job, const Context& context);

// `ronde run --where`. Returns 1 when a thread sits elsewhere than its rank owns.
int run_where(const std::string& which);

}  // namespace ronde::cli
