// How each launcher wants to be asked; see launcher.h.
#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/run/launcher.h"

namespace ronde::launch {
namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// "a:2,b:1".
std::string hosts_with_slots(const Placement& placement) {
  std::string text;
  for (const HostShare& host : placement.hosts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host.name, host.ranks);
  return text;
}

bool same_everywhere(const Placement& placement) {
  return std::ranges::all_of(placement.hosts,
                             [&](const HostShare& host) { return host.ranks == placement.hosts.front().ranks; });
}

// Slots are the ranks of each host, so that "by slot" fills hosts in order. Binding is start-rank's.
Words open_mpi(const LaunchRequest& request) {
  Words words{"-np",      std::to_string(request.placement.ranks),
              "--host",   hosts_with_slots(request.placement),
              "--map-by", request.placement.oversubscribed ? "slot:OVERSUBSCRIBE" : "slot"};
  append(words, request.binding.empty() ? Words{"--bind-to", "none"} : request.binding);
  if (request.as_root) words.emplace_back("--allow-run-as-root");
  if (request.tcp) append(words, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"});
  if (!request.interface.empty())
    append(words, {"--mca", "btl_tcp_if_include", request.interface, "--mca", "oob_tcp_if_include", request.interface});
  for (const std::string& variable : request.pass) append(words, {"-x", variable});
  return words;
}

Words hydra(const LaunchRequest& request) {
  Words words{"-n", std::to_string(request.placement.ranks), "-hosts", hosts_with_slots(request.placement)};
  append(words, request.binding.empty() ? Words{"-bind-to", "none"} : request.binding);
  if (!request.interface.empty()) append(words, {"-iface", request.interface});
  return words;
}

// The same number on every node can be said in few words, even for a thousand nodes; otherwise srun wants to be told
// each rank's node by name.
Words srun(const LaunchRequest& request) {
  const Placement& placement = request.placement;
  Words words{"--ntasks=" + std::to_string(placement.ranks), "--nodes=" + std::to_string(placement.hosts.size())};
  Words names;
  const bool in_blocks = same_everywhere(placement) && !request.keep_order;
  for (const HostShare& host : placement.hosts)
    names.insert(names.end(), in_blocks ? 1 : static_cast<std::size_t>(host.ranks), host.name);
  words.push_back("--nodelist=" + join(names, ","));
  if (in_blocks)
    append(words, {fmt::format("--ntasks-per-node={}", placement.hosts.front().ranks), "--distribution=block"});
  else
    words.emplace_back("--distribution=arbitrary");
  if (placement.oversubscribed) words.emplace_back("--overcommit");
  append(words, request.binding.empty() ? Words{"--cpu-bind=none", "--mem-bind=none"} : request.binding);
  if (const std::string type = srun_mpi_type(request.launcher, request.family); !type.empty())
    words.push_back("--mpi=" + type);
  append(words, {"--kill-on-bad-exit=1", "--input=0", "--export=ALL"});
  return words;
}

// One resource set a host, with all that it has. jsrun takes hosts from the job, in its own order.
Words jsrun(const LaunchRequest& request) {
  const Placement& placement = request.placement;
  if (!same_everywhere(placement))
    throw Error::bad_input(
        "jsrun starts the same number of ranks on every host, not {}: choose -n as a multiple of the hosts, or use "
        "--launcher mpirun",
        format_layout(layout_of(placement)));
  if (request.keep_order)
    throw Error::bad_input(
        "jsrun takes its hosts from the LSF job: remove -H and --hostfile, or use --launcher mpirun");
  Words words{"--nrs",
              std::to_string(placement.hosts.size()),
              "--rs_per_host",
              "1",
              "--tasks_per_rs",
              std::to_string(placement.hosts.front().ranks),
              "--cpu_per_rs",
              "ALL_CPUS",
              "--gpu_per_rs",
              "ALL_GPUS",
              "--launch_distribution",
              "packed"};
  append(words, request.binding.empty() ? Words{"--bind", "none"} : request.binding);
  append(words, {"--exit_on_error", "1"});
  return words;
}

Words flags_for(const LaunchRequest& request) {
  switch (request.launcher.kind) {
    case LauncherKind::OpenMpi: return open_mpi(request);
    case LauncherKind::Hydra: return hydra(request);
    case LauncherKind::Srun: return srun(request);
    case LauncherKind::Jsrun: return jsrun(request);
  }
  throw Error(Error::Kind::Bug, "a launcher without a command line");
}

// The user's own words reach srun too; some of them cannot work.
void refuse_wrong_mpi_type(const LaunchRequest& request) {
  if (request.launcher.kind != LauncherKind::Srun || request.family != MpiFamily::OpenMpi) return;
  for (const std::string& word : request.extra)
    if (word.starts_with("--mpi=") && !word.starts_with("--mpi=pmix"))
      throw Error::bad_input(
          "'srun {}' does not start Open MPI: every rank would run alone; Open MPI needs --mpi=pmix, which 'ronde run' "
          "passes by default",
          word);
}

}  // namespace

std::vector<std::string> launch_command(const LaunchRequest& request) {
  refuse_wrong_mpi_type(request);
  Words words{request.launcher.program};
  append(words, flags_for(request));
  append(words, request.extra);
  append(words, request.rank_command);
  return words;
}

}  // namespace ronde::launch
