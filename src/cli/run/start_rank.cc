#include "ronde/cli/run/start_rank.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/cli/run/run_flags.h"
#include "ronde/cli/run/run_node.h"
#include "ronde/launch/horovod/horovod_shim.h"
#include "ronde/launch/place/hosts.h"
#include "ronde/launch/place/rank_place.h"
#include "ronde/launch/run/started_rank.h"
#include "ronde/topology/host.h"

namespace ronde::cli {
namespace {

struct StartFlags {
  std::string launcher = "auto", layout, master;
  NodeFlags node;
  std::string job;
  int attempt = 1;
  launch::Container container;
  bool relay = false, horovod = false;
};

// mpirun and srun say where rank 0 is to nobody; a rank that was started by hand takes itself for the first.
std::string checked_master(const StartFlags& flags, const std::string& host) {
  if (flags.master.empty()) return host + ":29500";  // torchrun's own port
  const auto colon = flags.master.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_number<int>(flags.master.substr(colon + 1));
  if (!port || colon == 0 || *port < 1 || *port > 65535)
    throw Error::bad_input("--master {}: write host:port", flags.master);
  return flags.master;
}

int start_rank(const StartFlags& flags, std::vector<std::string> command, const Context& context) {
  const auto layout = flags.layout.empty() ? std::vector<int>{} : launch::parse_layout(flags.layout, "--layout");
  const std::string host = topology::host_name();
  const auto launcher = launch::parse_launcher(flags.launcher);
  Environment::Variables found;  // where staged data lies on this machine
  if (!flags.node.stage.empty() || !flags.node.unstage.empty()) {
    launch::StageOptions options = stage_options(flags.node, flags.job, context);
    options.trust = true;  // `ronde stage` has brought it, once for all ranks
    const launch::Staging staging(std::move(options));
    command = staging.substituted(std::move(command));
    found = staging.variables();
  }
  return launch::run_started_rank({.place = launch::rank_place(context.environment, launcher, layout),
                                   .host = host,
                                   .master = checked_master(flags, host),
                                   .binding = binding_request(flags.node, 1, context.environment),
                                   .command = command,
                                   .container = flags.container,
                                   .environment = context.environment,
                                   .settings = found,
                                   .horovod_path = flags.horovod ? launch::horovod_python_path(own_program()) : "",
                                   .attempt = flags.attempt,
                                   .grace = context.settings.get<"launch.grace">(),
                                   .relay = flags.relay,
                                   .packets = launcher && launch::mixes_output(*launcher),
                                   .warn = parse_log_level(context.settings.get<"log.level">()) <= LogLevel::Warn,
                                   .verbose = flags.node.verbose});
}

}  // namespace

void add_start_rank(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<StartFlags>();
  CLI::App* start = app.get_subcommand("start-rank");
  start->add_option("--launcher", flags->launcher, "Launcher whose variables give the rank")->type_name("NAME");
  start->add_option("--layout", flags->layout, "Ranks of each machine, as 4(x2),1")->type_name("COUNTS");
  start->add_option("--master", flags->master, "For MASTER_ADDR and MASTER_PORT")->type_name("HOST:PORT");
  add_node_flags(*start, flags->node);  // of these, --bind and what goes with it
  start->add_option("--container", flags->container.image, "As for 'ronde run'")->type_name("IMAGE");
  start->add_option("--container-bind", flags->container.binds, "As for 'ronde run'")->type_name("A:B")->expected(1);
  start->add_option("--job", flags->job, "Number of the job, the same on all nodes")->type_name("JOB");
  start->add_option("--attempt", flags->attempt, "How often the job has been started")->type_name("N");
  start->add_flag("--horovod", flags->horovod, "As for 'ronde run'");
  start->add_flag("--relay", flags->relay, "Send output in frames, for 'ronde run' to read");
  start->callback([flags, &line, &command] {
    if (line.command.empty()) throw Error::bad_input("missing command: ronde start-rank [OPTIONS] -- COMMAND");
    command = [flags, &line](const Context& context) { return start_rank(*flags, line.command, context); };
  });
}

}  // namespace ronde::cli
