#include "ronde/launch/place/plan_hosts.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "ronde/base/error.h"

namespace ronde::launch {

HostPlan plan_hosts(const HostFlags& flags, const Environment& environment, const std::string& this_host,
                    const ReadFile& read) {
  if (!flags.hosts.empty() && !flags.hostfile.empty())
    throw Error::bad_input("-H {} and --hostfile {} cannot be used together", flags.hosts, flags.hostfile);
  HostPlan plan;
  RankCount count = flags.count;
  std::vector<Host> hosts;
  if (!flags.hosts.empty()) {
    hosts = parse_hosts(flags.hosts, "-H");
  } else if (!flags.hostfile.empty()) {
    hosts = parse_hostfile(read(flags.hostfile), flags.hostfile);
  } else if (auto allocation = allocation_from(environment, read)) {
    hosts = std::move(allocation->hosts);
    plan.scheduler = allocation->scheduler;
    if (count.ranks == 0 && count.per_host == 0) count.ranks = allocation->ranks;
  } else {
    const int ranks = count.ranks > 0 ? count.ranks : count.per_host;
    if (ranks == 0) throw Error::bad_input("missing number of ranks: ronde run -n 4 python train.py");
    hosts = {{.name = this_host, .slots = ranks, .most = ranks}};
  }
  plan.hosts = hosts;
  if (count.per_host > 0)
    for (Host& host : plan.hosts) host.slots = count.per_host;
  plan.placement = place_ranks(std::move(hosts), count);
  plan.here = all_on_this_host(plan.placement, this_host);
  return plan;
}

std::string read_whole_file(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (!stream || folder)
    throw Error::bad_input("cannot read {}: {}", path,
                           folder ? "it is a folder" : std::generic_category().message(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace ronde::launch
