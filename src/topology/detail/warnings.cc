#include "ronde/topology/detail/warnings.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::topology::detail {
namespace {

bool is_near(const Machine& machine, const RankBinding& rank) {
  const std::optional<int>& home = machine.gpus[*rank.gpu].numa;
  return machine.numa.size() == 1 ||
         (home && std::count(rank.numa.begin(), rank.numa.end(), machine.numa[*home].index) > 0);
}

// Another policy was asked for, and every rank has a GPU: is it near all the same?
void about_other_policies(const Machine& machine, const BindingPlan& plan, std::vector<std::string>& warnings) {
  if (plan.policy == Policy::None || plan.ranks.size() > machine.gpus.size()) return;
  std::vector<int> far;
  for (const RankBinding& rank : plan.ranks)
    if (machine.gpus[*rank.gpu].numa && !is_near(machine, rank)) far.push_back(rank.rank);
  if (far.empty()) return;
  const bool one = far.size() == 1;
  warnings.push_back(fmt::format("bound by {}, rank{} {} far from {}; --bind gpu places {}", name(plan.policy),
                                 one ? "" : "s", CpuSet(far).format() + (one ? " is" : " are"),
                                 one ? "its GPU" : "their GPUs", one ? "it near its GPU" : "them near their GPUs"));
}

void about_gpus(const Machine& machine, const BindingRequest& request, const BindingPlan& plan,
                std::vector<std::string>& warnings) {
  if (request.policy == Policy::Gpu && machine.gpus.empty())
    warnings.emplace_back("there is no GPU to bind to; ranks are spread over the cores instead");
  if (plan.policy != Policy::Gpu) return about_other_policies(machine, plan, warnings);
  if (request.ranks > static_cast<int>(machine.gpus.size()))
    warnings.push_back(fmt::format("{} share {}, assigned round robin", counted(request.ranks, "rank"),
                                   counted(machine.gpus.size(), "GPU")));
  for (const RankBinding& rank : plan.ranks) {
    if (is_near(machine, rank)) continue;
    warnings.push_back(fmt::format("rank {} cannot be bound near GPU {}: {}", rank.rank, *rank.gpu,
                                   machine.gpus[*rank.gpu].numa ? "this process may not use the cores there"
                                                                : "the machine does not report where it is"));
  }
}

void about_cores(const Machine& machine, const BindingRequest& request, const BindingPlan& plan,
                 std::vector<std::string>& warnings) {
  const std::size_t cpus = request.hardware_threads ? all_cpus(machine).size() : machine.cores.size();
  const std::string have = counted(cpus, request.hardware_threads ? "hardware thread" : "core");
  const std::size_t ranks = plan.ranks.size();
  std::set<int> used;
  for (const RankBinding& rank : plan.ranks) used.insert(rank.cores.begin(), rank.cores.end());
  const std::size_t idle = machine.cores.size() - used.size();
  if (ranks > cpus)
    warnings.push_back(fmt::format("{} take turns on {}: expect each to be slower", counted(ranks, "rank"), have));
  else if (request.threads > 0 && ranks * request.threads > cpus)
    warnings.push_back(
        fmt::format("{} with {} each exceed {}", counted(ranks, "rank"), counted(request.threads, "thread"), have));
  if (idle > 0 && ranks <= cpus)
    warnings.push_back(fmt::format("{} of {} are not assigned to any rank ({}, bound by {})", idle,
                                   counted(machine.cores.size(), "core"), counted(ranks, "rank"), name(plan.policy)));
}

void about_quota(const Machine& machine, const BindingRequest& request, const BindingPlan& plan,
                 std::vector<std::string>& warnings) {
  const auto& quota = machine.limits.cpu_quota;
  if (!quota || *quota >= static_cast<double>(machine.cores.size())) return;
  const bool over = plan.ranks.front().threads * static_cast<double>(plan.ranks.size()) > *quota;
  const char* effect = over && request.threads > 0 ? "; ranks will be throttled"
                       : over                      ? "; ranks will be throttled, even with one thread each"
                                                   : "; the number of threads is limited to that";
  warnings.push_back(fmt::format("the control group limits ranks to the CPU time of {:.3g} cores on {}{}", *quota,
                                 counted(machine.cores.size(), "core"), effect));
}

}  // namespace

std::vector<std::string> warnings_about(const Machine& machine, const BindingRequest& request,
                                        const BindingPlan& plan) {
  std::vector<std::string> warnings;
  about_cores(machine, request, plan, warnings);
  about_quota(machine, request, plan, warnings);
  about_gpus(machine, request, plan, warnings);
  return warnings;
}

}  // namespace ronde::topology::detail
