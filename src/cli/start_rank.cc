#include "ronde/cli/start_rank.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/launch/hosts.h"
#include "ronde/launch/rank_place.h"
#include "ronde/launch/started_rank.h"
#include "ronde/topology/host.h"

namespace ronde::cli {
namespace {

struct StartFlags {
  std::string launcher = "auto", layout, master, bind = "auto";
  launch::Container container;
  bool relay = false, verbose = false;
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

int start_rank(const StartFlags& flags, const std::vector<std::string>& command, const Context& context) {
  const auto layout = flags.layout.empty() ? std::vector<int>{} : launch::parse_layout(flags.layout, "--layout");
  const std::string host = topology::host_name();
  const auto launcher = launch::parse_launcher(flags.launcher);
  return launch::run_started_rank({.place = launch::rank_place(context.environment, launcher, layout),
                                   .host = host,
                                   .master = checked_master(flags, host),
                                   .binding = {.policy = topology::parse_policy(flags.bind)},
                                   .command = command,
                                   .container = flags.container,
                                   .environment = context.environment,
                                   .grace = context.settings.get<"launch.grace">(),
                                   .relay = flags.relay,
                                   .packets = launcher && launch::mixes_output(*launcher),
                                   .warn = parse_log_level(context.settings.get<"log.level">()) <= LogLevel::Warn,
                                   .verbose = flags.verbose});
}

}  // namespace

void add_start_rank(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<StartFlags>();
  CLI::App* start = app.add_subcommand("start-rank", "What launchers start for each rank of 'ronde run'");
  start->group("");
  start->add_option("--launcher", flags->launcher, "Whose variables tell the rank")->type_name("NAME");
  start->add_option("--layout", flags->layout, "Ranks of each machine, as 4(x2),1")->type_name("COUNTS");
  start->add_option("--master", flags->master, "For MASTER_ADDR and MASTER_PORT")->type_name("HOST:PORT");
  start->add_option("--bind", flags->bind, "As for 'ronde run'")->type_name("POLICY");
  start->add_option("--container", flags->container.image, "As for 'ronde run'")->type_name("IMAGE");
  start->add_option("--container-bind", flags->container.binds, "As for 'ronde run'")->type_name("A:B")->expected(1);
  start->add_flag("--relay", flags->relay, "Send output in frames, for 'ronde run' to read");
  start->add_flag("--verbose", flags->verbose, "The first rank of each machine says where its ranks are");
  start->callback([flags, &line, &command] {
    if (line.command.empty()) throw Error::bad_input("ronde start-rank [OPTIONS] -- COMMAND: there is no command");
    command = [flags, &line](const Context& context) { return start_rank(*flags, line.command, context); };
  });
}

}  // namespace ronde::cli
