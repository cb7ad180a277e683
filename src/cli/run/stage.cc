#include "ronde/cli/run/stage.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/cli/run/run_node.h"
#include "ronde/topology/host.h"

namespace ronde::cli {
namespace {

struct StageFlags {
  NodeFlags node;
  std::string job;
  bool back = false;
  bool host_folders = false;
};

int run_stage(const StageFlags& flags, const Context& context) {
  launch::StageOptions options = stage_options(flags.node, flags.job, context);
  if (flags.back) options.stage.clear();
  if (flags.host_folders) options.host = topology::host_name();
  launch::Staging staging(std::move(options));
  if (flags.back) return staging.bring_back();
  if (const int stopped = staging.bring_in()) return stopped;
  for (const auto& [name, value] : staging.variables()) fmt::print("{}={}\n", name, value);
  return 0;
}

}  // namespace

void add_stage(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<StageFlags>();
  CLI::App* stage = app.get_subcommand("stage");
  add_stage_flags(*stage, flags->node);
  stage->add_option("--job", flags->job, "Number of the job, the same on all nodes")->required()->type_name("JOB");
  stage->add_flag("--back", flags->back, "Copy back what --unstage names");
  stage->add_flag("--host-folders", flags->host_folders, "Copy each node's results to a folder with its name");
  stage->callback(
      [flags, &command] { command = [flags](const Context& context) { return run_stage(*flags, context); }; });
}

}  // namespace ronde::cli
