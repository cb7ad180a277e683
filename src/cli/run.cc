#include "ronde/cli/run.h"

#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/terminal.h"
#include "ronde/base/text.h"
#include "ronde/cli/run_node.h"
#include "ronde/launch/job.h"
#include "ronde/launch/visible_gpus.h"
#include "ronde/topology/binding.h"
#include "ronde/topology/machine.h"

namespace ronde::cli {
namespace {

constexpr int kMostRanks = 2048;

struct RunFlags {
  std::string ranks;
  NodeFlags node;
};

// Whether the word after this flag is its value.
bool takes_next_word(const CLI::App& app, const std::string& flag) {
  if (flag.find('=') != std::string::npos) return false;
  if (!flag.starts_with("--") && flag.size() > 2) return false;  // -n4
  const CLI::App* run = app.get_subcommand("run");
  for (const CLI::App* level : {run, &app})
    if (const CLI::Option* option = level->get_option_no_throw(flag)) return option->get_items_expected_max() > 0;
  return false;
}

int parse_ranks(const std::string& text) {
  const auto ranks = parse_number<int>(text);
  if (!ranks || *ranks < 1 || *ranks > kMostRanks)
    throw Error::bad_input("-n {}: the number of ranks is a whole number from 1 to {}", text, kMostRanks);
  return *ranks;
}

launch::Stream stream_of(std::FILE* file, const Context& context) {
  return {.descriptor = fileno(file),
          .color = Paint::choose(context.settings.get<"cli.color">(), file, context.environment).on(),
          .terminal = is_terminal(file)};
}

// Flags are for the ranks too; what comes from variables or a file reaches them by itself.
Environment::Variables settings_for_ranks(const Settings& settings) {
  Environment::Variables variables;
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (const auto& entry = settings.entries()[i]; entry.origin.starts_with("--"))
      variables[variable_name(kSettings[i])] = entry.text;
  return variables;
}

int run_ranks(int ranks, const RunFlags& flags, const std::vector<std::string>& command, const Context& context) {
  const topology::BindingRequest request = binding_request(flags.node, ranks, context.environment);
  const topology::Machine machine = launch::with_visible_gpus(topology::discover(), context.environment);
  launch::Job job{.command = command,
                  .binding = topology::plan_binding(machine, request),
                  .host = machine.hostname,
                  .environment = context.environment,
                  .settings = settings_for_ranks(context.settings),
                  .grace = context.settings.get<"launch.grace">(),
                  .out = stream_of(stdout, context),
                  .err = stream_of(stderr, context)};
  apply(flags.node, job);
  show_binding(flags.node, job.binding, context);
  return run_staged(flags.node, std::move(job), context);
}

}  // namespace

RunLine split_run_line(std::span<const char* const> arguments, const CLI::App& app) {
  RunLine line;
  bool is_run = false;
  for (std::size_t next = 0; next < arguments.size(); ++next) {
    const std::string_view word = arguments[next];
    const bool is_flag = word.size() > 1 && word.front() == '-' && word != "--";
    if (is_run && !is_flag) {
      const std::size_t begin = next + (word == "--" ? 1 : 0);
      line.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
      return line;
    }
    if (!is_flag && next > 0 && word != "run") break;  // another of Ronde's commands
    is_run = is_run || (!is_flag && next > 0);
    line.ours.emplace_back(word == "-np" ? "-n" : word);  // as mpirun and horovodrun spell it
    if (is_flag && takes_next_word(app, line.ours.back()) && next + 1 < arguments.size())
      line.ours.emplace_back(arguments[++next]);
  }
  if (is_run) return line;
  return {.ours = {arguments.begin(), arguments.end()}, .command = {}};
}

void add_run(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* run = app.add_subcommand("run", "Start a command as several ranks on this machine");
  run->add_option("-n", flags->ranks, "How many ranks (also -np)")->type_name("N");
  add_node_flags(*run, flags->node);
  run->footer(
      "ronde run -n N [OPTIONS] [--] COMMAND [ARGUMENTS...]\n"
      "Example: ronde run -n 4 python train.py --epochs 10\n"
      "What follows the command belongs to it. Ranks find RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT\n"
      "in their environment, as torchrun sets them. The first rank that fails stops the others.");
  run->callback([flags, &line, &command] {
    if (flags->node.where) {
      command = [flags](const Context&) { return run_where(*flags->node.where); };
      return;
    }
    if (flags->ranks.empty()) throw Error::bad_input("say how many ranks: ronde run -n 4 python train.py");
    const int ranks = parse_ranks(flags->ranks);
    if (line.command.empty()) throw Error::bad_input("say what to run: ronde run -n {} python train.py", ranks);
    command = [flags, ranks, &line](const Context& context) { return run_ranks(ranks, *flags, line.command, context); };
  });
}

}  // namespace ronde::cli
